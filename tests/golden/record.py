"""Play all golden scenarios and write one record each: `python -m toolcharter_golden.record FOLDER RECORDS`."""

import sys
from pathlib import Path

from . import scenarios, waiting
from .plugin import RAN, RELEASE, STARTED
from .stage import SCENARIOS, Stage

MODULES = (scenarios, waiting)
"""What registers scenarios."""


def main(folder: Path, records: Path) -> None:
    """Play each scenario in a folder of its own below *folder*."""
    for name, play in SCENARIOS.items():
        RELEASE.clear()
        STARTED.clear()
        RAN.clear()
        stage = Stage(folder / name, play.__doc__ or "")
        try:
            play(stage)
        finally:
            RELEASE.set()
            stage.close()
        (records / f"{name}.txt").write_text(stage.record())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
