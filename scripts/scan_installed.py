"""Scrub every text file of the packages in this environment, and show the maskings: a measure of false alarms.

    .venv/bin/python scripts/scan_installed.py           the packages of this environment
    .venv/bin/python scripts/scan_installed.py FOLDER    another folder

It prints each masking with the text around it, to be checked by a person, and a count. Files with a zero byte are not
text. It ends with status 1 for more than a hundred maskings. docs/secrets.md describes those of the last check.
"""

import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.spans import find_spans

MOST = 100
"""The most maskings that a person can check one by one."""
_AROUND = 90
"""The most bytes of a line that are shown before a masking."""
_BEHIND = 30
_SHOWN = 150


class ScannedFile(NamedTuple):
    """One file, read as one text."""

    path: str
    size: int
    """In bytes; 0 if it is not text."""
    maskings: list[str]


def scan_file(path: Path) -> ScannedFile:
    """Return the maskings that the scrubber would make in the file at *path*."""
    data = path.read_bytes()
    if b"\0" in data:
        return ScannedFile(str(path), 0, [])
    families = engine.hinted_families(data)
    spans = find_spans(data, families) if families else []
    return ScannedFile(str(path), len(data), [_shown(data, start, end) for start, end in spans])


def _shown(data: bytes, start: int, end: int) -> str:
    line = data.count(b"\n", 0, start) + 1
    before = data[max(data.rfind(b"\n", 0, start) + 1, start - _AROUND) : start]
    behind = data[end : end + _BEHIND].partition(b"\n")[0]
    return f"{line}: {_text(before)} << {_text(data[start:end][:_SHOWN])} >> {_text(behind)}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\n", "\\n")


def main() -> int:
    """Scan the folder that the command line names, or the packages of this environment; return the exit status."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("purelib"))
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    size = count = 0
    with ProcessPoolExecutor() as pool:
        for one in pool.map(scan_file, files, chunksize=64):
            size += one.size
            count += len(one.maskings)
            for masking in one.maskings:
                print(f"{Path(one.path).relative_to(root)}:{masking}")
    print(f"{count} maskings in {size / 1e6:.0f} MB of text in {len(files)} files.")
    return int(count > MOST)


if __name__ == "__main__":
    sys.exit(main())
