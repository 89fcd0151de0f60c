"""Runs the cases of profiles for `toolcharter test`."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    from toolcharter.gate import observe
    from toolcharter.gate.build import open as build_open
    from toolcharter.gate.build.open import Plan
    from toolcharter.profile import find
    from toolcharter.testing import cases
    from toolcharter.testing.coverage import ReasonCoverage
else:
    build_open = lazy("toolcharter.gate.build.open")
    observe = lazy("toolcharter.gate.observe")
    find = lazy("toolcharter.profile.find")
    cases = lazy("toolcharter.testing.cases")


class CaseVerdict(NamedTuple):
    """One case of a profile and its result."""

    name: str
    place: str
    """`file:line:column`."""
    passed: bool
    text: str
    """The expected and the actual decision, over several lines."""


class ProfileResult(NamedTuple):
    """One profile and the results of its cases."""

    file: str
    profile: str
    verdicts: tuple[CaseVerdict, ...]

    @property
    def failed(self) -> list[CaseVerdict]:
        """The cases whose decision differs from the expected one."""
        return [verdict for verdict in self.verdicts if not verdict.passed]


def run_profiles(named: Iterable[str], workspace: str, coverage: "ReasonCoverage") -> list[ProfileResult]:
    """Run the cases of every profile in *named*, or of all profiles in `./profiles` if *named* is empty.

    Raises:
        ConfigurationError: Profiles have faults. It holds all of them; no case was run.
    """
    plans: dict[str, Plan] = {}
    faults: list[Fault] = []
    for file in _expand_folders(tuple(named)):
        try:
            plans[str(file)] = build_open.plan_profile(file)
        except ConfigurationError as error:
            faults.extend(_suggest_folder(file, fault) for fault in error.faults)
    if faults:
        raise ConfigurationError(dict.fromkeys(faults))
    with coverage.watching():
        return [_run_cases(file, plan, workspace, coverage) for file, plan in plans.items()]


def _run_cases(file: str, plan: "Plan", workspace: str, coverage: "ReasonCoverage") -> ProfileResult:
    coverage.expect_plan(plan)
    verdicts: list[CaseVerdict] = []
    toolbox = build_open.open_toolbox(plan, workspace=workspace, caller=None, sinks=(), strict=True)
    try:
        for case in plan.profile.cases:
            try:
                result = cases.run_case(toolbox, case)
                passed, text = result.passed, result.explain()
            except observe.ContractBroken as error:
                passed, text = False, f"{case.place}: {cases.case_name(case)}\n  {error}"
            verdicts.append(CaseVerdict(cases.case_name(case), case.place, passed, text))
    finally:
        errors = toolbox.close_shared()
    for raised in errors:
        text = f"{file}: closing a tool failed: {type(raised).__name__}: {raised}"
        verdicts.append(CaseVerdict("every tool closes", file, passed=False, text=text))
    return ProfileResult(file, plan.profile.name, tuple(verdicts))


def _suggest_folder(file: str | Path, fault: Fault) -> Fault:
    """Suggest `NAME/` if a bare name is not a profile's but a folder's: the user most likely meant the folder."""
    if isinstance(file, Path) or fault.what != f"there is no profile named {file!r}." or not Path(file).is_dir():
        return fault
    return replace(fault, fix=f"For the folder, write '{file}/'.")


def _expand_folders(named: tuple[str, ...]) -> Iterator[str | Path]:
    """Yield profiles as `plan_profile` accepts them: a bare name stays a name, a folder yields all its profiles."""
    if not named and not Path("profiles").is_dir():
        raise ConfigurationError([Fault("./profiles", "", "there is no such folder.", "Name the profiles to test.")])
    for name in named or ("profiles/",):
        folder = Path(name)
        if find.is_name(name) or not folder.is_dir():
            yield name
            continue
        found = sorted(file for file in folder.iterdir() if file.suffix in find.SUFFIXES)
        if not found:
            raise ConfigurationError(
                [Fault(name, "", "the folder holds no profile.", "Name a profile, or its folder.")]
            )
        yield from found
