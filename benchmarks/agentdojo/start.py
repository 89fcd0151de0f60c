"""`make agentdojo`: set up `.venvs/agentdojo` from its lock file, then run `run_agentdojo.py` there."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main() -> int:
    """Run the replay and return its exit status."""
    sys.path.insert(0, str(ROOT / "scripts"))
    python = import_module("environment").prepare_locked("agentdojo", HERE / "constraints.txt", [ROOT])
    return subprocess.run([python, HERE / "run_agentdojo.py", *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
