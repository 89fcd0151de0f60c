"""Stage 3: policy decides a call. Pure: it reads only arguments and rules, never the disk."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter.api.call import Decision, Invocation
from toolcharter.api.command import DiskPreconditions
from toolcharter.api.reasons import HINTS, Reason
from toolcharter.gate.call import CallContext, to_json_values
from toolcharter.gate.commands import NO_COMMANDS, CommandAnalysis, analyse_commands
from toolcharter.gate.tool import BuiltTool
from toolcharter.policy.evaluate import ToolPolicyView
from toolcharter.policy.matching import argument
from toolcharter.policy.rule_input import Refusal, RuleInput, with_plain_paths

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs.tables import Tables

MAX_MEMO = 256
"""How many decisions about a tool are cached, for each caller."""
MAX_MEMO_BYTES = 1024
"""Decisions about longer arguments, in bytes of JSON, are not cached."""
_NO_INVOCATION = Refusal(
    Reason.NOT_UNDERSTOOD, "The tool runs commands, and its spec has no `invocation` that names them."
)


class PolicyStage:
    """Decides the calls of one tool for one caller, and caches the decisions."""

    def __init__(self, tool: BuiltTool, view: ToolPolicyView, tables: "Tables | None", workspace: str) -> None:
        """Prepare the stage; decides nothing yet.

        Args:
            tool: The tool.
            view: The policy for the tool and this caller.
            tables: The tables of programs from plugins; None if there are none.
            workspace: Real path of the workspace.
        """
        self.view = view
        self._spec = spec = tool.spec
        self._tables = tables
        self._workspace = workspace
        self._constant_decision = view.constant_decision if spec.invocation is None else None
        # Without an invocation, `deny` and `ask` rules on commands could never match the tool's calls.
        self._no_invocation = _NO_INVOCATION if spec.kind == "bash" and view.matches_commands else None
        self._memo: dict[bytes, tuple[str | None, tuple[str, ...], Decision, DiskPreconditions | None]] = {}

    def judge(self, ctx: CallContext, raw: bytes) -> tuple[str | None, DiskPreconditions | None]:
        """Decide *ctx*, whose arguments are the JSON text *raw*.

        Returns:
            The call's action, and what must hold on disk so that its commands do what their text says.
        """
        if self._constant_decision is not None:
            return _action_argument(ctx), None
        cached = self._memo.get(raw)
        if cached is None:
            subject, analysis = self.rule_input(ctx)
            try:
                decision = self.view.decide(subject)
            except Exception as error:  # noqa: BLE001 - a call that cannot be decided is denied
                message = f"The rules cannot judge the call: {type(error).__name__}."
                decision = Decision("deny", "floor", Reason.NOT_UNDERSTOOD, message)
            cached = subject.action, subject.commands, decision, self._preconditions(decision, subject, analysis)
            if len(raw) <= MAX_MEMO_BYTES:
                if len(self._memo) >= MAX_MEMO:
                    self._memo.clear()
                self._memo[raw] = cached
        action, ctx.commands, ctx.decision, preconditions = cached
        return action, preconditions

    def _preconditions(
        self, decision: Decision, subject: RuleInput, analysis: CommandAnalysis
    ) -> DiskPreconditions | None:
        """Return the disk preconditions of commands that a rule allows by their text; None if `bash:*` allows all."""
        if decision.stage == "ask":  # If `allow` covers the call, an `ask` rule must not remove the guard.
            decision = self.view.by_mode(subject)
        # The commands of `cli` and `custom` tools are written by their author; no rule allows them by their text.
        is_command = self._spec.kind not in {"cli", "custom"}
        by_text = is_command and decision.outcome == "allow" and decision.rule is not None
        return analysis.preconditions if by_text and not self.view.permits.cover_everything else None

    def rule_input(self, ctx: CallContext) -> tuple[RuleInput, CommandAnalysis]:
        """Return the call as rules see it, with defaults filled in, and the analysis of its commands."""
        invocation = self._spec.invocation
        try:
            given = to_json_values(ctx.values)
            plain = with_plain_paths(given, self._spec.path_arguments, self._workspace)
            args = self._add_aliases(plain)
            written = None if plain is given else self._add_aliases(given)
            if invocation is None:
                return RuleInput(_action_argument(ctx), args, (), self._no_invocation, written=written), NO_COMMANDS
            action, commands = _unpack_invocation(invocation(MappingProxyType(ctx.values)))
        except Exception as error:  # noqa: BLE001 - a call that is not understood cannot be permitted
            message = f"The effect of the call is unknown: {type(error).__name__}."
            return RuleInput(None, {}, (), Refusal(Reason.NOT_UNDERSTOOD, message)), NO_COMMANDS
        found = analyse_commands(commands, self._workspace, self._tables)
        return RuleInput(action, args, found.commands, found.refusal, found.needs, found.unsupported, written), found

    def _add_aliases(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the aliases of arguments to *args*: a rule may have been written with an alias."""
        aliases = self._spec.argument_aliases
        if not aliases:
            return args
        return {**{alias: args[name] for alias, name in aliases.items() if name in args}, **args}


def refuse(ctx: CallContext) -> None:
    """Deny *ctx* with the reason, message and rule of its decision."""
    decision = ctx.decision
    hint = decision.hint or HINTS.get(str(decision.reason))
    if hint is None and decision.stage == "deny":  # The rule gives a reason of its own.
        hint = HINTS[Reason.DENIED_BY_RULE]
    ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=hint)
    ctx.rule = decision.rule


def _action_argument(ctx: CallContext) -> str | None:
    """Return the call's action if the tool has no `invocation`: the argument `action`."""
    action = argument(ctx.values, "action")
    return action if isinstance(action, str) else None


def _unpack_invocation(invocation: Invocation) -> tuple[str | None, Iterable[str | tuple[str, ...]]]:
    """Return the action and the commands of *invocation*; raise if they have wrong types."""
    action, commands = invocation.action, invocation.commands
    if not (action is None or isinstance(action, str)) or not isinstance(commands, tuple):
        raise TypeError("an invocation is an action and a tuple of commands")
    return action, commands
