"""Decides for which calls "allow always" is offered: calls that keep their meaning and that may be stored.

It is not offered for an interpreter or a wrapper, because the same words can run other code later, nor for more than
one command.
"""

import os
import re
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.gate.approvals.escape import visible
from toolcharter.guards.secrets import scrub_text
from toolcharter.guards.shell.nodes import quoted

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs import launchers
else:
    launchers = lazy("toolcharter.guards.shell.programs.launchers")

MAX_SHOWN_BYTES = 4096
"""The longest call that is saved: a person must be able to read it again."""
NOT_STORABLE = "It contains text that may be a secret, which must not be stored."

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
# The project's files define what `npm test` runs, as they define the tests that `pytest` runs. By "always" people mean
# that exact command. An option, a variable or a second word could name another program.
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn"})
_SCRIPT = re.compile(r"[a-z0-9][a-z0-9:_-]*")
_RUN_AND_NAME = 2
_STARTING_SUBCOMMANDS = frozenset({"create", "dlx", "exec", "explore", "init", "x"})
"""Subcommands of these programs that start or fetch another program; `run` needs the name of a script."""
# cargo's own subcommands, which build and test the project; any other word may be an alias from `.cargo/config.toml`.
_CARGO_SUBCOMMANDS = re.compile(
    "add|audit|b(ench|uild)?|c(heck|lean|lippy)?|d(eny|oc)?|fetch|fix|fmt|generate-lockfile|help|init|locate-project|metadata"
    "|new|nextest|outdated|pkgid|read-manifest|remove|search|t(est|ree)?|update|vendor|verify-project|version"
)
# python3.11, python3.13t, gcc-12: a name, its version, and up to two letters for the build.
_VERSION = re.compile(r"[-.]?[0-9][0-9.]*[a-z]{0,2}\Z")
_MAX_NAME = 255
"""The longest name of a file, in characters."""


def why_not_offered(shown: str, commands: Sequence[str], workspace: Path) -> str | None:
    """Return why "allow always" is not offered for a call, as a sentence for the person; None if it is offered.

    Args:
        shown: The call as `toolcharter approvals list` would show it.
        commands: The commands that it would run, in normal form.
        workspace: The folder that tools can write to.
    """
    why_not = next((why for why in (_why_unsuitable(command, workspace) for command in commands) if why), None)
    if why_not:
        return why_not
    if len(commands) > 1:
        return "It is more than one command."
    if scrub_text(shown)[1]:
        return NOT_STORABLE
    if len(shown.encode("utf-8", "surrogatepass")) > MAX_SHOWN_BYTES:
        return f"It is longer than {MAX_SHOWN_BYTES} bytes."
    return None


def _why_unsuitable(command: str, workspace: Path) -> str | None:
    """Return why *command*, in normal form, cannot be allowed always; None if it can."""
    if visible(command) != command:
        return "The command contains invisible characters."
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    # Plain words have this normal form. Anything else is an expansion, a redirection, or not understood.
    if not words or " ".join(map(quoted, words)) != command:
        return "The command is more than plain words."
    program = words[0]
    if _ASSIGNMENT.match(program):
        return "The command sets a variable."
    if (is_launcher(program) and not _is_script_run(words)) or _is_run_by_cargo(words):
        return f"{program!r} can run any other program."
    if "/" in program and _is_changeable(Path(program), workspace):
        return f"{program!r} is a file that tools could change."
    return None


def _is_script_run(words: Sequence[str]) -> bool:
    """Whether the command runs one script that the project defines, as `npm test` does, and nothing else."""
    program, *script = words
    return (
        program in _SCRIPT_RUNNERS
        and 1 <= len(script) <= _RUN_AND_NAME
        and all(map(_SCRIPT.fullmatch, script))
        and (script[0] == "run") == (len(script) == _RUN_AND_NAME)
        and script[0] not in _STARTING_SUBCOMMANDS
    )


def _is_run_by_cargo(words: Sequence[str]) -> bool:
    """Whether cargo runs a program or an alias: `cargo run`, `cargo xtask`, `cargo +nightly --config x make`."""
    subcommand = next((word for word in words[1:] if not word.startswith(("-", "+"))), "help")
    return words[0].rpartition("/")[2] == "cargo" and not _CARGO_SUBCOMMANDS.fullmatch(subcommand)


def _is_changeable(program: Path, workspace: Path) -> bool:
    """Whether tools could change *program*: its path is relative, or it or its real path lies in the workspace."""
    places = (program, Path(os.path.realpath(program)))
    roots = {workspace, Path(os.path.realpath(workspace))}
    return not program.is_absolute() or any(place.is_relative_to(root) for place in places for root in roots)


def is_launcher(program: str) -> bool:
    """Whether *program* is known to run other programs or code.

    Args:
        program: As written: `python3.11`, `/usr/bin/env`, `x86_64-linux-gnu-gcc-12`. It is enough if one part between
            hyphens is known, so that the list does not need the many names of one program.
    """
    name = program.rpartition("/")[2].lower().removesuffix(".exe")
    parts = (name, *name.split("-"))
    return len(name) > _MAX_NAME or any(
        part in _launchers() or _VERSION.sub("", part) in _launchers() for part in parts
    )


@cache
def _launchers() -> frozenset[str]:
    lines = Path(__file__).with_name("launchers.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split()) | launchers.STARTERS
