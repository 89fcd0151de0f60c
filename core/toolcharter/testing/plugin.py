"""The pytest plugin: profiles' cases as tests, fixtures for toolboxes, and a summary of reasons.

pytest imports this module in every project that has toolcharter installed, so it imports nothing
expensive: modules are loaded on first use. `-p no:toolcharter` turns it off.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolcharter._lazy import lazy
from toolcharter.testing.coverage import ReasonCoverage

if TYPE_CHECKING:
    from toolcharter.api.call import Caller
    from toolcharter.api.tool import ToolSpec
    from toolcharter.gate.build import open as build_open
    from toolcharter.gate.toolbox import Tool, Toolbox
    from toolcharter.testing import items, profiles, summary, toolboxes
else:
    build_open = lazy("toolcharter.gate.build.open")
    items = lazy("toolcharter.testing.items")
    profiles = lazy("toolcharter.testing.profiles")
    summary = lazy("toolcharter.testing.summary")
    toolboxes = lazy("toolcharter.testing.toolboxes")

COVERAGE = pytest.StashKey[ReasonCoverage]()
"""The reasons shown in this run, in `config.stash`."""
MINIMUM = pytest.StashKey[float]()
"""The percentage of declared reasons that must be shown."""
_OPEN = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the ini file and of the command line."""
    parser.addini(
        "toolcharter_profiles",
        "Profiles whose cases are tests: paths or globs relative to the root folder, or names.",
        type="linelist",
    )
    parser.addini(
        "toolcharter_workspace", "The folder that cases see as their workspace; default: the root folder.", default="."
    )
    parser.addini(
        "toolcharter_reasons_min",
        "The percentage of declared reasons that the tests must show; --toolcharter-reasons-min wins.",
        default="0",
    )
    parser.getgroup("toolcharter").addoption(
        "--toolcharter-reasons-min",
        type=_parse_percentage,
        metavar="PERCENT",
        help="Fail the run if its tests show less than this part of the reasons that the profiles' tools declare.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start recording reasons, and collect cases if the ini file names profiles."""
    config.stash[MINIMUM] = _minimum_coverage(config)
    stack = config.stash[_OPEN] = ExitStack()
    coverage = config.stash[COVERAGE] = stack.enter_context(ReasonCoverage().watching())
    named = config.getini("toolcharter_profiles")
    if named:
        config.pluginmanager.register(items.CaseCollector(config, named, coverage), "toolcharter-cases")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop recording reasons."""
    if stack := config.stash.get(_OPEN, None):
        stack.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker, pass its reasons to the controller; elsewhere, fail a run that shows too few."""
    config = session.config
    coverage = config.stash[COVERAGE]
    workeroutput: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if workeroutput is not None:
        workeroutput["toolcharter"] = coverage.dump()
    elif (
        not config.option.collectonly
        and session.exitstatus == pytest.ExitCode.OK
        and any(summary.find_gaps(config, coverage, config.stash[MINIMUM]))
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Merge the reasons of a worker of pytest-xdist that has ended. A worker that crashed has none."""
    dumped = getattr(node, "workeroutput", {}).get("toolcharter")
    if dumped is not None:
        node.config.stash[COVERAGE].merge(dumped)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print which declared reasons were shown and which were not."""
    if not config.option.collectonly:
        summary.summarise(terminalreporter, config, config.stash[COVERAGE], config.stash[MINIMUM])


@pytest.fixture
def toolcharter_events() -> list[dict[str, Any]]:
    """The events of this test's toolboxes, in order; see docs/testing.md."""
    return []


@pytest.fixture
def toolcharter_workspace(tmp_path: Path) -> Path:
    """An empty folder: the workspace of this test's toolboxes."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def toolcharter_toolbox(
    toolcharter_workspace: Path, toolcharter_events: list[dict[str, Any]], pytestconfig: pytest.Config
) -> "Iterator[Callable[..., Toolbox]]":
    """Build strict toolboxes for profiles: `toolcharter_toolbox("reviewer")`; they are closed after the test.

    A profile is a name, or a path relative to the root folder; `workspace` and `caller` are optional.
    """

    def build(
        profile: str | Path, *, workspace: Path = toolcharter_workspace, caller: "Caller | None" = None
    ) -> "Toolbox":
        plan = build_open.plan_profile(profiles.display_path(profiles.find_profile(profile, pytestconfig.rootpath)))
        pytestconfig.stash[COVERAGE].expect_plan(plan)
        sinks = [toolcharter_events.append]
        return stack.enter_context(
            build_open.open_toolbox(plan, workspace=workspace, caller=caller, sinks=sinks, strict=True)
        )

    with ExitStack() as stack:
        yield build


@pytest.fixture
def toolcharter_tool(
    toolcharter_workspace: Path, toolcharter_events: list[dict[str, Any]], pytestconfig: pytest.Config
) -> "Iterator[Callable[..., Tool]]":
    """Build one tool from its spec and policy: `toolcharter_tool(SPEC, {"allowed_names": ["Ann"]})`.

    The tool is strict and called through the gate; its distribution need not be installed.
    """

    def build(
        spec: "ToolSpec[Any]", policy: dict[str, Any] | None = None, *, workspace: Path = toolcharter_workspace
    ) -> "Tool":
        pytestconfig.stash[COVERAGE].expect(toolboxes.IN_MEMORY, spec)
        policies = {spec.name: policy or {}}
        toolbox = toolboxes.toolbox_of(spec, workspace=workspace, policies=policies, events=toolcharter_events.append)
        return stack.enter_context(toolbox)[spec.name]

    with ExitStack() as stack:
        yield build


def _minimum_coverage(config: pytest.Config) -> float:
    """Return the percentage from the command line, or else from the ini file."""
    given: float | None = config.option.toolcharter_reasons_min
    if given is not None:
        return given
    text = config.getini("toolcharter_reasons_min")
    try:
        return _parse_percentage(text)
    except ValueError:
        raise pytest.UsageError(f"toolcharter_reasons_min: {text!r} is no percentage") from None


def _parse_percentage(text: str) -> float:
    """Parse a number from 0 to 100; argparse turns `ValueError` into a usage error."""
    value = float(text)
    if not 0 <= value <= 100:  # noqa: PLR2004 - a percentage
        raise ValueError(text)
    return value
