"""For tests only, at the end of a call: notifies observers, and verifies the tool against its own spec."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.call import ToolResult
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import ToolcharterError
from toolcharter.gate.build.tool_function import ToolFunction, output_schema
from toolcharter.gate.call import CallContext
from toolcharter.gate.observers import OBSERVERS

if TYPE_CHECKING:
    import jsonschema_rs
else:
    jsonschema_rs = lazy("jsonschema_rs")

Notify = Callable[[str], object]


class ContractBroken(ToolcharterError):
    """In a test, a tool has broken its own spec."""


@dataclass(eq=False, repr=False)
class SpecVerifier:
    """Verifies every ended call and dry run of one tool."""

    spec: ToolSpec[Any]
    function: ToolFunction
    reasons: frozenset[str] | None
    """Every reason that the tool may give; None leaves reasons unchecked."""
    notify: Notify | None
    strict: bool

    def __call__(self, ctx: CallContext, result: ToolResult | None) -> None:
        """Verify *ctx*; *result* is None for a dry run.

        Raises:
            ContractBroken: The toolbox is strict, and the tool has broken its spec.
        """
        if self.notify is not None and ctx.stage == "tool" and ctx.reason is not None:
            self.notify(ctx.reason)
        if self.strict:
            self._verify_contract(ctx, result)

    def report_question(self, reason: str) -> None:
        """Report the reason for which a person is asked to the observer, if it is a reason of the tool's own."""
        if self.notify is not None and reason in (self.spec.own_reasons() or ()):
            self.notify(reason)

    def _verify_contract(self, ctx: CallContext, result: ToolResult | None) -> None:
        name = self.spec.name
        if ctx.stage == "tool" and self.reasons is not None and ctx.reason not in self.reasons:
            raise ContractBroken(f"{name!r} gave the reason {ctx.reason!r}, which its spec does not declare")
        if self.spec.staged and ctx.outcome in {None, "ok"} and not ctx.passed:
            raise ContractBroken(f"{name!r} is staged, and its body succeeded without ctx.policy_passed()")
        if result is not None and result.outcome == "ok" and self._data_validator is not None:
            errors = (
                (".".join(map(str, error.instance_path)), error.message)
                for error in self._data_validator.iter_errors(result.data)
            )
            faults = [f"{place or 'data'}: {message}" for place, message in errors]
            if faults:
                raise ContractBroken(f"the data of {name!r} does not fit its output schema: {'; '.join(faults)}")

    @cached_property
    def _data_validator(self) -> Any:
        schema = output_schema(self.spec, self.function)
        if schema is None:
            return None

        return jsonschema_rs.validator_for(schema)


def verifier_for(
    profile: str, spec: ToolSpec[Any], function: ToolFunction, reasons: frozenset[str] | None, *, strict: bool
) -> SpecVerifier | None:
    """Return the verifier of one tool's calls; None outside tests."""
    notify = partial(OBSERVERS[-1], profile, spec) if OBSERVERS else None
    return SpecVerifier(spec, function, reasons, notify, strict) if strict or notify is not None else None
