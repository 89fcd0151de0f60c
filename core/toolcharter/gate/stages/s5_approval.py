"""Stage 5: a call that needs a person's approval waits here for the answer."""

import threading
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeGuard

from toolcharter.api.approval import ApprovalRequest
from toolcharter.api.call import Ask, Decision, RuleRef
from toolcharter.api.command import DiskPreconditions
from toolcharter.api.reasons import CORE_REASONS, HINTS, Reason
from toolcharter.errors import ConfigurationError, Denied
from toolcharter.events.contract import APPROVAL_DECISION, APPROVAL_REQUEST
from toolcharter.gate.approvals.always_offered import NOT_STORABLE, why_not_offered
from toolcharter.gate.approvals.escape import MaskHidesCode, ShownCall, one_line, shown_call
from toolcharter.gate.approvals.ledger import ApprovalScope, AskedCall, Ledger, arguments_digest, call_digest
from toolcharter.gate.approvals.prompt import ApproverPrompt, Verdict
from toolcharter.gate.approvals.saved import Binding, SavedApproval, format_time, load_valid, save_approval
from toolcharter.gate.call import CallContext, to_json_values
from toolcharter.gate.redact import as_reason_word, redact_text
from toolcharter.guards.state_folder import state_path
from toolcharter.profile.settings import Approvals


class _SavedSnapshot(NamedTuple):
    """The saved approvals, as last read. One value, so that threads never see a mixture of two versions of the file."""

    state: object = None
    approvals: tuple[SavedApproval, ...] = ()


_MASKED_HINT = (
    "Send the call without the secret: let the program read it from an environment variable, or from a file that the "
    "user has made."
)
_DRY_RUN_S = 60.0
"""An approval can be used until this long after the answer's deadline, at most: time for the dry run, in seconds."""


class _Case(NamedTuple):
    """One call that waits for a person's answer."""

    request: ApprovalRequest
    token: str
    expires: str
    """The deadline of the answer: a UTC date and time."""
    shows: str
    """The call in one line."""
    dry_outcome: object
    """The outcome of the dry run before the question."""
    asked_at: float


class ApprovalService:
    """Asks people about the calls of one toolbox, and applies saved approvals."""

    def __init__(
        self,
        scope: ApprovalScope,
        emit: Callable[[str, bytes, Mapping[str, Any]], bool],
        *,
        disk_objection: Callable[[DiskPreconditions], Denied | None],
        prompt: ApproverPrompt,
        settings: Approvals,
        environ: Mapping[str, str],
    ) -> None:
        """Prepare the service; asks no person yet.

        Args:
            scope: What approvals of this toolbox are bound to.
            emit: Writes an event, given its name, the call's base fields and its own fields. False refuses the call.
            disk_objection: Returns why commands would not do on this disk what their text says; None if they would.
            prompt: Reaches the approver.
            settings: The profile's section `approvals`.
            environ: The environment variables, which determine the folder of saved approvals.
        """
        self._scope = scope
        self._emit_line = emit
        self._disk_objection = disk_objection
        self._prompt = prompt
        self._settings = settings
        self._ledger = Ledger()
        self._folder = state_path("approvals", environ) if settings.always else None
        self._cases: dict[int, _Case] = {}
        """The calls that wait for an answer now, by their `live_key`."""
        self._emitting = threading.RLock()
        """Held while an event is written, so that the event of a cancellation comes neither too early nor twice."""
        self._saved = _SavedSnapshot()

    def refresh(self) -> None:
        """Read the saved approvals, if the file has changed since it was last read.

        Raises:
            ConfigurationError: The file cannot be read, or another user could have written it.
        """
        if self._folder is None:
            return
        state = _file_state(self._folder / f"{self._scope.profile}.yaml")
        if state != self._saved.state:
            found = load_valid(self._folder, self._scope.profile, self._scope.workspace, _now())
            self._saved = _SavedSnapshot(state, found)

    def _saved_for_call(self, asked: AskedCall, ctx: CallContext) -> list[tuple[SavedApproval, list[str]]]:
        """Return the saved approvals of the same call, each with the reasons why it is no longer valid."""
        try:
            self.refresh()
        except ConfigurationError:
            self._saved = _SavedSnapshot()
        found = self._saved.approvals
        if not found:
            return []
        bound, now = self._binding(asked, ctx), _now()
        given = (kept for kept in found if kept.bound.call == bound.call and now < kept.until)
        return [(kept, list(self._changes_since(kept, bound))) for kept in given]

    def _binding(self, asked: AskedCall, ctx: CallContext) -> Binding:
        tool, caller = asked.tool, ctx.caller
        return Binding(
            tool.spec.name,
            arguments_digest(to_json_values(ctx.values), ctx.commands),
            str(self._scope.workspace),
            self._scope.digest,
            self._scope.runners.name_for(bounded=tool.facts.is_bounded),
            caller.agent,
            caller.user,
            tool.spec.fingerprint,
            caller.tenant or None,
        )

    def _changes_since(self, kept: SavedApproval, now: Binding) -> Iterator[str]:
        """Yield the reasons why an approval of the same call is no longer valid, as clauses."""
        then = kept.bound
        if then.profile_digest != now.profile_digest:
            yield "the profile has changed"
        if then.runner != now.runner:
            yield f"programs run on {now.runner or 'nothing'!r} instead of {then.runner or 'nothing'!r}"
        if then.code != now.code:
            yield "the tool's code has changed"
        if not self._prompt.may_answer(kept.by, now.agent):
            yield f"{kept.by or 'that person'} may no longer approve it"

    def apply_saved(self, asked: AskedCall, ctx: CallContext) -> bool:
        """Apply a saved approval to *ctx*: it allows the call, or the call is refused because the disk has changed.

        A question of a check never has a saved approval.

        Returns:
            Whether a saved approval was applied.
        """
        if ctx.decision.outcome != "ask" or ctx.is_asked_by_check:
            return False
        held = ctx.values
        given = self._saved_for_call(asked, ctx) if _copy_arguments(ctx) else []
        for kept, changes in given:
            if not changes:
                ctx.decision = Decision("allow", "approval", rule=RuleRef(f"approval {kept.id}", kept.place))
                asked.confine(ctx)
                return True
        ctx.values = held  # the caller's own values: a change of them while a person is asked voids the approval
        return False

    def _why_asked_again(self, asked: AskedCall, ctx: CallContext) -> str | None:
        """Return why a person is asked again although the call has a saved approval; None if it has none."""
        given = [] if ctx.is_asked_by_check else self._saved_for_call(asked, ctx)
        if not given:
            return None
        last, changes = max(given, key=lambda one: one[0].at)
        if not changes:
            return None
        return f"Asked again: {' and '.join(changes)} since {last.by or 'a person'} approved it on {last.at:%Y-%m-%d}."

    async def request(self, asked: AskedCall, ctx: CallContext, ask: Ask) -> None:
        """Ask a person about *ctx*. Afterwards it is approved or ended."""
        if self.apply_saved(asked, ctx):
            return
        case = self._open_case(asked, ctx, ask, await asked.dry_run(ctx))
        if case is None:
            return
        verdict = await self._prompt.ask(case.request)
        if self._close_case(ctx, case, verdict):
            self._redeem_approval(asked, ctx, case, await asked.dry_run(ctx), verdict)

    def _open_case(self, asked: AskedCall, ctx: CallContext, ask: Ask, dry_call: CallContext | None) -> _Case | None:
        """Open a case, unless the tool's own checks refuse the call: then no person is asked."""
        if _is_refused(dry_call):
            ctx.copy_outcome(dry_call)
            return None
        timeout_s = self._settings.timeout_s
        try:
            request, shows = self._make_request(asked, ctx, ask, None if dry_call is None else dry_call.question)
        except (TypeError, ValueError) as error:
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, f"The call cannot be shown: {type(error).__name__}.")
            return None
        except MaskHidesCode as error:
            message = f"No person can be asked, because the question would not show what runs: {error}"
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, message, hint=_MASKED_HINT)
            return None
        now = monotonic()
        # Time for the answer, and for the dry run after it.
        token = self._ledger.open(request.digest, now + timeout_s + min(asked.tool.timeout_s, _DRY_RUN_S))
        expires = format_time(_now() + timedelta(seconds=timeout_s))
        case = _Case(request, token, expires, shows, _dry_run_outcome(dry_call), now)
        fields = {"reason": request.reason, "message": request.message, "always": request.always, "expires": expires}
        with self._emitting:
            if ctx.closed:
                return None
            self._cases[ctx.live_key] = case
            if self._emit(ctx, APPROVAL_REQUEST, fields):
                return case
            del self._cases[ctx.live_key]
            return None

    def _make_request(
        self, asked: AskedCall, ctx: CallContext, ask: Ask, of_file: Ask | None
    ) -> tuple[ApprovalRequest, str]:
        """Make the question, and the call in one line.

        *of_file* is the question of a virtual file that the call would change.

        Raises:
            MaskHidesCode: A mask would hide text that could be code.
        """
        spec = asked.tool.spec
        shown = shown_call(
            asked.tool.reader.without_defaults(ctx.values), ctx.commands, runs_arguments=spec.kind == "bash"
        )
        shows = one_line(shown.args)
        why_not = self._why_not_always(asked, ctx, shown, shows)
        until = None if why_not else format_time(_now() + timedelta(days=self._settings.keep_days))
        questions = dict.fromkeys(one.message for one in (ask, of_file) if one is not None)
        messages = (*map(redact_text, questions), self._why_asked_again(asked, ctx))
        return ApprovalRequest(
            tool=spec.name,
            action=redact_text(ctx.action),
            args=shown.args,
            commands=shown.commands,
            workspace=self._scope.workspace,
            profile=self._scope.profile,
            caller=ctx.caller,
            call_id=ctx.call_id,
            digest=self._call_digest(ctx),
            reason=as_reason_word(ask.reason) or "",
            message=" ".join(filter(None, messages)) or None,
            always=why_not is None,
            why_not_always=why_not,
            always_until=until,
            timeout_s=self._settings.timeout_s,
        ), shows

    def _why_not_always(self, asked: AskedCall, ctx: CallContext, shown: ShownCall, shows: str) -> str | None:
        """Return why "allow always" is not offered; None if it is."""
        if self._folder is None:
            return (
                "The profile does not offer it for any call."
                if not self._settings.always
                else "The user has no home folder."
            )
        if ctx.is_asked_by_check:
            return "It is not offered for the question of a check."
        if shown.is_masked:
            return NOT_STORABLE
        # The commands of `cli` and `custom` tools are part of the tool's own files, which the approval is bound to.
        commands = () if asked.tool.spec.kind in {"cli", "custom"} else ctx.commands
        subject, understood = asked.rule_input(ctx) if commands else (None, None)
        if subject is not None and subject.unsupported is not None:
            return f"No rule can cover the line: {subject.unsupported}"
        if understood is not None and understood.preconditions is not None:
            objection = self._disk_objection(understood.preconditions)
            if objection is not None:
                return f"It would not be valid: {objection.message}"
        return why_not_offered(shows, commands, self._scope.workspace)

    def _call_digest(self, ctx: CallContext) -> str:
        return call_digest(
            ctx.tool, to_json_values(ctx.values), self._scope.workspace, self._scope.digest, ctx.commands
        )

    def _close_case(self, ctx: CallContext, case: _Case, verdict: Verdict) -> bool:
        """Record the answer. Returns whether it allows the call."""
        if ctx.deadline != inf:
            ctx.deadline += monotonic() - case.asked_at  # the person's time does not count as the tool's
        with self._emitting:
            if self._cases.pop(ctx.live_key, None) is None:
                ctx.fail("approval", Reason.CANCELLED, "The toolbox was closed before the answer came.")
                return False
            if not self._record_decision(ctx, case, verdict):
                return False
        if verdict.outcome == "deny":
            reason = verdict.reason or Reason.APPROVAL_DENIED
            ctx.refuse(
                "approval", reason, verdict.message or CORE_REASONS[Reason(reason)].meaning, hint=HINTS.get(reason)
            )
            return False
        return True

    def _record_decision(self, ctx: CallContext, case: _Case, verdict: Verdict) -> bool:
        self._ledger.answer(case.token, verdict.outcome)
        fields = {
            "approver": redact_text(verdict.approver),
            "answer": verdict.answer or "none",
            "reason": verdict.reason,
            "message": redact_text(verdict.message),
            "expires": case.expires,
        }
        return self._emit(ctx, APPROVAL_DECISION, fields)

    def withdraw(self, ctx: CallContext) -> None:
        """Record that the caller of *ctx* no longer waits for an answer, if it did."""
        with self._emitting:
            case = self._cases.pop(ctx.live_key, None)
            if case is not None:
                self._record_decision(
                    ctx, case, Verdict("deny", Reason.CANCELLED, "The caller no longer waits for the answer.")
                )

    def close(self) -> None:
        """Release all calls that wait for an answer."""
        self._prompt.close()

    def _redeem_approval(
        self, asked: AskedCall, ctx: CallContext, case: _Case, dry_call: CallContext | None, verdict: Verdict
    ) -> None:
        """Redeem the approval. It is void if the call is not, or is no longer, the call that was approved."""
        if _is_refused(dry_call):
            ctx.copy_outcome(dry_call)
        elif (
            _dry_run_outcome(dry_call) != case.dry_outcome
            or not _copy_arguments(ctx)
            or not self._ledger.redeem(case.token, self._call_digest(ctx))
        ):
            message = "The call that would run now is not the call that was approved; the approval is void."
            ctx.refuse("approval", Reason.APPROVAL_DENIED, message)
        else:
            ctx.question = None if dry_call is None else dry_call.question
            if verdict.answer == "allow_always":
                self._save_approval(asked, ctx, case, verdict)

    def _save_approval(self, asked: AskedCall, ctx: CallContext, case: _Case, verdict: Verdict) -> None:
        now = _now()
        until = now + timedelta(days=self._settings.keep_days)
        if self._folder is None or not case.request.always:
            return
        bound, by = self._binding(asked, ctx), redact_text(verdict.approver)
        kept = SavedApproval(bound, case.shows, self._scope.profile, by, now, until)
        try:
            save_approval(self._folder, kept, self._scope.workspace)
        except ConfigurationError:
            ctx.add_fault("approval_not_kept")

    def _emit(self, ctx: CallContext, event: str, fields: Mapping[str, Any]) -> bool:
        """Write an event. If that fails and the profile requires it, refuse *ctx* and return False."""
        if not self._emit_line(event, ctx.tail, fields):
            ctx.refuse("audit", Reason.AUDIT_UNAVAILABLE, "An event sink that the profile requires cannot be written.")
            return False
        return True


def _copy_arguments(ctx: CallContext) -> bool:
    """Replace the arguments of *ctx* by a deep copy, so that the approved ones cannot change. False if that fails."""
    try:
        ctx.values = deepcopy(ctx.values)
    except Exception:  # noqa: BLE001 - a value of a plugin's own type may raise anything
        return False
    ctx.seen = None
    return True


def _file_state(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_refused(dry_call: CallContext | None) -> TypeGuard[CallContext]:
    """Whether the tool's own checks ended the call in the dry run."""
    return dry_call is not None and dry_call.outcome in {"denied", "error"} and not dry_call.passed


def _dry_run_outcome(dry_call: CallContext | None) -> object:
    return None if dry_call is None else (dry_call.passed, dry_call.outcome, dry_call.reason, dry_call.question)


def _now() -> datetime:
    return datetime.now(UTC)
