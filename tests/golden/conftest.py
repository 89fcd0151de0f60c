"""An environment with the core and the toy distribution of this folder, and nothing else that could be loaded."""

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import toolcharter

HERE = Path(__file__).parent
PARTS = ["plugin", "scenario_run", "scenarios", "waiting_scenarios", "record", "measure"]
METADATA = "Metadata-Version: 2.1\nName: toolcharter-golden\nVersion: 1.0\n"
TOOLS = """
    echo aecho quick aquick body abody isolated parent forever files early changing command printing
"""
RunModule = Callable[..., str]


@pytest.fixture(scope="session")
def run_module(tmp_path_factory: pytest.TempPathFactory) -> RunModule:
    """Runs a module of this folder there, as `toolcharter_golden.NAME`, and returns what it prints."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "venv", symlinks=True)
    site = folder / f"venv/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    core = [str(Path(toolcharter.__file__).parents[1]), sysconfig.get_path("purelib")]
    (site / "core.pth").write_text("\n".join(core))
    package, metadata = site / "toolcharter_golden", site / "toolcharter_golden-1.0.dist-info"
    for made in (package, metadata, folder / "home"):
        made.mkdir()
    for part in PARTS:
        (package / f"{part}.py").write_text((HERE / f"{part}.py").read_text())
    (package / "__init__.py").touch()
    (metadata / "METADATA").write_text(METADATA)
    tools = "".join(f"{name} = toolcharter_golden.plugin\n" for name in TOOLS.split())
    extensions = "[toolcharter.extensions]\nwatch = toolcharter_golden.plugin\n"
    (metadata / "entry_points.txt").write_text(f"[toolcharter]\n{tools}{extensions}")

    def run(name: str, *words: str | Path) -> str:
        ended = subprocess.run(
            [folder / "venv/bin/python", "-m", f"toolcharter_golden.{name}", *words],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "XDG_STATE_HOME": str(folder / "home/state")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # Without a terminal: nobody can be asked there.
        )
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
        return ended.stdout

    return run
