"""Stage 3: what policy says of a call. Pure: it looks at arguments and rules, never at a disk."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from toolcharter.api.call import Decision, Invocation
from toolcharter.api.command import DiskPreconditions
from toolcharter.api.reasons import HINTS, Reason
from toolcharter.gate.call import CallContext, as_json
from toolcharter.gate.commands import NOTHING, CommandAnalysis, analyse_commands
from toolcharter.gate.tool import BuiltTool
from toolcharter.policy.evaluate import ToolPolicyView
from toolcharter.policy.matching import argument
from toolcharter.policy.rule_input import Refusal, RuleInput, with_plain_paths

if TYPE_CHECKING:
    from toolcharter.guards.shell.programs.tables import Tables

MAX_MEMO = 256
"""Of how many calls a tool's decisions are remembered, for each caller."""
MAX_MEMO_BYTES = 1024
"""Longer arguments are decided anew each time."""
_NO_INVOCATION = Refusal(
    Reason.NOT_UNDERSTOOD, "The tool runs commands, and its spec has no `invocation` that names them."
)


class PolicyStage:
    """Decides the calls of one tool for one caller, and remembers the decisions."""

    def __init__(self, tool: BuiltTool, view: ToolPolicyView, tables: "Tables | None", workspace: str) -> None:
        """Decide nothing yet.

        Args:
            tool: Whose calls.
            view: What policy says of the tool for this caller.
            tables: What plugins know of programs; None if that is nothing.
            workspace: Its real path.
        """
        self.view = view
        self._spec = spec = tool.spec
        self._tables = tables
        self._workspace = workspace
        self._always = view.constant if spec.invocation is None else None
        # A rule of `deny` or `ask` on commands could never match its calls, whatever they run.
        self._untold = _NO_INVOCATION if spec.kind == "bash" and view.looks_at_commands else None
        self._memo: dict[bytes, tuple[str | None, tuple[str, ...], Decision, DiskPreconditions | None]] = {}

    def judge(self, ctx: CallContext, raw: bytes) -> tuple[str | None, DiskPreconditions | None]:
        """Decide *ctx*, whose arguments are the JSON text *raw*.

        Returns:
            What the call does, and what has to hold on disk for its commands to mean what they say.
        """
        if self._always is not None:
            return _action(ctx), None
        known = self._memo.get(raw)
        if known is None:
            subject, understanding = self.rule_input(ctx)
            try:
                decision = self.view.decide(subject)
            except Exception as error:  # noqa: BLE001 - what cannot be decided is denied
                message = f"The rules cannot judge the call: {type(error).__name__}."
                decision = Decision("deny", "floor", Reason.NOT_UNDERSTOOD, message)
            known = subject.action, subject.commands, decision, self._preconditions(decision, subject, understanding)
            if len(raw) <= MAX_MEMO_BYTES:
                if len(self._memo) >= MAX_MEMO:
                    self._memo.clear()
                self._memo[raw] = known
        action, ctx.commands, ctx.decision, world = known
        return action, world

    def _preconditions(
        self, decision: Decision, subject: RuleInput, understanding: CommandAnalysis
    ) -> DiskPreconditions | None:
        """What has to hold for commands that rules allow by their letters; `bash:*` allows them as they are."""
        if decision.stage == "ask":  # An `ask` rule takes no guard away from a call that `allow` covers.
            decision = self.view.by_mode(subject)
        # What a tool of another kind looks at, its author has written, and no rule has allowed by its letters.
        is_command = self._spec.kind not in {"cli", "custom"}
        by_letters = is_command and decision.outcome == "allow" and decision.rule is not None
        return understanding.world if by_letters and not self.view.permits.name_everything else None

    def rule_input(self, ctx: CallContext) -> tuple[RuleInput, CommandAnalysis]:
        """The call as rules see it, and what is understood of its commands; defaults are filled in by now."""
        invocation = self._spec.invocation
        try:
            given = as_json(ctx.values)
            plain = with_plain_paths(given, self._spec.path_arguments, self._workspace)
            args = self._with_aliases(plain)
            written = None if plain is given else self._with_aliases(given)
            if invocation is None:
                return RuleInput(_action(ctx), args, (), self._untold, written=written), NOTHING
            action, commands = _checked(invocation(MappingProxyType(ctx.values)))
        except Exception as error:  # noqa: BLE001 - what cannot be understood cannot be permitted
            message = f"The effect of the call is unknown: {type(error).__name__}."
            return RuleInput(None, {}, (), Refusal(Reason.NOT_UNDERSTOOD, message)), NOTHING
        found = analyse_commands(commands, self._workspace, self._tables)
        return RuleInput(action, args, found.commands, found.refusal, found.needs, found.unsupported, written), found

    def _with_aliases(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """*args* under their other names, too: a rule may have been written with one of them."""
        aliases = self._spec.argument_aliases
        if not aliases:
            return args
        return {**{alias: args[name] for alias, name in aliases.items() if name in args}, **args}


def refuse(ctx: CallContext) -> None:
    """End *ctx* as its decision says, which denies it."""
    decision = ctx.decision
    hint = decision.hint or HINTS.get(str(decision.reason))
    if hint is None and decision.stage == "deny":  # A rule that gives a reason of its own.
        hint = HINTS[Reason.DENIED_BY_RULE]
    ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=hint)
    ctx.rule = decision.rule


def _action(ctx: CallContext) -> str | None:
    """What the call does, by default."""
    action = argument(ctx.values, "action")
    return action if isinstance(action, str) else None


def _checked(invocation: Invocation) -> tuple[str | None, Iterable[str | tuple[str, ...]]]:
    """The `Invocation` that a tool returns for a call, refused if it has wrong types."""
    action, commands = invocation.action, invocation.commands
    if not (action is None or isinstance(action, str)) or not isinstance(commands, tuple):
        raise TypeError("an invocation is an action and a tuple of commands")
    return action, commands
