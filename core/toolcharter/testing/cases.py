"""A profile's cases: each is one decision, asked for without running anything."""

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
    """A case, and what the profile decides about it."""

    case: Case
    decision: Decision

    @property
    def passed(self) -> bool:
        """Whether the decision is the expected one; a reason or stage that the case leaves out is not compared."""
        case, got = self.case, self.decision
        return (
            case.expect == got.outcome
            and case.reason in {None, got.reason}
            and (case.stage is None or case.stage == got.stage)
        )

    @property
    def name(self) -> str:
        """The case's own name, or the call and the expectation: `git action=push: deny`."""
        return name_of(self.case)

    def explain(self) -> str:
        """Expected and got, the deciding stage, and where the case is; several lines."""
        case, got = self.case, self.decision
        lines = {
            "call": f"{case.tool} {orjson.dumps(dict(case.args)).decode()}",
            "expected": _verdict(case.expect, case.reason, case.stage),
            "got": _verdict(got.outcome, got.reason, got.stage),
            "rule": got.rule and f"{got.rule.text} ({got.rule.source})",
            "message": got.message,
            "hint": got.hint,
            "tool checks": _tool_checks(got),
        }
        shown = "".join(f"\n  {label:<12}{text}" for label, text in lines.items() if text)
        return f"{case.place or 'case'}: {self.name}{shown}"


def run_cases(plan: Plan, *, workspace: str | Path, caller: Caller | None = None) -> list[CaseResult]:
    """Decide every case of a profile, in their order.

    Args:
        plan: The profile, from `toolcharter.gate.build.open.plan_profile`.
        workspace: The folder that the tools' own checks may look at.
        caller: Who would call.

    Raises:
        ContractBroken: A tool gave a reason that it does not declare.
    """
    with open_toolbox(plan, workspace=workspace, caller=caller, sinks=(), strict=True) as toolbox:
        return [run_case(toolbox, case) for case in plan.profile.cases]


def run_case(toolbox: Toolbox, case: Case) -> CaseResult:
    """Decide one case: a dry run, which executes nothing and leaves no event."""
    return CaseResult(case, toolbox.decide(case.tool, case.args))


def name_of(case: Case) -> str:
    """What a case is called: its name, or its call and expectation, on one line."""
    if case.name is not None:
        return _printable(case.name)[:_MAX_NAME]
    args = " ".join(f"{name}={_short(value)}" for name, value in case.args.items())
    call = f"{case.tool} {args}".strip()
    return f"{_printable(call)[:_MAX_NAME]}: {case.reason or case.expect}"


def unique_names(cases: tuple[Case, ...]) -> Iterator[tuple[str, Case]]:
    """Each case with a name that no other case of the profile has."""
    seen: dict[str, int] = {}
    for case in cases:
        name = name_of(case).replace("::", ":")
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), case


def _printable(text: str) -> str:
    """*text* on one line, its control characters written out."""
    words = " ".join(text.split())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in words)


def _short(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _verdict(outcome: str, reason: str | None, stage: str | None) -> str:
    return outcome + (f", reason {reason}" if reason else "") + (f", stage {stage}" if stage else "")


def _tool_checks(got: Decision) -> str | None:
    if got.tool_checks != "not_evaluated":
        return got.tool_checks
    if got.outcome == "allow":
        return "not evaluated: the tool is not staged, so no dry run enters its body"
    return None
