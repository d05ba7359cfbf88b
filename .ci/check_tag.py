"""Fails unless a tag, the package, CITATION.cff and the newest entry of CHANGELOG.md name the same version.

python .ci/check_tag.py v0.1.0     without a tag: only the files are compared
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACES = {
    "src/mural/__init__.py": r'^__version__ = "(.+)"$',
    "CITATION.cff": r"^version: (\S+)$",
    "CHANGELOG.md": r"^## (\S+)",
}


def versions(root: Path = ROOT) -> dict[str, str]:
    """The version in each file."""
    found = {name: re.search(pattern, (root / name).read_text(), re.MULTILINE) for name, pattern in PLACES.items()}
    return {name: match[1] if match else "none" for name, match in found.items()}


def main(tag: str | None = None) -> int:
    """Print what is wrong; 0 if nothing is."""
    found = versions()
    if tag is not None:
        found["the tag"] = tag.removeprefix("v") if tag.startswith("v") else f"{tag} (write v before the version)"
    for name, version in found.items():
        print(f"{version:<12} {name}")
    unreleased = "(unreleased)" in (ROOT / "CHANGELOG.md").read_text().partition("\n\n- ")[0]
    if tag is not None and unreleased:
        print("CHANGELOG.md says (unreleased): write the date of the release there")
        return 1
    return int(len(set(found.values())) > 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
