"""The cost of a start: the command, a first result from cold, five hundred installed plugins."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from environments import LANGCHAIN
from installation import installation
from measure import HERE, Bench, Row, Sample, printed, timed

INSTALLED = 500
_BIN = Path(sys.executable).parent
_PASS = timed(sys.executable, "-c", "pass")
_PLUGIN = '''"""Greet one person."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from toolcharter import ToolPolicy, ToolRuntime, ToolSpec, hookimpl


class GreetPolicy(ToolPolicy):
    """Whom one profile lets greet."""

    allowed_names: tuple[str, ...] = ()
    """Names that may be greeted."""


class GreetReason(StrEnum):
    """Why greet refuses."""

    NAME_NOT_ALLOWED = "name_not_allowed"


def build(workspace: Path, policy: GreetPolicy, rt: ToolRuntime) -> Callable[[str], str]:
    def greet(name: str) -> str:
        """Greet one person."""
        return f"Hello, {{name}}!"

    return greet


SPEC = ToolSpec("{name}", GreetPolicy, build, reasons=GreetReason, capabilities={{"text"}}, safety="low")


@hookimpl
def register_tools() -> list[ToolSpec[GreetPolicy]]:
    return [SPEC]
'''


def _to_nothing(bench: Bench, command: Sample) -> float:
    """Measure a command / a Python that does nothing."""
    command()
    return bench.ratio(command, _PASS)


def _help(bench: Bench) -> float:
    return _to_nothing(bench, timed(_BIN / "toolcharter", "--help"))


def _version(bench: Bench) -> float:
    return _to_nothing(bench, timed(_BIN / "toolcharter", "--version"))


def _first_result(bench: Bench) -> float:
    with TemporaryDirectory() as workspace:
        return _to_nothing(bench, timed(sys.executable, HERE / "ours/first_result.py", workspace))


def _first_beside_pydantic(bench: Bench) -> float:
    """Measure a first result / a Python that only defines a policy model, which any such program would need."""
    model = "from pydantic import BaseModel; type('Policy', (BaseModel,), {'__module__': __name__})"
    with TemporaryDirectory() as workspace:
        ours = timed(sys.executable, HERE / "ours/first_result.py", workspace)
        return bench.ratio(ours, timed(sys.executable, "-c", model))


def _first_beside_langchain(bench: Bench) -> float:
    bench.require_peer(LANGCHAIN)
    with TemporaryDirectory() as workspace:
        ours = timed(sys.executable, HERE / "ours/first_result.py", workspace)
        return bench.ratio(ours, timed(LANGCHAIN.python, HERE / "peers/langchain_first.py"))


def _discovery(bench: Bench) -> float:
    plugins = _plugins(bench)
    with installation(plugins) as python:
        return bench.ratio(
            lambda: printed(python, HERE / "ours/discover.py", str(len(plugins))),
            lambda: printed(python, HERE / "peers/pluggy_discover.py", str(len(plugins))),
        )


def _imported(bench: Bench) -> float:
    with installation(_plugins(bench)) as python, TemporaryDirectory() as workspace:
        profile = Path(workspace, "one.yaml")
        profile.write_text("profile: one\ntools:\n  bench_1: {}\n")
        return printed(python, HERE / "ours/use_one.py", profile, workspace)


def _plugins(bench: Bench) -> dict[str, str]:
    """Return many plugins, each with one small tool."""
    return {
        name: _PLUGIN.format(name=name) for name in (f"bench_{number}" for number in range(bench.scaled(INSTALLED)))
    }


_PYDANTIC = (
    "a policy is a pydantic model, and a Python that defines a single one takes about 11 x; ours comes on top (next row). "
    "Only policies that are no pydantic models would meet the goal."
)
_NO_CACHE = (
    "every start reads each distribution's entry points anew, three system calls for each. A list kept on disk would "
    "meet the goal, and would be one more file that decides what is imported."
)
_OURS_ON_TOP = (
    "of a hundred parts beyond that Python, forty import the modules of the core, thirteen the plugin of files with the models of its tools, "
    "ten YAML and read the profile, eleven compile the search for secrets, eight find what of the interpreter has to be "
    "protected. Fewer, larger modules would be quicker to import and slower to read."
)

ROWS = (
    Row(
        "`toolcharter --help` / `python -c pass`",
        _help,
        4.5,
        price="importing click alone takes 3.7 x; the help also lists what plugins add, from the metadata of all that is installed.",
    ),
    Row("`toolcharter --version` / `python -c pass`", _version, 4.5, price="importing click alone takes 3.7 x."),
    Row("first governed result from cold / `python -c pass`", _first_result, 12, price=_PYDANTIC),
    Row(
        "first governed result from cold / a Python that defines one pydantic model",
        _first_beside_pydantic,
        1.6,
        price=_OURS_ON_TOP,
    ),
    Row("first governed result from cold / LangChain's first result", _first_beside_langchain),
    Row("500 plugins installed: discovery / pluggy's own", _discovery, 0.01, price=_NO_CACHE),
    Row("500 plugins installed, one used: how many are imported", _imported, 1, unit=" plugin"),
)
