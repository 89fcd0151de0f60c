"""The agents: how each sends a call to its hook, and how it wants the answer."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from toolcharter_guard.tools import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI, OPENCODE, Row

Verdict = Literal["allow", "ask", "deny"]


class Unreadable(Exception):
    """A hook's message is not in the form that the agent documents."""


class Message(NamedTuple):
    """A call that an agent is about to make, or has made."""

    is_after: bool
    tool: str
    args: Any
    cwd: str | None
    session: str | None
    model: str | None
    call_id: str | None
    output: Any = None
    """Of a call that has been made."""


class Agent(NamedTuple):
    """One coding agent."""

    name: str
    title: str
    table: Mapping[str, Row]
    keys: Mapping[str, str]
    """Where its messages say what: `tool`, `args`, `session`, `call_id`, `cwd`, `model`, `event`, `output`."""
    after: frozenset[str]
    """The events that come behind a call."""
    can_ask: bool
    """Whether a hook may have the agent ask its user."""


_CLAUDE_KEYS = {
    "tool": "tool_name",
    "args": "tool_input",
    "session": "session_id",
    "call_id": "tool_use_id",
    "cwd": "cwd",
    "model": "model",
    "event": "hook_event_name",
    "output": "tool_response",
}
AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent("claude-code", "Claude Code", CLAUDE, _CLAUDE_KEYS, frozenset({"PostToolUse"}), can_ask=True),
        Agent("codex", "Codex", CODEX, _CLAUDE_KEYS, frozenset({"PostToolUse"}), can_ask=False),
        Agent("gemini", "Gemini CLI", GEMINI, _CLAUDE_KEYS, frozenset({"AfterTool"}), can_ask=False),
        Agent("opencode", "OpenCode", OPENCODE, _CLAUDE_KEYS, frozenset({"tool.execute.after"}), can_ask=False),
        Agent(
            "cursor",
            "Cursor",
            CURSOR,
            {**_CLAUDE_KEYS, "session": "conversation_id", "call_id": "generation_id"},
            frozenset({"postToolUse"}),
            can_ask=True,
        ),
        Agent(
            "copilot",
            "Copilot",
            COPILOT,
            {**_CLAUDE_KEYS, "tool": "toolName", "args": "toolArgs", "session": "sessionId"},
            frozenset({"postToolUse"}),
            can_ask=True,
        ),
    )
}


def read_message(agent: Agent, said: object) -> Message:
    """One message of *agent*, parsed from JSON.

    Raises:
        Unreadable: It names no tool, or is no object.
    """
    if not isinstance(said, Mapping):
        raise Unreadable("the message is no object")
    known: Mapping[str, Any] = said
    tool = known.get(agent.keys["tool"])
    if not isinstance(tool, str) or not tool:
        raise Unreadable(f"the message has no {agent.keys['tool']!r}")

    def text(key: str) -> str | None:
        value = known.get(agent.keys[key])
        return value if isinstance(value, str) and value else None

    return Message(
        is_after=known.get(agent.keys["event"]) in agent.after,
        tool=tool,
        args=known.get(agent.keys["args"]),
        cwd=text("cwd"),
        session=text("session"),
        model=text("model"),
        call_id=text("call_id"),
        output=known.get(agent.keys["output"]),
    )


def answer(agent: Agent, verdict: Verdict, reason: str) -> dict[str, Any]:
    """The answer to a call, in the form of *agent*. A call that passes is left to the agent's own permissions."""
    if verdict == "ask" and not agent.can_ask:
        verdict, reason = "deny", f"{reason} {agent.title} cannot ask its user in a hook."
    if agent.name == "cursor":
        said = {"permission": verdict}
        return said if verdict == "allow" else {**said, "user_message": reason, "agent_message": reason}
    if verdict == "allow":
        return {}
    if agent.name in {"gemini", "opencode"}:
        return {"decision": "deny", "reason": reason}
    if agent.name == "copilot":
        return {"permissionDecision": verdict, "permissionDecisionReason": reason}
    decision = {"hookEventName": "PreToolUse", "permissionDecision": verdict, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": decision}


def scrubbed_answer(agent: Agent, output: str) -> dict[str, Any]:
    """What replaces a call's output, where *agent* lets a hook do that; else nothing."""
    if agent.name != "gemini":
        return {}
    return {"hookSpecificOutput": {"hookEventName": "AfterTool", "tool_output": output}}
