"""Decides the cases of a profile by dry runs, which execute nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from toolcharter.api.call import Caller, Decision
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.gate.toolbox import Toolbox
from toolcharter.profile.model import Case

_MAX_NAME = 120


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A case and the profile's decision about it."""

    case: Case
    decision: Decision

    @property
    def passed(self) -> bool:
        """Whether the decision is the expected one. A reason or stage that the case leaves out is not compared."""
        case, got = self.case, self.decision
        return (
            case.expect == got.outcome
            and case.reason in {None, got.reason}
            and (case.stage is None or case.stage == got.stage)
        )

    @property
    def name(self) -> str:
        """The case's own name, or its call and expectation: `git action=push: deny`."""
        return case_name(self.case)

    def explain(self) -> str:
        """Describe the expected and the actual decision, its stage and the place of the case, on several lines."""
        case, got = self.case, self.decision
        lines = {
            "call": f"{case.tool} {orjson.dumps(dict(case.args)).decode()}",
            "expected": _format_verdict(case.expect, case.reason, case.stage),
            "got": _format_verdict(got.outcome, got.reason, got.stage),
            "rule": got.rule and f"{got.rule.text} ({got.rule.source})",
            "message": got.message,
            "hint": got.hint,
            "tool checks": _format_tool_checks(got),
        }
        shown = "".join(f"\n  {label:<12}{text}" for label, text in lines.items() if text)
        return f"{case.place or 'case'}: {self.name}{shown}"


def run_cases(plan: Plan, *, workspace: str | Path, caller: Caller | None = None) -> list[CaseResult]:
    """Decide every case of a profile, in order.

    Args:
        plan: The profile, from `toolcharter.gate.build.open.plan_profile`.
        workspace: The folder that the tools' own checks may read.
        caller: The caller of the calls.

    Raises:
        ContractBroken: A tool returned a reason that it does not declare.
    """
    with open_toolbox(plan, workspace=workspace, caller=caller, sinks=(), strict=True) as toolbox:
        return [run_case(toolbox, case) for case in plan.profile.cases]


def run_case(toolbox: Toolbox, case: Case) -> CaseResult:
    """Decide one case by a dry run, which executes nothing and writes no event."""
    return CaseResult(case, toolbox.decide(case.tool, case.args))


def case_name(case: Case) -> str:
    """Return the name of a case, or its call and expectation, on one line."""
    if case.name is not None:
        return _escape_to_one_line(case.name)[:_MAX_NAME]
    args = " ".join(f"{name}={_format_value(value)}" for name, value in case.args.items())
    call = f"{case.tool} {args}".strip()
    return f"{_escape_to_one_line(call)[:_MAX_NAME]}: {case.reason or case.expect}"


def unique_names(cases: tuple[Case, ...]) -> Iterator[tuple[str, Case]]:
    """Yield each case with a name that no other case of the profile has."""
    seen: dict[str, int] = {}
    for case in cases:
        name = case_name(case).replace("::", ":")
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), case


def _escape_to_one_line(text: str) -> str:
    """Return *text* on one line with its control characters escaped."""
    words = " ".join(text.split())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _format_verdict(outcome: str, reason: str | None, stage: str | None) -> str:
    return outcome + (f", reason {reason}" if reason else "") + (f", stage {stage}" if stage else "")


def _format_tool_checks(got: Decision) -> str | None:
    if got.tool_checks != "not_evaluated":
        return got.tool_checks
    if got.outcome == "allow":
        return "not evaluated: the tool is not staged, so no dry run enters its body"
    return None
