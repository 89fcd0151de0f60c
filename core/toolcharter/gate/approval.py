"""`Desk`: stage 5. A call that policy or a check lets nobody but a person permit waits here for its answer."""

import threading
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from toolcharter.errors import ConfigurationError
from toolcharter.events.contract import APPROVAL_DECISION, APPROVAL_REQUEST
from toolcharter.gate.approvals.asking import Asking, Verdict
from toolcharter.gate.approvals.binding import Ledger, digest_of
from toolcharter.gate.approvals.folder import state_folder
from toolcharter.gate.approvals.kept import Kept, keep, load, written
from toolcharter.gate.approvals.narrowest import Always, narrowest
from toolcharter.gate.arguments import as_json
from toolcharter.gate.closing import shown_reason, shown_text
from toolcharter.gate.context import CallContext
from toolcharter.guards.secrets import scrub_text, scrub_value
from toolcharter.policy.matching import Matcher
from toolcharter.profile.rules import Rule, parse_rule
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
    rules: tuple[tuple[Matcher, datetime, str | None], ...] = ()
    """Each with when it ends, and the fingerprint of the tool that it is for."""


_REHEARSAL_S = 60.0
"""How long after the answer an approval may still be used, at the longest."""


class _Case(NamedTuple):
    """One call that waits for a person."""

    request: ApprovalRequest
    token: str
    expires: str
    """When the answer must be there: a UTC date and time."""
    always: Always
    rehearsed: object
    """What the dry run said."""
    asked_at: float


class Desk:
    """Where the calls of one toolbox wait for people.

    Raises:
        ConfigurationError: The approvals that were kept cannot be read, or somebody else could have written them.
    """

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
        if shared.policy.may_ask:
            self._refresh()

    def _refresh(self) -> None:
        """Read the approvals that were kept, if the file is another than when it was last read."""
        if self._folder is None:
            return
        state = _state_of(self._folder / f"{self._shared.profile}.yaml")
        if state != self._kept.state:
            found = load(self._folder, self._shared.profile, self._shared.workspace, _now())
            self._kept = _Known(state, tuple((Matcher(rule_of(kept)), kept.until, kept.code) for kept in found))

    def kept_rule(self, passage: "Passage", ctx: CallContext) -> Rule | None:
        """The kept approval that covers the call; what was forgotten meanwhile covers nothing."""
        try:
            self._refresh()
        except ConfigurationError:
            self._kept = _Known()
        rules = self._kept.rules
        if not rules:
            return None
        now, subject = _now(), passage.subject(ctx)
        code = passage.tool.spec.fingerprint
        holding = (matcher for matcher, until, known in rules if now < until and known == code)
        return next((matcher.rule for matcher in holding if matcher.covers(passage.tool.facts, subject)), None)

    def settle(self, passage: "Passage", ctx: CallContext) -> bool:
        """Whether a kept approval answers; one that a check asks for is never kept."""
        if ctx.decision.outcome != "ask" or ctx.asked_by_check:
            return False
        held = ctx.values
        rule = self.kept_rule(passage, ctx) if _own(ctx) else None
        if rule is None:
            ctx.values = held  # whoever changes them while somebody is asked makes the approval void
            return False
        ctx.decision = Decision("allow", "approval", rule=RuleRef(rule.text, rule.source))
        return True

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
            request, always = self._request(passage, ctx, ask)
        except (TypeError, ValueError) as error:
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, f"The call cannot be shown: {type(error).__name__}.")
            return None
        now = monotonic()
        # Time to answer, and for the rehearsal behind it.
        token = self._ledger.open(request.digest, now + timeout_s + min(passage.tool.timeout_s, _REHEARSAL_S))
        expires = written(_now() + timedelta(seconds=timeout_s))
        case = _Case(request, token, expires, always, _said(rehearsed), now)
        told = {"reason": request.reason, "message": request.message, "always": request.always, "expires": expires}
        with self._telling:
            if ctx.closed:
                return None
            self._cases[ctx.live_key] = case
            if self._tell(ctx, APPROVAL_REQUEST, told):
                return case
            del self._cases[ctx.live_key]
            return None

    def _request(self, passage: "Passage", ctx: CallContext, ask: Ask) -> tuple[ApprovalRequest, Always]:
        shared, spec = self._shared, passage.tool.spec
        always = Always(why_not="It is not offered for what a check asks.")
        strange = passage.subject(ctx).strange if ctx.commands else None
        if strange is not None:
            always = Always(why_not=f"No rule can cover the line: {strange}")
        elif self._folder is not None and not ctx.asked_by_check:
            always = narrowest(
                spec.kind,
                spec.name,
                ctx.action,
                as_json(ctx.values),
                commands=ctx.commands,
                sources=passage.sources(ctx),
                arguments=passage.tool.reader.closed_names,
                workspace=shared.workspace,
            )
        args, digest = as_json(ctx.values), self._digest(ctx)
        until = None if always.text is None else written(_now() + timedelta(days=self._settings.keep_days))
        return ApprovalRequest(
            tool=spec.name,
            action=shown_text(ctx.action),
            args=scrub_value(dict(args))[0],
            commands=tuple(scrub_text(command)[0] for command in ctx.commands),
            workspace=shared.workspace,
            profile=shared.profile,
            caller=ctx.caller,
            call_id=ctx.call_id,
            digest=digest,
            reason=shown_reason(ask.reason) or "",
            message=shown_text(ask.message),
            always=always.text,
            always_until=until,
            timeout_s=self._settings.timeout_s,
        ), always

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
            self._keep(ctx, case, verdict, passage.tool.spec.fingerprint)

    def _keep(self, ctx: CallContext, case: _Case, verdict: Verdict, code: str | None) -> None:
        now = _now()
        until = now + timedelta(days=self._settings.keep_days)
        rule, workspace = case.always.rule, self._shared.workspace
        if self._folder is None or rule is None:
            return
        kept = Kept(rule, ctx.tool, str(workspace), self._shared.profile, shown_text(verdict.approver), now, until)
        kept = kept._replace(code=code)
        try:
            keep(self._folder, kept, workspace)
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


def rule_of(kept: Kept) -> Rule:
    """A kept approval as the rule that it is."""
    if isinstance(kept.rule, str):
        return parse_rule(kept.rule, kept.place or "approvals")
    return parse_rule(kept.rule["rule"], kept.place or "approvals", when=kept.rule.get("when"))


def _refuses(rehearsed: CallContext | None) -> TypeGuard[CallContext]:
    """Whether the tool's own checks have ended the call."""
    return rehearsed is not None and rehearsed.outcome in {"denied", "error"} and not rehearsed.passed


def _said(rehearsed: CallContext | None) -> object:
    return None if rehearsed is None else (rehearsed.passed, rehearsed.outcome, rehearsed.reason)


def _now() -> datetime:
    return datetime.now(UTC)
