"""Starting the command: as a module, on an old Python, in folders that are closed to the user."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolcharter

CORE = Path(toolcharter.__file__).parents[1]
OLD = [f"python3.{minor}" for minor in range(6, 11)]
PRETEND = """
import runpy, sys
sys.version_info = (3, 10, 2, "final", 0)
{then}
"""


def run(*words: str, cwd: Path | None = None) -> tuple[int, str, str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CORE)}
    ended = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def test_the_package_is_the_command() -> None:
    """`python -m toolcharter` does what `toolcharter` does."""
    assert run(sys.executable, "-m", "toolcharter", "--version") == (0, f"toolcharter {toolcharter.__version__}\n", "")


def test_an_old_python_says_which_one_is_needed() -> None:
    """Neither as a module nor as a script does it end with a traceback."""
    needed = f"toolcharter needs Python 3.11 or newer; this is Python 3.10, {sys.executable}.\n"
    module = PRETEND.format(then="sys.argv = ['-m', '--version']; import toolcharter.cli")
    script = PRETEND.format(then="sys.argv = ['/usr/bin/toolcharter', '--version']; import toolcharter.cli")

    assert [run(sys.executable, "-c", program) for program in (module, script)] == [(2, "", needed)] * 2


def test_a_program_on_an_old_python_gets_an_import_error() -> None:
    """Who imports the package can catch it."""
    program = PRETEND.format(
        then="""
try:
    import toolcharter
except ImportError as error:
    print(error)
"""
    )

    assert run(sys.executable, "-c", program) == (
        0,
        f"toolcharter needs Python 3.11 or newer; this is Python 3.10, {sys.executable}.\n",
        "",
    )


def test_old_pythons_can_read_what_tells_them() -> None:
    """The package's first module has no syntax that Python 3.6 does not know."""
    ast.parse((CORE / "toolcharter/__init__.py").read_text(), feature_version=(3, 6))


@pytest.mark.parametrize("python", OLD)
def test_a_real_old_python_is_told(python, tmp_path: Path) -> None:
    """Where one is installed, it is asked."""
    found = shutil.which(python)
    if found is None or run(found, "--version", cwd=tmp_path)[0] != 0:
        pytest.skip(f"needs the program {python!r}")

    status, output, errors = run(found, "-m", "toolcharter", "--version", cwd=tmp_path)

    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert errors.startswith(
        f"toolcharter needs Python 3.11 or newer; this is Python {python.removeprefix('python')}, "
    )


# Root may do everything; without these capabilities its folders can be closed to it, too.
CAPABILITIES = "-dac_override,-dac_read_search"
AS_USER = ("setpriv", f"--bounding-set={CAPABILITIES}", f"--inh-caps={CAPABILITIES}") if os.getuid() == 0 else ()
COMMAND = (*AS_USER, sys.executable, "-m", "toolcharter")
COMMANDS = [
    pytest.param(("tools", "--profile", "../p.yaml"), id="tools"),
    pytest.param(("call", "list_files", "--profile", "../p.yaml"), id="call"),
    pytest.param(("decide", "--profile", "../p.yaml"), id="decide"),
    pytest.param(("explain", "list_files", "--profile", "../p.yaml"), id="explain"),
    pytest.param(("doctor", "--profile", "../p.yaml"), id="doctor"),
    pytest.param(("profiles", "--check", "../p.yaml"), id="profiles"),
    pytest.param(("test",), id="test"),
    pytest.param(("new", "thing"), id="new"),
]


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that the user may neither read nor enter."""
    (tmp_path / "p.yaml").write_text("profile: p\n")
    folder = tmp_path / "profiles"
    folder.mkdir()
    folder.chmod(0)
    yield folder
    folder.chmod(0o755)


@pytest.mark.slow
@pytest.mark.needs_program("setpriv", package="util-linux")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_folder_is_a_fault(words, closed: Path) -> None:
    """A folder that the user may not enter, as workspace and as current folder, is told in a sentence."""
    status, _, errors = run(*COMMAND, *words, cwd=closed)

    assert status == 2, errors
    assert "Permission denied" in errors
    assert "Traceback" not in errors


@pytest.mark.needs_program("setpriv", package="util-linux")
def test_a_closed_folder_of_profiles_is_a_fault(closed: Path) -> None:
    """`test` says that ./profiles is closed to the user; `profiles` lists the others."""
    tested, listed = (run(*COMMAND, word, cwd=closed.parent) for word in ("test", "profiles"))

    assert (tested[0], tested[2]) == (2, "profiles: Permission denied\n")
    assert (listed[0], "minimal" in listed[1], listed[2]) == (0, True, "")
