"""`CallPipeline`: the nine stages of a call, in order.

```text
1, 2  s1_arguments   names and values as the schema wants them       invalid_arguments
3     s3_policy      rules, availability, capabilities, mode         denied_by_rule, not_in_allow, ...
4     s4_confine     commands against the disk                       not_understood, protected_path
9     s9_record      first half of the events                        audit_unavailable
4     s4_checks      plugins' checks                                 check_failed, their own
4     s4_session     guards that remember the session's calls        repeated_call, ...
5     s5_approval    a person's answer, where one is needed          approval_denied, approval_timeout, ...
6     s6_limits      rate limits                                     rate_limited
7     s7_body        the tool's function                             timed_out, tool_stuck, its own
8     s8_result      scrubbed, then cut
9     s9_record      second half of the events, notifications        audit_lost
```

Whatever happens in between, `s9_record` ends the call exactly once.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter._lazy import lazy
from toolcharter.api.call import Ask, Call, Caller, Deny, ToolResult
from toolcharter.api.reasons import Reason
from toolcharter.gate.call import MAX_NESTING, CallContext, begin_call
from toolcharter.gate.commands import CommandAnalysis
from toolcharter.gate.observe import verifier_for
from toolcharter.gate.redact import REDACTORS, redact_action
from toolcharter.gate.stages import s3_policy
from toolcharter.gate.stages.s1_arguments import InvalidArguments
from toolcharter.gate.stages.s4_checks import Checks
from toolcharter.gate.stages.s7_body import BodyStage
from toolcharter.gate.stages.s8_result import ResultBuilder
from toolcharter.gate.stages.s9_record import CallRecorder, make_notify_callback
from toolcharter.gate.state import ToolboxState
from toolcharter.gate.tool import BuiltTool
from toolcharter.gate.waiting import drive_async, drive_sync, refuse_inside_loop
from toolcharter.policy.rule_input import RuleInput

if TYPE_CHECKING:
    from toolcharter.gate.stages import s6_limits
    from toolcharter.gate.stages.s4_session import SessionStage
    from toolcharter.guards.rates.answers import RateKeys
else:
    s6_limits = lazy("toolcharter.gate.stages.s6_limits")


UNATTENDED_MESSAGE = "A person would have to approve the call, but none is asked about unattended work, such as a job."


class CallPipeline:
    """Runs the calls of one tool for one caller. Made on first use and cached by the toolbox's view."""

    def __init__(self, state: ToolboxState, tool: BuiltTool, caller: Caller) -> None:
        self.state = state
        self.tool = tool
        self.caller = caller
        spec = tool.spec
        self._name = spec.name
        self._is_async = tool.function.is_async
        self._is_isolated = spec.isolate
        self._calls = state.calls
        self._lines = state.lines.for_tool(spec.name, tool.plugin, caller)
        self._reader = tool.reader
        self._redact_args = REDACTORS[state.args_detail]
        view = state.policy.for_tool(tool.facts, state.availability.of(caller).get(spec.name))
        self.policy = s3_policy.PolicyStage(tool, view, state.tables, str(state.workspace))
        checks = tuple(check for check in state.checks if check.tool in {None, spec.name})
        self._checks = Checks(checks, state.loop) if checks else None
        self._session = state.session
        self.limits = None if state.rates is None else state.rates.bind(spec.name, caller.agent)
        """The rate limits that apply to the tool; None if there are none."""
        self._keys = None if self.limits is None else s6_limits.rate_keys_of(caller)
        self._may_ask = caller.delegation is None or caller.delegation.may_ask
        self._caller_session = "" if self._session is None else s6_limits.session_key_of(caller)
        self._has_routes = bool(state.routes)
        self.has_guards = self._checks is not None or self._session is not None or self._has_routes
        """Whether checks, session guards or virtual files apply between policy and the body, to every call."""
        self.verify = verifier_for(state.profile, spec, tool.function, tool.reasons, strict=state.strict)
        self._record = CallRecorder(
            state.calls,
            state.emitter,
            self._lines,
            ResultBuilder(tool.limit, parse_output=spec.kind in {"cli", "custom"}).build,
            required=state.required,
            reasons=tool.reasons,
            staged=spec.staged,
            withdraw=state.withdraw,
            remember=None if self._session is None else self._remember,
            notify=None if state.notifier is None else make_notify_callback(state.notifier, tool.facts),
            verify=self.verify,
        )
        self.body = BodyStage(tool, state.loop, self._record.interrupt)

    def call(self, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None) -> ToolResult:
        """Run one call, from synchronous code.

        Raises:
            SyncCallInLoop: The tool is asynchronous and an event loop runs in this thread.
            ToolboxClosed: The toolbox is closed.
        """
        if self._is_async:
            refuse_inside_loop(self._name)
            return self.state.loop.run(self.acall(args, call_id=call_id, parent_id=parent_id))
        ctx = self.run_decision_stages(args, call_id, parent_id)
        try:
            if ctx.outcome is None:
                if self.has_guards or ctx.decision.outcome == "ask":
                    drive_sync(self._run_guard_stages(ctx))
                elif self.limits is not None and (answer := self.limits.acquire(self.rate_keys(ctx))) is not None:
                    s6_limits.refuse_if_limited(ctx, answer)
            if ctx.outcome is None and not ctx.closed:
                if self._is_isolated:
                    ctx = drive_sync(self.body.run_isolated(ctx))
                else:
                    self.body.run(ctx)
        except BaseException:
            self._record.interrupt(ctx)
            raise
        return self._record.finish(ctx)

    async def acall(
        self, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """Run one call, from asynchronous code; it can be cancelled."""
        ctx = self.run_decision_stages(args, call_id, parent_id)
        try:
            if ctx.outcome is None:
                limits = self.limits
                if self.has_guards or ctx.decision.outcome == "ask" or (limits is not None and limits.waits):
                    await drive_async(self._run_guard_stages(ctx))
                elif limits is not None and (answer := limits.acquire(self.rate_keys(ctx))) is not None:
                    s6_limits.refuse_if_limited(ctx, answer)
            if ctx.outcome is None and not ctx.closed:
                if self._is_isolated:
                    ctx = await drive_async(self.body.run_isolated(ctx))
                elif self._is_async:
                    await self.body.arun(ctx)
                else:
                    self.body.run(ctx)  # inline: a thread hop costs 80 to 110 us
        except BaseException:
            self._record.interrupt(ctx)
            raise
        return self._record.finish(ctx)

    def run_decision_stages(
        self, args: Mapping[str, Any], call_id: str | None, parent_id: str | None, *, dry: bool = False
    ) -> CallContext:
        """Run stages 1 to 3, check commands on disk, and write the first half of the events.

        Returns:
            The call; its `outcome` is set if one of these stages has ended it.
        """
        if self._calls.closed:
            self._calls.require_open()
        ctx = begin_call(self._name, self.caller, self.tool.timeout_s, call_id, parent_id, dry=dry)
        action, raw = None, b"null"
        try:
            action, raw = self._reader.canonicalize(args)
            ctx.values = self._reader.validate(raw)
        except InvalidArguments as error:
            ctx.fail("arguments", Reason.INVALID_ARGUMENTS, str(error))
        except Exception as error:  # noqa: BLE001 - a foreign mapping or validator may raise anything
            ctx.fail("arguments", Reason.INVALID_ARGUMENTS, f"The arguments cannot be read: {type(error).__name__}.")
        else:
            action, preconditions = self.policy.judge(ctx, raw)
            if preconditions is not None:
                self.state.confinement.refuse_if_unconfined(ctx, preconditions)
        ctx.action = action
        shown = None if action is None else redact_action(action)
        ctx.tail = self._lines.tail(ctx.call_id, ctx.parent_id, shown, self._redact_args(raw))
        if ctx.outcome is None:
            if ctx.decision.outcome == "deny":
                s3_policy.refuse(ctx)
            elif ctx.nesting > MAX_NESTING:
                ctx.fail("guard", Reason.TOOL_ERROR, f"Calls are nested more than {MAX_NESTING} deep.")
            elif not dry:
                self._record.begin(ctx)
        return ctx

    async def _run_guard_stages(self, ctx: CallContext) -> None:
        """Run stages 4 to 6. Afterwards *ctx* may enter its body, or has ended."""
        question = await self.run_checks(ctx)
        if question is not None:
            await self.state.approval.request(self, ctx, question)
        if self._session is not None and ctx.outcome is None:
            found = self._session.cached_result(self.checked_call(ctx), self._session_key(ctx))
            if found is not None:
                self._use_cached_result(ctx, self._session, found)
                return
        if ctx.outcome is None and self.limits is not None:
            if self.limits.waits:
                await s6_limits.acquire(self.limits, ctx, self.rate_keys(ctx))
            elif (answer := self.limits.acquire(self.rate_keys(ctx))) is not None:
                s6_limits.refuse_if_limited(ctx, answer)
        if ctx.outcome is None and self._session is not None:
            self._session.count(ctx, self.checked_call(ctx), self._session_key(ctx))
            if ctx.outcome is None:
                self._session.enter(self.checked_call(ctx))

    def _use_cached_result(self, ctx: CallContext, session: "SessionStage", found: ToolResult) -> None:
        """End *ctx* with the cached result of an equal read. The session counts the call; rate limits do not."""
        session.count(ctx, self.checked_call(ctx), self._session_key(ctx))
        if ctx.outcome is None:
            ctx.adopt(found)
            ctx.passed = True
            ctx.fields = {**ctx.fields, "cached": True}

    async def run_checks(self, ctx: CallContext) -> Ask | None:
        """Run the checks and session guards of stage 4. Returns the question for a person; None if none is needed."""
        objection = None if self._checks is None else await self._checks.ask(ctx, self.checked_call(ctx))
        if isinstance(objection, Deny):
            ctx.refuse("check", objection.reason, objection.message, hint=objection.hint)
            return None
        if self._session is not None:
            self._session.check(ctx, self.checked_call(ctx), self._session_key(ctx))
            if ctx.outcome is not None:
                return None
        if objection is None and self._has_routes:
            objection = await self._virtual_file_question(ctx)
        decision = ctx.decision
        if objection is not None:
            ctx.is_asked_by_check = True
            if self.verify is not None:
                self.verify.report_question(objection.reason)
        elif decision.outcome == "ask":
            objection = Ask(decision.reason or "", decision.message)
        if objection is not None and not self._may_ask:
            ctx.refuse("approval", Reason.APPROVAL_UNAVAILABLE, UNATTENDED_MESSAGE)
            return None
        return objection

    async def _virtual_file_question(self, ctx: CallContext) -> Ask | None:
        """Return the question about a virtual file that *ctx* would change, as found by a dry run; None without one."""
        touched = self.tool.spec.capabilities_of(ctx.action)
        if touched is not None and "fs:write" not in touched:
            return None
        dry = await self.dry_run(ctx)
        return None if dry is None else dry.question

    def confine(self, ctx: CallContext) -> None:
        """Stage 4 for a call with a saved approval: refuse it if its commands do not do on disk what the text says."""
        preconditions = self.policy.rule_input(ctx)[1].preconditions if ctx.commands else None
        if preconditions is not None:
            self.state.confinement.refuse_if_unconfined(ctx, preconditions)

    def rule_input(self, ctx: CallContext) -> tuple[RuleInput, CommandAnalysis]:
        """Return the call as rules see it, and the analysis of its commands."""
        return self.policy.rule_input(ctx)

    async def dry_run(self, ctx: CallContext) -> CallContext | None:
        """Run the own checks of a staged body for *ctx*, a real call. Returns None if the tool is not staged."""
        if not self.tool.spec.staged:
            return None
        dry = ctx.detached_copy()
        dry.dry, dry.live_key, dry.children, dry.seen = True, id(dry), [], None
        return await self.body.dry_run(dry)

    def rate_keys(self, ctx: CallContext) -> "RateKeys":
        """Return the keys under which rate limits count *ctx*: those of the outermost call's caller.

        So a subagent shares its parent's limits.
        """
        known = self._keys
        return known if known is not None and ctx.root is self.caller else s6_limits.rate_keys_of(ctx.root)

    def _session_key(self, ctx: CallContext) -> str:
        """Return the key of the session under which the guards remember *ctx*."""
        return self._caller_session if ctx.root is self.caller else s6_limits.session_key_of(ctx.root)

    def checked_call(self, ctx: CallContext) -> Call:
        """Return the call as checks and guards see it; made once."""
        if ctx.seen is None:
            spec = self.tool.spec
            ctx.seen = Call(
                tool=spec.name,
                action=ctx.action,
                args=MappingProxyType(ctx.values),  # checks cannot change the arguments of the body
                caller=self.caller,
                call_id=ctx.call_id,
                parent_id=ctx.parent_id,
                profile=self.state.profile,
                workspace=self.state.workspace,
                kind=spec.kind,
                capabilities=spec.capabilities_of(ctx.action),
                safety=spec.safety,
                dry_run=ctx.dry,
                commands=ctx.commands,
            )
        return ctx.seen

    def _remember(self, ctx: CallContext, result: ToolResult) -> None:
        if self._session is not None and ctx.stage != "arguments":
            session = self._session_key(ctx)
            self._session.remember(self.checked_call(ctx), session, result, goes_on=ctx.abandoned)
