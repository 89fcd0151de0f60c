"""What `profiles --check` says of a profile: why it would be refused, and what its author may not have meant."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolcharter.errors import ConfigurationError, Fault, did_you_mean

if TYPE_CHECKING:
    from toolcharter.gate.build import Plan
    from toolcharter.profile.nodes import Places


class Findings(NamedTuple):
    """All there is to say of one profile."""

    faults: tuple[Fault, ...] = ()
    """It is refused for each of these."""
    warnings: tuple[Fault, ...] = ()
    """It runs with these; only told of a profile without faults."""


def examine(file: str, workspace: str, search: Sequence[Path]) -> Findings:
    """Build the profile to see what is wrong; constructors do no I/O.

    Args:
        file: The profile's path.
        workspace: What it is built for.
        search: Folders in which plugins ship profiles.
    """
    from toolcharter.gate.build import open_toolbox, plan_profile  # noqa: PLC0415 - `--help` does without it
    from toolcharter.loader.scan import installed  # noqa: PLC0415 - as above
    from toolcharter.profile.read import read_profile  # noqa: PLC0415 - as above

    index = installed()
    try:
        plan = plan_profile(file, index=index)
        open_toolbox(plan, workspace=workspace, caller=None, sinks=()).close()
    except ConfigurationError as error:
        return Findings(faults=error.faults)
    places = read_profile(file, search=search).places
    return Findings(warnings=(*_undeclared(plan, places), *_needless(plan, places, index.tools)))


def _undeclared(plan: "Plan", places: "Places") -> Iterator[Fault]:
    for name, tool in plan.loaded.specs.items():
        if tool.spec.capabilities is None:
            what = "declares no capabilities, so it counts as touching everything, at the highest safety level."
            yield Fault(places.of("tools", name), f"tools.{name}", what, "The plugin's author has to declare them.")


def _needless(plan: "Plan", places: "Places", tools: Collection[str]) -> Iterator[Fault]:
    """Entries of `missing_ok` that except nothing: most likely misspelt."""
    from toolcharter.profile.shapes import same_tool  # noqa: PLC0415 - `--help` does without it

    listed = {*plan.profile.tools, *plan.profile.tool_limits}
    known = set(map(same_tool, listed))
    for index, name in enumerate(plan.profile.missing_ok):
        if same_tool(name) not in known:
            what = f"the profile names no tool {name!r}, so nothing is excepted."
            fix = did_you_mean(name, listed | set(tools)) or "Remove it, or list the tool."
            yield Fault(places.of("missing_ok", index), f"missing_ok.{index}", what, fix)
