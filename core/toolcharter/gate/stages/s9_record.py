"""Stage 9: the events of a call, before its body and at its end, and the notifications about it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from toolcharter._lazy import lazy
from toolcharter.api.call import Outcome, ToolResult
from toolcharter.api.reasons import KNOWN_OUTCOMES, Reason
from toolcharter.api.tool import REASON
from toolcharter.events.emitter import Emitter
from toolcharter.events.lines import ToolLines, cut, rule_field, verdict_fields
from toolcharter.gate.call import CallContext, to_json_values
from toolcharter.gate.redact import MAX_SHOWN_BYTES, as_reason_word
from toolcharter.gate.state import CallRegistry
from toolcharter.guards.secrets import scrub_value
from toolcharter.policy.matching import Matcher
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.settings import Notify

if TYPE_CHECKING:
    from toolcharter.events import notify
else:
    notify = lazy("toolcharter.events.notify")


class CallRecorder(NamedTuple):
    """Records the calls of one tool and caller."""

    registry: CallRegistry
    emitter: Emitter
    lines: ToolLines
    build: Callable[[CallContext], ToolResult]
    """Stage 8."""
    required: bool = False
    """Whether the profile refuses calls whose events cannot be written."""
    reasons: frozenset[str] | None = None
    """Every reason that the tool may give; None leaves reasons unchecked."""
    staged: bool = False
    withdraw: Callable[[CallContext], None] | None = None
    """Withdraws a question about the call that a person has not answered yet."""
    remember: Callable[[CallContext, ToolResult], None] | None = None
    """Notifies the session guards, which may add notes to the result's text."""
    notify: Callable[[CallContext, Outcome, bytes], None] | None = None
    """Queues notifications for the finished call. Never blocks it, never changes its result."""
    verify: Callable[[CallContext, ToolResult], None] | None = None
    """Verifies the ended call against the tool's spec; only in tests."""

    def begin(self, ctx: CallContext) -> None:
        """Write the first half of the events. Refuses the call if a required sink cannot be written."""
        self.registry.live[ctx.live_key] = ctx, self.interrupt
        ctx.first_half_written = True
        try:
            is_written = self.emitter.emit(self.lines.first_half(ctx.tail))
        except BaseException:
            self.interrupt(ctx)
            raise
        if not is_written and self.required:
            ctx.refuse("audit", Reason.AUDIT_UNAVAILABLE, "An event sink that the profile requires cannot be written.")

    def interrupt(self, ctx: CallContext) -> None:
        """End *ctx* as cancelled, because an interrupt or a cancellation passes through the gate."""
        if not ctx.closed:
            if self.withdraw is not None:
                self.withdraw(ctx)
            ctx.discard_result()
            ctx.fail("tool", Reason.CANCELLED, "The caller cancelled the call.")
            self.finish(ctx)

    def finish(self, ctx: CallContext) -> ToolResult:
        """End *ctx* and return its result. Writes exactly one event `tool.after`, whatever happened before."""
        if not ctx.try_finish():  # the toolbox was closed meanwhile, and the call with it
            ctx.discard_result()
            ctx.fail("tool", Reason.CANCELLED, "The toolbox was closed before the call ended.")
            return self.build(ctx)
        if ctx.children:
            _close_children(ctx.children)
        if self.staged or ctx.reason is not None:
            self._record_faults(ctx)
        try:
            result = self.build(ctx)
            if self.remember is not None and not ctx.dry:
                self.remember(ctx, result)
            second_half = self._second_half(ctx, result)
        except Exception as error:  # noqa: BLE001 - a tool may record anything; its call must close all the same
            ctx.discard_result()
            ctx.fail("tool", Reason.UNEXPECTED_FAILURE, f"The result cannot be represented: {type(error).__name__}.")
            result = self.build(ctx)
            second_half = self._second_half(ctx, result)
        try:
            is_written = ctx.dry or self.emitter.emit(second_half)
        finally:
            self.registry.live.pop(ctx.live_key, None)
        if self.required and not is_written and ctx.first_half_written:
            ctx.audit_lost = True
        if ctx.audit_lost:
            result = _withhold_result(ctx, result)
        if self.notify is not None and not ctx.dry:
            self.notify(ctx, result.outcome, second_half)
        if self.verify is not None:
            self.verify(ctx, result)
        return result

    def _record_faults(self, ctx: CallContext) -> None:
        """Record where the tool has broken its own spec, and make a malformed reason a word."""
        if ctx.reason is not None and not REASON.fullmatch(ctx.reason):
            ctx.add_fault("malformed_reason")
            ctx.reason = as_reason_word(ctx.reason)
        if ctx.stage == "tool" and self.reasons is not None and ctx.reason not in self.reasons:
            ctx.add_fault("undeclared_reason")
        if KNOWN_OUTCOMES.get(ctx.reason or "", ctx.outcome) != ctx.outcome:
            ctx.add_fault("outcome_mismatch")
        if self.staged and ctx.outcome == "ok" and not ctx.passed:
            ctx.add_fault("mark_missing")

    def _second_half(self, ctx: CallContext, result: ToolResult) -> bytes:
        lines = self.lines
        unusual = result.truncated or result.redactions or ctx.fields or ctx.faults
        if result.reason is None and not (unusual or ctx.decision.rule):
            return lines.after_ok(ctx.tail, result.elapsed_ms, len(result.text))
        # Keep the order of the events: each line gets its number when it is made.
        if result.outcome == "denied":
            before = b"" if ctx.first_half_written else lines.first_half(ctx.tail)
            verdict = verdict_fields(result.reason or "", result.message, ctx.rule, ctx.stage)
            before += lines.deny(ctx.tail, verdict)
            if not (unusual or ctx.abandoned):
                return before + lines.after_denied(ctx.tail, verdict, result.elapsed_ms, len(result.text))
        else:
            before = b"" if ctx.first_half_written else lines.before(ctx.tail)
        return before + lines.after(ctx.tail, result.outcome, _after_fields(ctx, result))


def _after_fields(ctx: CallContext, result: ToolResult) -> dict[str, Any]:
    # For a call that succeeded, report the rule that permitted it.
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
        "fields": _redact_fields(ctx.fields),
    }
    if ctx.faults:
        fields["fault"] = list(ctx.faults)
    if ctx.abandoned:
        fields["abandoned"] = True
    return fields


def _close_children(children: list[CallContext]) -> None:
    for child in children:
        if not child.closed and child.close_child is not None:
            child.add_fault("not_ended")
            child.discard_result()
            child.fail("tool", Reason.UNEXPECTED_FAILURE, "The tool never ended this call.")
            child.close_child(child)


def _redact_fields(fields: Mapping[str, Any]) -> Any:
    """Return a tool's extra fields, scrubbed and truncated. Values that are no JSON become text."""
    if not fields:
        return {}
    try:
        plain = orjson.loads(orjson.dumps(dict(fields), default=repr, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, RecursionError):  # a surrogate, a huge integer, a cycle
        plain = {"unencodable": ascii(list(fields))}
    shown = cut(scrub_value(plain)[0])
    size = len(orjson.dumps(shown))
    return shown if size <= MAX_SHOWN_BYTES else {"omitted_bytes": size}


def _withhold_result(ctx: CallContext, result: ToolResult) -> ToolResult:
    """Withhold *result*, because a required sink has lost events of *ctx*. A denial is returned unchanged."""
    if ctx.parent is not None:
        ctx.parent.audit_lost = True
    if ctx.outcome == "denied":
        return result
    message = "The call ran, but its closing events could not be written; its result is withheld."
    return ToolResult(
        "error",
        f"ERROR: {Reason.AUDIT_LOST}\n{message}",
        reason=Reason.AUDIT_LOST,
        message=message,
        call_id=result.call_id,
        elapsed_ms=result.elapsed_ms,
    )


def make_notify_callback(
    notifier: "notify.Notifier", facts: ToolFacts
) -> Callable[[CallContext, Outcome, bytes], None]:
    """Return a function of a call, its outcome and its closing lines, which queues the call's notifications."""
    matchers = {entry: tuple(map(Matcher, entry.match)) for entry in notifier.entries}

    def queue(ctx: CallContext, outcome: Outcome, lines: bytes) -> None:
        subject: RuleInput | None = None
        is_unparsed = ctx.stage == "floor" and not ctx.commands

        def matching_rule(entry: Notify) -> str | None:
            nonlocal subject
            # Made in here, where the notifier handles an exception: arguments without a JSON form are reported
            # unmatched.
            judged = subject = subject or RuleInput(ctx.action, to_json_values(ctx.values), ctx.commands)
            found = (matcher.rule.text for matcher in matchers[entry] if matcher.denies(facts, judged))
            # A line that was not understood may be one that a notification's rule would match.
            is_about_commands = is_unparsed and any(matcher.rule.prefix == "bash" for matcher in matchers[entry])
            return next(found, notify.NOT_JUDGED if is_about_commands else None)

        found = notifier.pending_for(outcome, matching_rule)
        if found:
            fields: dict[str, Any] = orjson.loads(lines.rstrip(b"\n").rpartition(b"\n")[2])
            for pending in found:
                notifier.offer(pending, fields)

    return queue
