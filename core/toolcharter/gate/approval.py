"""`Desk`: stage 5. A call that policy or a check lets nobody but a person permit waits here for its answer."""

import threading
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from toolcharter.errors import ConfigurationError
from toolcharter.events.contract import APPROVAL_DECISION, APPROVAL_REQUEST
from toolcharter.gate.approvals.asking import Asking, Verdict
from toolcharter.gate.approvals.binding import Ledger, digest_of, digest_of_arguments
from toolcharter.gate.approvals.folder import state_folder
from toolcharter.gate.approvals.keepable import NEVER_STORED, why_not_kept
from toolcharter.gate.approvals.kept import Binding, Kept, keep, load, written
from toolcharter.gate.approvals.masks import Hidden, ShownCall, shown_call
from toolcharter.gate.approvals.visible import one_line
from toolcharter.gate.arguments import as_json
from toolcharter.gate.closing import shown_reason, shown_text
from toolcharter.gate.context import CallContext
from toolcharter.profile.settings import Approvals
from toolcharter.spec.approval import ApprovalRequest, Approver
from toolcharter.spec.call import Ask, Decision, RuleRef
from toolcharter.spec.reasons import CORE_REASONS, HINTS, Reason

if TYPE_CHECKING:
    from toolcharter.gate.passage import Passage
    from toolcharter.gate.shared import Shared


class _Known(NamedTuple):
    """The approvals that were kept, as last read. In one piece: threads that read must not mix two files."""

    state: object = None
    approvals: tuple[Kept, ...] = ()


_SEND_IT_WITHOUT = (
    "Send the call without the secret: let the program read it from an environment variable, or from a file that the "
    "user has made."
)
_REHEARSAL_S = 60.0
"""How long after the answer an approval may still be used, at the longest."""


class _Case(NamedTuple):
    """One call that waits for a person."""

    request: ApprovalRequest
    token: str
    expires: str
    """When the answer must be there: a UTC date and time."""
    shows: str
    """The call in one line."""
    rehearsed: object
    """What the dry run said."""
    asked_at: float


class Desk:
    """Where the calls of one toolbox wait for people."""

    def __init__(
        self, shared: "Shared", approver: Approver | None, settings: Approvals, environ: Mapping[str, str]
    ) -> None:
        self._shared = shared
        self._settings = settings
        self._asking = Asking(approver, settings, shared.loop)
        self._ledger = Ledger()
        self._folder = state_folder(environ) if settings.always else None
        self._cases: dict[int, _Case] = {}
        """Those that wait for an answer now, by the key of the call."""
        self._telling = threading.RLock()
        """Held while an event is written, so that one that says "cancelled" comes neither too early nor twice."""
        self._kept = _Known()

    def refresh(self) -> None:
        """Read the approvals that were kept, if the file is another than when it was last read.

        Raises:
            ConfigurationError: They cannot be read, or somebody else could have written them.
        """
        if self._folder is None:
            return
        state = _state_of(self._folder / f"{self._shared.profile}.yaml")
        if state != self._kept.state:
            found = load(self._folder, self._shared.profile, self._shared.workspace, _now())
            self._kept = _Known(state, found)

    def _given_before(self, passage: "Passage", ctx: CallContext) -> tuple[Kept, ...]:
        """The approvals that were kept for this very call, whether they still hold or not."""
        try:
            self.refresh()
        except ConfigurationError:
            self._kept = _Known()
        found = self._kept.approvals
        if not found:
            return ()
        call, now = self._binding(passage, ctx).call, _now()
        return tuple(kept for kept in found if kept.bound.call == call and now < kept.until)

    def _binding(self, passage: "Passage", ctx: CallContext) -> Binding:
        shared, tool, caller = self._shared, passage.tool, ctx.caller
        return Binding(
            tool.spec.name,
            digest_of_arguments(as_json(ctx.values), ctx.commands),
            str(shared.workspace),
            shared.digest,
            shared.runners.name_for(bounded=tool.facts.is_bounded),
            caller.agent,
            caller.user,
            tool.spec.fingerprint,
        )

    def _changes_since(self, kept: Kept, now: Binding) -> Iterator[str]:
        """Why an approval of the same call does not hold any more, as the ends of a sentence."""
        then = kept.bound
        if then.profile_digest != now.profile_digest:
            yield "the profile has changed"
        if then.runner != now.runner:
            yield f"programs run on {now.runner or 'nothing'!r} instead of {then.runner or 'nothing'!r}"
        if then.code != now.code:
            yield "the tool's code has changed"
        if not self._asking.may_answer(kept.by, now.agent):
            yield f"{kept.by or 'who it was'} may no longer agree"

    def settle(self, passage: "Passage", ctx: CallContext) -> bool:
        """Whether a kept approval decides: it allows the call, or the world is not what it was given for.

        One that a check asks for is never kept.
        """
        if ctx.decision.outcome != "ask" or ctx.asked_by_check:
            return False
        held = ctx.values
        given = self._given_before(passage, ctx) if _own(ctx) else ()
        for kept in given:
            if not any(self._changes_since(kept, self._binding(passage, ctx))):
                ctx.decision = Decision("allow", "approval", rule=RuleRef(f"approval {kept.id}", kept.place))
                passage.look(ctx)
                return True
        ctx.values = held  # a change of them while a person is being asked makes the approval void
        return False

    def _why_again(self, passage: "Passage", ctx: CallContext) -> str | None:
        """Why a person who has agreed for good is asked again."""
        given = () if ctx.asked_by_check else self._given_before(passage, ctx)
        if not given:
            return None
        last = max(given, key=lambda kept: kept.at)
        changes = " and ".join(self._changes_since(last, self._binding(passage, ctx)))
        return (
            f"Asked again: {changes} since {last.by or 'somebody'} agreed on {last.at:%Y-%m-%d}." if changes else None
        )

    def seek(self, passage: "Passage", ctx: CallContext, ask: Ask) -> None:
        """Ask for *ctx* from synchronous code; it ends, or has its approval."""
        from toolcharter.gate.rehearsal import rehearse  # noqa: PLC0415 - imports this module's users

        if self.settle(passage, ctx):
            return
        case = self._open(passage, ctx, ask, rehearse(passage, ctx))
        if case is None:
            return
        verdict = self._asking.ask(case.request)
        if self._close(ctx, case, verdict):
            self._redeem(passage, ctx, case, rehearse(passage, ctx), verdict)

    async def aseek(self, passage: "Passage", ctx: CallContext, ask: Ask) -> None:
        """The same from asynchronous code."""
        from toolcharter.gate.rehearsal import arehearse  # noqa: PLC0415 - imports this module's users

        if self.settle(passage, ctx):
            return
        case = self._open(passage, ctx, ask, await arehearse(passage, ctx))
        if case is None:
            return
        verdict = await self._asking.aask(case.request)
        if self._close(ctx, case, verdict):
            self._redeem(passage, ctx, case, await arehearse(passage, ctx), verdict)

    def _open(self, passage: "Passage", ctx: CallContext, ask: Ask, rehearsed: CallContext | None) -> _Case | None:
        """Begin to wait, unless the tool's own checks refuse the call already: then nobody is bothered."""
        if _refuses(rehearsed):
            ctx.follow(rehearsed)
            return None
        timeout_s = self._settings.timeout_s
        try:
            request, shows = self._request(passage, ctx, ask)
        except (TypeError, ValueError) as error:
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, f"The call cannot be shown: {type(error).__name__}.")
            return None
        except Hidden as error:
            message = f"Nobody can be asked, because they would not see what runs: {error}"
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, message, hint=_SEND_IT_WITHOUT)
            return None
        now = monotonic()
        # Time to answer, and for the rehearsal behind it.
        token = self._ledger.open(request.digest, now + timeout_s + min(passage.tool.timeout_s, _REHEARSAL_S))
        expires = written(_now() + timedelta(seconds=timeout_s))
        case = _Case(request, token, expires, shows, _said(rehearsed), now)
        told = {"reason": request.reason, "message": request.message, "always": request.always, "expires": expires}
        with self._telling:
            if ctx.closed:
                return None
            self._cases[ctx.live_key] = case
            if self._tell(ctx, APPROVAL_REQUEST, told):
                return case
            del self._cases[ctx.live_key]
            return None

    def _request(self, passage: "Passage", ctx: CallContext, ask: Ask) -> tuple[ApprovalRequest, str]:
        """The question, and the call in one line.

        Raises:
            Hidden: A mask would hide what could be code.
        """
        shared, spec = self._shared, passage.tool.spec
        shown = shown_call(passage.tool.reader.given(ctx.values), ctx.commands, runs_arguments=spec.kind == "bash")
        shows = one_line(shown.args)
        why_not = self._why_not_always(passage, ctx, shown, shows)
        until = None if why_not else written(_now() + timedelta(days=self._settings.keep_days))
        messages = (shown_text(ask.message), self._why_again(passage, ctx))
        return ApprovalRequest(
            tool=spec.name,
            action=shown_text(ctx.action),
            args=shown.args,
            commands=shown.commands,
            workspace=shared.workspace,
            profile=shared.profile,
            caller=ctx.caller,
            call_id=ctx.call_id,
            digest=self._digest(ctx),
            reason=shown_reason(ask.reason) or "",
            message=" ".join(filter(None, messages)) or None,
            always=why_not is None,
            why_not_always=why_not,
            always_until=until,
            timeout_s=self._settings.timeout_s,
        ), shows

    def _why_not_always(self, passage: "Passage", ctx: CallContext, shown: ShownCall, shows: str) -> str | None:
        """Why "allow always" is not offered; None if it is."""
        if self._folder is None:
            return "The profile offers it for no call." if not self._settings.always else "The user has no home folder."
        if ctx.asked_by_check:
            return "It is not offered for what a check asks."
        if shown.is_masked:
            return NEVER_STORED
        # What a tool of another kind runs is bound with the tool's own files.
        commands = () if passage.tool.spec.kind in {"cli", "custom"} else ctx.commands
        subject, understood = passage.seen_by_policy(ctx) if commands else (None, None)
        if subject is not None and subject.strange is not None:
            return f"No rule can cover the line: {subject.strange}"
        if understood is not None and understood.world is not None:
            objection = self._shared.lookout.objection(understood.world)
            if objection is not None:
                return f"It would not hold: {objection.message}"
        return why_not_kept(shows, commands, self._shared.workspace)

    def _digest(self, ctx: CallContext) -> str:
        return digest_of(ctx.tool, as_json(ctx.values), self._shared.workspace, self._shared.digest, ctx.commands)

    def _close(self, ctx: CallContext, case: _Case, verdict: Verdict) -> bool:
        """Record the answer; whether it allows the call."""
        if ctx.deadline != inf:
            ctx.deadline += monotonic() - case.asked_at  # the time of people is not the tool's
        with self._telling:
            if self._cases.pop(ctx.live_key, None) is None:
                ctx.fail("approval", Reason.CANCELLED, "The toolbox was closed before somebody had answered.")
                return False
            if not self._decide(ctx, case, verdict):
                return False
        if verdict.outcome == "deny":
            reason = verdict.reason or Reason.APPROVAL_DENIED
            ctx.refuse(
                "approval", reason, verdict.message or CORE_REASONS[Reason(reason)].meaning, hint=HINTS.get(reason)
            )
            return False
        return True

    def _decide(self, ctx: CallContext, case: _Case, verdict: Verdict) -> bool:
        self._ledger.answer(case.token, verdict.outcome)
        told = {
            "approver": shown_text(verdict.approver),
            "answer": verdict.answer or "none",
            "reason": verdict.reason,
            "message": shown_text(verdict.message),
            "expires": case.expires,
        }
        return self._tell(ctx, APPROVAL_DECISION, told)

    def withdraw(self, ctx: CallContext) -> None:
        """Record that nobody waits any more for the answer to *ctx*, if one is waited for."""
        with self._telling:
            case = self._cases.pop(ctx.live_key, None)
            if case is not None:
                self._decide(ctx, case, Verdict("deny", Reason.CANCELLED, "Nobody waits for the answer any more."))

    def close(self) -> None:
        """Let everybody go who waits for an answer."""
        self._asking.close()

    def _redeem(
        self, passage: "Passage", ctx: CallContext, case: _Case, rehearsed: CallContext | None, verdict: Verdict
    ) -> None:
        """Use the approval up; it is void for a call that is not, or no longer, what was approved."""
        if _refuses(rehearsed):
            ctx.follow(rehearsed)
        elif (
            _said(rehearsed) != case.rehearsed
            or not _own(ctx)
            or not self._ledger.redeem(case.token, self._digest(ctx))
        ):
            message = "What was approved is not what would run now; the approval is void."
            ctx.refuse("approval", Reason.APPROVAL_DENIED, message)
        elif verdict.answer == "allow_always":
            self._keep(passage, ctx, case, verdict)

    def _keep(self, passage: "Passage", ctx: CallContext, case: _Case, verdict: Verdict) -> None:
        now = _now()
        until = now + timedelta(days=self._settings.keep_days)
        if self._folder is None or not case.request.always:
            return
        bound, by = self._binding(passage, ctx), shown_text(verdict.approver)
        kept = Kept(bound, case.shows, self._shared.profile, by, now, until)
        try:
            keep(self._folder, kept, self._shared.workspace)
        except ConfigurationError:
            ctx.fault("approval_not_kept")

    def _tell(self, ctx: CallContext, event: str, fields: Mapping[str, Any]) -> bool:
        """Write an event; false if the profile requires it and it cannot be written."""
        shared = self._shared
        taken = shared.emitter.emit(shared.lines.approval(event, ctx.tail, fields))
        if not taken and shared.required:
            ctx.refuse("audit", Reason.AUDIT_UNAVAILABLE, "An event sink that the profile requires cannot be written.")
            return False
        return True


def _own(ctx: CallContext) -> bool:
    """Give *ctx* arguments that nobody else holds: what is compared now is what its body gets. False if none can be."""
    try:
        ctx.values = deepcopy(ctx.values)
    except Exception:  # noqa: BLE001 - a value of a plugin's own type may raise anything
        return False
    ctx.seen = None
    return True


def _state_of(file: Path) -> object:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refuses(rehearsed: CallContext | None) -> TypeGuard[CallContext]:
    """Whether the tool's own checks have ended the call."""
    return rehearsed is not None and rehearsed.outcome in {"denied", "error"} and not rehearsed.passed


def _said(rehearsed: CallContext | None) -> object:
    return None if rehearsed is None else (rehearsed.passed, rehearsed.outcome, rehearsed.reason)


def _now() -> datetime:
    return datetime.now(UTC)
