"""Evidence for claims, in a folder of its own."""

import pytest

from tests.study.ledger import World


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)
