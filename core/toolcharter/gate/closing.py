"""Stages 8 and 9: scrub, truncate, write the second half, and hand over the result."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

import orjson

from toolcharter.errors import ToolcharterError
from toolcharter.events.lines import ToolLines, cut, rule_field, verdict_fields
from toolcharter.gate.context import CallContext
from toolcharter.gate.shared import Shared
from toolcharter.gate.shown import MAX_SHOWN_BYTES
from toolcharter.guards.output import structured, truncate
from toolcharter.guards.secrets import find, scrub_json, scrub_text, scrub_value
from toolcharter.spec.call import Outcome, ToolResult
from toolcharter.spec.reasons import KNOWN_OUTCOMES, RETRYABLE, Reason
from toolcharter.spec.tool import REASON

Strategy = Literal["head", "tail", "both"]


class ContractBroken(ToolcharterError):
    """Under test, a tool did what its own spec rules out."""


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """How much of a result the model is given."""

    max_chars: int | None = None
    strategy: Strategy = "head"


@dataclass(frozen=True, slots=True)
class Closer:
    """Closes the calls of one tool and caller."""

    shared: Shared
    lines: ToolLines
    limit: OutputLimit = OutputLimit()
    reasons: frozenset[str] | None = None
    """Every reason the tool may give; None leaves it unchecked."""
    parse_output: bool = False
    """Fill `data` from the text, by source 001's rule."""
    staged: bool = False
    examine: Callable[[CallContext, ToolResult], None] | None = None
    """Looks at the ended call; under test alone."""
    remember: Callable[[CallContext, ToolResult], None] | None = None
    """Tells the guards with memory, which may add to the text."""
    notify: Callable[[CallContext, Outcome, bytes], None] | None = None
    """Tells whoever wants to know, behind the call's back."""

    def close(self, ctx: CallContext) -> ToolResult:
        """End *ctx*: exactly one `after` is written, whatever happened before."""
        if not ctx.claim():  # the toolbox was closed meanwhile, and the call with it
            ctx.drop_result()
            ctx.fail("tool", Reason.CANCELLED, "The toolbox was closed before the call ended.")
            return self._result(ctx)
        if ctx.children:
            _close_children(ctx.children)
        if self.staged or ctx.reason is not None:
            self._note_faults(ctx)
        try:
            result = self._result(ctx)
            if self.remember is not None and not ctx.dry:
                self.remember(ctx, result)
            second_half = self._second_half(ctx, result)
        except Exception as error:  # noqa: BLE001 - a tool may record anything; its call must close all the same
            ctx.drop_result()
            ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The result cannot be represented: {type(error).__name__}.")
            result = self._result(ctx)
            second_half = self._second_half(ctx, result)
        self._write(ctx, second_half)
        if ctx.audit_lost and ctx.outcome != "denied":
            result = _audit_lost(result)
        if ctx.audit_lost and ctx.parent is not None:
            ctx.parent.audit_lost = True
        if self.notify is not None and not ctx.dry:
            self.notify(ctx, result.outcome, second_half)
        if self.examine is not None:
            self.examine(ctx, result)
        return result

    def _write(self, ctx: CallContext, second_half: bytes) -> None:
        try:
            taken = ctx.dry or self.shared.emitter.emit(second_half)
        finally:
            self.shared.live.pop(ctx.live_key, None)
        if self.shared.required and not taken and ctx.first_half_written:
            ctx.audit_lost = True

    def _note_faults(self, ctx: CallContext) -> None:
        """Whether the tool kept to its own spec; a reason that is no word is made one."""
        if ctx.reason is not None and not REASON.fullmatch(ctx.reason):
            ctx.fault("malformed_reason")
            ctx.reason = shown_reason(ctx.reason)
        if ctx.stage == "tool" and self.reasons is not None and ctx.reason not in self.reasons:
            ctx.fault("undeclared_reason")
        if KNOWN_OUTCOMES.get(ctx.reason or "", ctx.outcome) != ctx.outcome:
            ctx.fault("outcome_mismatch")
        if self.staged and ctx.outcome == "ok" and not ctx.passed:
            ctx.fault("mark_missing")

    def _result(self, ctx: CallContext) -> ToolResult:
        text, masked_in_text = _scrubbed(ctx.text)
        redactions = masked_in_text
        data, message, user_text = ctx.data, ctx.message, ctx.user_text
        if self.parse_output and ctx.outcome == "ok" and data is None:
            data = structured(text)
        if data is not None:
            raw, found = scrub_json(orjson.dumps(data))  # raises for what is no JSON
            redactions += found
            data = orjson.loads(raw)  # JSON types only, and nothing that the tool still holds
            if masked_in_text:
                data, found = _without_echoes(data, ctx.text)
                redactions += found
        if message is not None:
            message = text if message == ctx.text else _scrubbed(message)[0]
        if user_text is not None:
            user_text, found = _scrubbed(user_text)
            redactions += found
        truncated = ctx.truncated
        if self.limit.max_chars is not None:
            text, is_cut = self._cut(text, ctx)
            truncated = truncated or is_cut
            message = message and self._cut(message, ctx)[0]
            user_text = user_text and self._cut(user_text, ctx)[0]
        hint = shown_text(ctx.hint)
        if hint and ctx.outcome != "ok":
            text = self._with_hint(text, hint)
        return ToolResult(
            ctx.outcome or "error",
            text,
            user_text,
            data,
            ctx.reason,
            message,
            hint,
            bool(ctx.retryable) or (ctx.reason in RETRYABLE and not ctx.is_final),
            ctx.exit_code if isinstance(ctx.exit_code, int) else None,
            truncated,
            redactions,
            ctx.call_id,
            round((monotonic() - ctx.started) * 1000, 2),
        )

    def _cut(self, text: str, ctx: CallContext) -> tuple[str, bool]:
        """Hold *text* to the limit; the first line of a denial, which names its reason, stays whole."""
        limit = self.limit.max_chars or 0
        if ctx.outcome == "denied" and text == ctx.text:
            limit = max(limit, text.find("\n") if "\n" in text else len(text))
        return truncate(text, limit, self.limit.strategy) if len(text) > limit else (text, False)

    def _with_hint(self, text: str, hint: str) -> str:
        """*text* with what the model can do instead, where the limit leaves room for it."""
        line = f"\nHint: {hint}"
        limit = self.limit.max_chars
        # A result that another call has given, and that the tool hands on, has it already.
        has_room = limit is None or len(text) + len(line) <= limit
        return text + line if has_room and not text.endswith(line) else text

    def _second_half(self, ctx: CallContext, result: ToolResult) -> bytes:
        lines = self.lines
        unusual = result.truncated or result.redactions or ctx.fields or ctx.faults or ctx.decision.rule
        if result.reason is None and not unusual:
            return lines.after_ok(ctx.tail, result.elapsed_ms, len(result.text))
        # In the order of the events: each line takes its number when it is made.
        if result.outcome == "denied":
            before = b"" if ctx.first_half_written else lines.first_half(ctx.tail)
            before += lines.deny(ctx.tail, verdict_fields(result.reason or "", result.message, ctx.rule, ctx.stage))
        else:
            before = b"" if ctx.first_half_written else lines.before(ctx.tail)
        return before + lines.after(ctx.tail, result.outcome, _after_fields(ctx, result))


def _after_fields(ctx: CallContext, result: ToolResult) -> dict[str, Any]:
    # Of a call that went well, the rule that permitted it is of interest.
    permitted = result.outcome == "ok" and ctx.decision.rule is not None
    fields = {
        "reason": result.reason,
        "message": cut(result.message),
        "rule": rule_field(ctx.decision.rule if permitted else ctx.rule),
        "stage": ctx.decision.stage if permitted else ctx.stage,
        "elapsed_ms": result.elapsed_ms,
        "output_chars": len(result.text),
        "truncated": result.truncated,
        "redactions": result.redactions,
        "fields": _extra(ctx.fields),
    }
    if ctx.faults:
        fields["fault"] = list(ctx.faults)
    if ctx.abandoned:
        fields["abandoned"] = True
    return fields


def _close_children(children: list[CallContext]) -> None:
    for child in children:
        if not child.closed and child.close_child is not None:
            child.fault("not_ended")
            child.drop_result()
            child.fail("tool", Reason.UNEXPECTED_FAILURE, "The tool never ended this call.")
            child.close_child(child)


def shown_text(text: str | None) -> str | None:
    """A message or a hint as it leaves the gate."""
    return None if text is None else _scrubbed(text)[0]


def _without_echoes(data: Any, text: str) -> tuple[Any, int]:
    """*data* without the lines of what is masked in *text*."""
    from toolcharter.guards.secrets.echoes import echoes, mask_echoes  # noqa: PLC0415 - only where something is masked

    return mask_echoes(data, echoes(str(text)))


def _scrubbed(text: str) -> tuple[str, int]:
    if type(text) is not str:
        text = str.__str__(str(text))  # a subclass may lie about its length
    # A lone surrogate is what no event line and no host can carry.
    data = text.encode("utf-8", "backslashreplace")
    if find(data):
        return scrub_text(data.decode())
    return (text if len(text) == len(data) else data.decode()), 0


def shown_reason(reason: str | None) -> str | None:
    """A reason as it leaves the gate: a word, made of what is left of a sentence if need be; a secret is not."""
    if reason is None or REASON.fullmatch(reason):
        return reason
    word = re.sub(r"[^a-z0-9]+", "_", _scrubbed(reason)[0].lower()).strip("_")
    return f"malformed_{word}"[:64]


def _extra(fields: Mapping[str, Any]) -> Any:
    """A tool's extra fields, scrubbed and cut; what is no JSON is shown as text."""
    if not fields:
        return {}
    try:
        plain = orjson.loads(orjson.dumps(dict(fields), default=repr, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, RecursionError):  # a surrogate, a huge integer, a cycle
        plain = {"unencodable": ascii(list(fields))}
    shown = cut(scrub_value(plain)[0])
    size = len(orjson.dumps(shown))
    return shown if size <= MAX_SHOWN_BYTES else {"omitted_bytes": size}


def _audit_lost(result: ToolResult) -> ToolResult:
    message = "The call ran, but its closing events could not be written; its result is withheld."
    return ToolResult(
        "error",
        f"ERROR: {Reason.AUDIT_LOST}\n{message}",
        reason=Reason.AUDIT_LOST,
        message=message,
        call_id=result.call_id,
        elapsed_ms=result.elapsed_ms,
    )
