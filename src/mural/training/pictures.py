"""stub"""
from pathlib import Path
from typing import Any
def run_picture(run: Any, path: Path) -> Any:
    return None
