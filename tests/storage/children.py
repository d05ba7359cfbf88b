"""Child processes that write files and are killed, and that start in a tenth of a second."""

import subprocess
import sys
from pathlib import Path

import mural

# The rooms are entered without running their __init__: importing JAX would take most of a test's time.
LIGHT = f"""
import sys, types
for name, folder in {{"mural": "", "mural.storage": "/storage"}}.items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [{str(Path(mural.__file__).parent)!r} + folder]
"""


def start(code: str, *args: object) -> subprocess.Popen:
    """Run `code` with `args`; its output can be read."""
    command = [sys.executable, "-c", LIGHT + code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
