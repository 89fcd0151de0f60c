"""One hostile repository for each git setting that toolcharter replaces, tried with git itself.

Plain git walks into each trap; git with that one setting replaced does not; and neither does git with the whole
environment of each caller, the shell guard and the tool `git`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.git_traps import PUSH, SHELL_TRAPS, TOOL_TRAPS, TRAPS, Trap, TrapRepository, spring_trap

from toolcharter import GIT_SETTINGS, git_setting_variables
from toolcharter.guards.shell.git.settings import SHELL_SETTINGS, git_overrides
from toolcharter_git import config
from toolcharter_git.repository import build_environment

pytestmark = pytest.mark.needs_program("git")

ALL: Mapping[str, str] = {**GIT_SETTINGS, **SHELL_SETTINGS, **config.ADDED}


def _rows(*tables: Mapping[str, list[Trap]]) -> list[Any]:
    return [
        pytest.param(key, trap, id=f"{key}-{number}")
        for table in tables
        for key, traps in table.items()
        for number, trap in enumerate(traps)
    ]


@pytest.fixture
def place(tmp_path: Path) -> TrapRepository:
    """A fresh repository."""
    root = tmp_path / "place"
    root.mkdir()
    return TrapRepository(root)


@pytest.mark.parametrize(
    ("traps", "settings"),
    [(TRAPS, GIT_SETTINGS), (SHELL_TRAPS, SHELL_SETTINGS), (TOOL_TRAPS, config.ADDED)],
    ids=["shared", "shell", "tool"],
)
def test_each_setting_has_a_trap(traps: Mapping[str, list[Trap]], settings: Mapping[str, str]) -> None:
    """A key without one is a claim that nobody has tried."""
    assert sorted(traps) == sorted(settings)


def test_what_a_caller_adds_takes_nothing_back() -> None:
    """No caller says a shared key again."""
    assert GIT_SETTINGS.keys().isdisjoint({*SHELL_SETTINGS, *config.ADDED})


@pytest.mark.parametrize(("key", "trap"), _rows(TRAPS, SHELL_TRAPS, TOOL_TRAPS))
def test_the_setting_alone_ends_the_danger(place: TrapRepository, tmp_path: Path, key: str, trap: Trap) -> None:
    """Plain git walks into the trap; with this one setting replaced it does not."""
    (tmp_path / "other").mkdir()

    plain = spring_trap(place, trap, {})
    replaced = spring_trap(TrapRepository(tmp_path / "other"), trap, git_setting_variables({key: ALL[key]}))

    assert (trap.is_sprung(plain), trap.is_sprung(replaced)) == (True, False), (plain, replaced)


@pytest.mark.parametrize(("key", "trap"), _rows(TRAPS, SHELL_TRAPS))
def test_a_shell_line_springs_no_trap(place: TrapRepository, key: str, trap: Trap) -> None:
    """The environment of every shell line ends the danger of *key*."""
    ran = spring_trap(place, trap, git_overrides(str(place.workspace)))

    assert (trap.is_sprung(ran), trap.command == PUSH and ran.status != 0) == (False, False), (key, ran)


@pytest.mark.parametrize(("key", "trap"), _rows(TRAPS, TOOL_TRAPS))
def test_the_tool_springs_no_trap(place: TrapRepository, key: str, trap: Trap) -> None:
    """The environment of the tool `git` ends the danger of *key*."""
    overrides = config.harmless_settings(trap.settings)
    environment = build_environment(str(place.workspace / ".git"), place.workspace, overrides)
    if trap.command == PUSH:
        environment["GIT_ALLOW_PROTOCOL"] = "file"

    ran = spring_trap(place, trap, environment)

    assert (trap.is_sprung(ran), trap.command == PUSH and ran.status != 0) == (False, False), (key, ran)
