"""Play all golden scenarios and write one record each: `python -m toolcharter_golden.record FOLDER RECORDS`."""

import sys
from pathlib import Path

from . import scenarios, waiting_scenarios
from .plugin import RAN, RELEASE, STARTED
from .scenario_run import SCENARIOS, ScenarioRun

MODULES = (scenarios, waiting_scenarios)
"""What registers scenarios."""


def main(folder: Path, records: Path) -> None:
    """Play each scenario in a folder of its own below *folder*."""
    for name, play in SCENARIOS.items():
        RELEASE.clear()
        STARTED.clear()
        RAN.clear()
        run = ScenarioRun(folder / name, play.__doc__ or "")
        try:
            play(run)
        finally:
            RELEASE.set()
            run.close()
        (records / f"{name}.txt").write_text(run.record())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
