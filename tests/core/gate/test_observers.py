"""Observers of the ends of bodies: cheap to import."""

import subprocess
import sys


def test_the_module_loads_nothing_of_the_gate() -> None:
    """Pytest imports it in every project that has toolcharter installed, whether that project uses it or not."""
    code = (
        "import sys, toolcharter.gate.observers; print(*sorted(n for n in sys.modules if n.startswith('toolcharter')))"
    )

    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert loaded == ["toolcharter", "toolcharter._own_imports", "toolcharter.gate", "toolcharter.gate.observers"]
