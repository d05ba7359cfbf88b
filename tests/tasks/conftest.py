"""A machine without a display and without EGL runs the physics and skips what draws robots."""

import os
from collections.abc import Generator

import pytest

from mural.tasks import DisplayError
from mural.tasks.robots.mujoco_base import GL_OFF


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except DisplayError as error:
        if os.environ.get("MUJOCO_GL", "").lower() in GL_OFF:
            pytest.skip(str(error))
        raise
