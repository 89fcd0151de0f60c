"""Scrub every text file of the packages that are installed beside us, and show what is masked: a measure of false alarms.

    .venv/bin/python scripts/scan_installed.py           the packages of this environment
    .venv/bin/python scripts/scan_installed.py FOLDER    another folder

Prints each masking with what stands around it, to be looked at, and a count. Files with a zero byte are no texts. Ends
with status 1 if more than a hundred are masked. docs/secrets.md tells what they were when they were last looked at.
"""

import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.secrets import engine
from toolcharter.guards.secrets.spans import find_spans

MOST = 100
"""So many maskings are looked at one by one."""
_AROUND = 90
"""In bytes: so much of a line is shown in front of a masking."""
_BEHIND = 30
_SHOWN = 150


class Scanned(NamedTuple):
    """One file, read as one text."""

    path: str
    size: int
    """In bytes; 0 if it is no text."""
    maskings: list[str]


def scanned(path: Path) -> Scanned:
    """What the scrubber would mask in the file at *path*."""
    data = path.read_bytes()
    if b"\0" in data:
        return Scanned(str(path), 0, [])
    families = engine.hinted(data)
    spans = find_spans(data, families) if families else []
    return Scanned(str(path), len(data), [_shown(data, start, end) for start, end in spans])


def _shown(data: bytes, start: int, end: int) -> str:
    line = data.count(b"\n", 0, start) + 1
    before = data[max(data.rfind(b"\n", 0, start) + 1, start - _AROUND) : start]
    behind = data[end : end + _BEHIND].partition(b"\n")[0]
    return f"{line}: {_text(before)} << {_text(data[start:end][:_SHOWN])} >> {_text(behind)}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\n", "\\n")


def main() -> int:
    """Scan the folder that the command line names, or the packages of this environment."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else sysconfig.get_path("purelib"))
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    size = count = 0
    with ProcessPoolExecutor() as pool:
        for one in pool.map(scanned, files, chunksize=64):
            size += one.size
            count += len(one.maskings)
            for masking in one.maskings:
                print(f"{Path(one.path).relative_to(root)}:{masking}")
    print(f"{count} maskings in {size / 1e6:.0f} MB of text in {len(files)} files.")
    return int(count > MOST)


if __name__ == "__main__":
    sys.exit(main())
