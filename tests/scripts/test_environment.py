"""`scripts/environment.py`: what is installed, and when nothing is."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import environment

_LOCK = """\
click==8.5.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
colorama==0.4.6 ; sys_platform == 'win32' \\
    --hash=sha256:cc
numpy==1.0 ; python_version < '3.12' \\
    --hash=sha256:dd
numpy==2.0 ; python_version >= '3.12' \\
    --hash=sha256:ee
uv==0.13.8 \\
    --hash=sha256:ff
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A checkout with one plugin, whose commands are recorded in place of being run."""
    commands: list[tuple[str, ...]] = []

    def run(*words: Any, environment: Any = None) -> None:
        commands.append(tuple(str(word) for word in words))
        if "venv" in words:
            Path(words[-1]).mkdir(exist_ok=True)

    (tmp_path / "plugins" / "greet").mkdir(parents=True)
    (tmp_path / "plugins" / "stray").mkdir()
    (tmp_path / "constraints.txt").write_text(_LOCK)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "toolcharter"\ndependencies = ["Click>=8"]\n[dependency-groups]\nsetup = ["uv"]\n'
    )
    (tmp_path / "plugins" / "greet" / "pyproject.toml").write_text(
        '[project]\nname = "toolcharter-greet"\ndependencies = ["toolcharter>=0.1", "numpy[fast]>=1"]\n'
    )
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    monkeypatch.setattr(environment, "LOCK", tmp_path / "constraints.txt")
    monkeypatch.setattr(environment, "run", run)
    monkeypatch.setattr(environment, "_uv_settings", lambda _python: {})
    return commands


def prepare(level: str) -> None:
    environment.prepare(environment.ROOT / ".venv", Path(sys.executable), level)


def packages() -> list[str]:
    lines = (environment.ROOT / ".venv" / "toolcharter-packages.txt").read_text().splitlines()
    return [line.removesuffix(" \\") for line in lines if not line.startswith(" ")]


def test_run_installs_what_the_distributions_ask_for(checkout: list[tuple[str, ...]]) -> None:
    """Both entries of a package that differs by Python version count; local names and other tools do not."""
    prepare("run")

    assert packages() == [
        "click==8.5.1",
        "numpy==1.0 ; python_version < '3.12'",
        "numpy==2.0 ; python_version >= '3.12'",
        "uv==0.13.8",
    ]


def test_dev_installs_the_whole_lock_file(checkout: list[tuple[str, ...]]) -> None:
    """The developers' tools are all that is locked."""
    prepare("dev")

    assert (environment.ROOT / ".venv" / "toolcharter-packages.txt").read_text() == _LOCK


def test_local_distributions_are_installed_last_and_without_hashes(checkout: list[tuple[str, ...]]) -> None:
    """Folders have no hash; one without a pyproject.toml is none of ours."""
    prepare("run")

    venv, pip, locked, local, bytecode = checkout
    root = str(environment.ROOT)
    assert (venv[1:], pip[1:4], bytecode[1:3]) == (
        ("-m", "venv", f"{root}/.venv"),
        ("-m", "pip", "install"),
        ("-m", "compileall"),
    )
    assert {"--require-hashes", "--compile-bytecode", "--only-binary=:all:"} <= set(locked)
    assert local[-4:] == ("--editable", root, "--editable", f"{root}/plugins/greet")
    assert "--require-hashes" not in local


@pytest.mark.parametrize(
    ("first", "then"), [pytest.param("run", "run", id="same"), pytest.param("dev", "run", id="less than is there")]
)
def test_second_time_does_nothing(checkout: list[tuple[str, ...]], first: str, then: str) -> None:
    """A set-up that still fits costs no command."""
    prepare(first)
    checkout.clear()

    prepare(then)

    assert checkout == []


@pytest.mark.parametrize("changed", ["constraints.txt", "pyproject.toml", "plugins/greet/pyproject.toml"])
def test_changed_input_is_installed_again(checkout: list[tuple[str, ...]], changed: str) -> None:
    """What decides the content of the environment is part of the stamp."""
    prepare("run")
    checkout.clear()
    with (environment.ROOT / changed).open("a") as file:
        file.write("\n")

    prepare("run")

    assert len(checkout) == 5


def test_more_than_is_there_is_installed(checkout: list[tuple[str, ...]]) -> None:
    """`make test` after `make run` adds the developers' tools."""
    prepare("run")
    checkout.clear()

    prepare("dev")

    assert len(checkout) == 5


def test_environment_of_another_checkout_is_made_anew(checkout: list[tuple[str, ...]]) -> None:
    """Its programs and links name the other folder."""
    prepare("run")
    stamp = environment.ROOT / ".venv" / environment.STAMP
    _, digest, level = json.loads(stamp.read_text())
    stamp.write_text(json.dumps(["/elsewhere Python 3.11", digest, level]))
    checkout.clear()

    prepare("run")

    assert "--clear" in checkout[0]


def test_requirement_that_is_not_locked_stops_with_the_fix(checkout: list[tuple[str, ...]]) -> None:
    """A new dependency needs a new lock file; the message says so."""
    (environment.ROOT / "constraints.txt").write_text(_LOCK.replace("numpy", "scipy"))

    with pytest.raises(SystemExit) as stopped:
        prepare("run")

    assert stopped.value.code == (
        "constraints.txt holds no 'numpy', which a pyproject.toml here asks for. Run `make lock` first."
    )


def test_failing_command_stops_with_its_line() -> None:
    """The line can be repeated by hand."""
    with pytest.raises(SystemExit) as stopped:
        environment.run(sys.executable, "-c", "import sys; sys.exit(3)")

    assert stopped.value.code == (f"This failed with exit status 3: {sys.executable} -c 'import sys; sys.exit(3)'")


def test_a_later_python_takes_the_projects_over(checkout: list[tuple[str, ...]]) -> None:
    """No project is built a second time; its script names the Python that runs it."""
    first, later = environment.ROOT / ".venv", environment.ROOT / ".venvs/3.12"
    prepare("dev")
    for name in ("toolcharter", "toolcharter_greet"):
        info = first / f"lib/python3.11/site-packages/{name}-0.1.0.dist-info"
        info.mkdir(parents=True)
        (info / "RECORD").write_text(
            f"_{name}.pth,sha256=x,9\n../../../bin/{name},sha256=x,9\n{name}-0.1.0.dist-info/RECORD,,\n"
        )
        (info.parent / f"_{name}.pth").write_text("the folder")
        (first / "bin").mkdir(exist_ok=True)
        (first / "bin" / name).write_text(f"#!{first}/bin/python\n")
        (first / "bin" / name).chmod(0o755)
    (later / "lib/python3.12/site-packages").mkdir(parents=True)
    checkout.clear()

    environment.prepare(later, Path(sys.executable), "dev", first=first)

    assert [words[1] for words in checkout] == ["venv", "pip"]
    assert "--editable" not in checkout[1]
    assert (later / "lib/python3.12/site-packages/_toolcharter_greet.pth").read_text() == "the folder"
    script = later / "bin/toolcharter_greet"
    assert (script.read_text(), script.stat().st_mode & 0o777) == (f"#!{later}/bin/python\n", 0o755)
