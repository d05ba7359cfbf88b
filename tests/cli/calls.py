"""Calling the command line in tests."""

import pytest

from mural import cli


def failing(capsys, *argv, code=2):
    with pytest.raises(SystemExit) as stop:
        cli.main(list(argv))
    said = capsys.readouterr()
    assert stop.value.code == code, said
    return said
