"""The agents: in which form each sends a call to its hook, and in which form it expects the answer."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from toolcharter_guard.tools import CLAUDE, CODEX, COPILOT, CURSOR, GEMINI, MCP, OPENCODE, Row

Verdict = Literal["allow", "ask", "deny"]


class UnreadableMessage(Exception):
    """A hook's message is not in the form that the agent documents."""


class Message(NamedTuple):
    """A call that an agent is about to make, or has made."""

    is_after: bool
    tool: str
    """The agent's name for it; `mcp__SERVER__TOOL` if the agent says that it is a tool of an MCP server."""
    args: Any
    cwd: str | None
    session: str | None
    model: str | None
    call_id: str | None
    output: Any = None
    """The output of a finished call."""
    error: str | None = None
    """The agent's message about a finished call that failed."""
    subagent: str | None = None
    """The identifier of the subagent that makes the call, if the agent sends one."""


class Agent(NamedTuple):
    """One coding agent."""

    name: str
    title: str
    table: Mapping[str, Row]
    keys: Mapping[str, str]
    """The keys of its messages, by our names for them: `tool`, `args`, `session`, `call_id`, `cwd`, `model`, `event`,
    `output`, `error`, `subagent`."""
    after_events: frozenset[str]
    """The events that are sent after a call."""
    can_ask: bool
    """Whether a hook can make the agent ask its user."""


_CLAUDE_KEYS = {
    "tool": "tool_name",
    "args": "tool_input",
    "session": "session_id",
    "call_id": "tool_use_id",
    "cwd": "cwd",
    "model": "model",
    "event": "hook_event_name",
    "output": "tool_response",
    "error": "error",
    "subagent": "agent_id",
}
AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            CLAUDE,
            _CLAUDE_KEYS,
            frozenset({"PostToolUse", "PostToolUseFailure"}),
            can_ask=True,
        ),
        Agent("codex", "Codex", CODEX, _CLAUDE_KEYS, frozenset({"PostToolUse"}), can_ask=False),
        Agent("gemini", "Gemini CLI", GEMINI, _CLAUDE_KEYS, frozenset({"AfterTool"}), can_ask=False),
        Agent("opencode", "OpenCode", OPENCODE, _CLAUDE_KEYS, frozenset({"tool.execute.after"}), can_ask=False),
        Agent(
            "cursor",
            "Cursor",
            CURSOR,
            {**_CLAUDE_KEYS, "session": "conversation_id", "output": "tool_output", "error": "error_message"},
            frozenset({"postToolUse", "postToolUseFailure"}),
            can_ask=False,  # `preToolUse` accepts the answer "ask", but lets the call through
        ),
        Agent(
            "copilot",
            "Copilot",
            COPILOT,
            {**_CLAUDE_KEYS, "tool": "toolName", "args": "toolArgs", "session": "sessionId", "output": "toolResult"},
            frozenset({"postToolUse", "postToolUseFailure"}),
            can_ask=True,
        ),
    )
}
_CURSOR_MCP = "MCP:"
"""The prefix of MCP tools in Cursor's messages, which do not name the server."""


def parse_message(agent: Agent, data: object) -> Message:
    """Read one message of *agent*.

    Args:
        agent: The agent that sent it.
        data: The message, parsed from JSON.

    Raises:
        UnreadableMessage: The message is not an object or names no tool.
    """
    if not isinstance(data, Mapping):
        raise UnreadableMessage("the message is not an object")
    known: Mapping[str, Any] = data
    tool = known.get(agent.keys["tool"])
    if not isinstance(tool, str) or not tool:
        raise UnreadableMessage(f"the message has no {agent.keys['tool']!r}")

    def text(key: str) -> str | None:
        value = known.get(agent.keys[key])
        return value if isinstance(value, str) and value else None

    output = known.get(agent.keys["output"])
    error = known.get(agent.keys["error"])
    if isinstance(output, Mapping):
        parts: Mapping[str, Any] = output
        error = error or parts.get("error")  # Gemini CLI: an object with a message
        output = next((parts[key] for key in ("llmContent", "textResultForLlm") if key in parts), output)
    if isinstance(error, Mapping):
        failed: Mapping[str, Any] = error
        error = failed.get("message")
    return Message(
        # Copilot names no event; only the messages after a call have a result or an error.
        is_after=known.get(agent.keys["event"]) in agent.after_events
        or (agent.name == "copilot" and not known.keys().isdisjoint(("toolResult", "error"))),
        tool=_mcp_name(agent, tool, known.get("mcp_context")),
        args=known.get(agent.keys["args"]),
        cwd=text("cwd"),
        session=text("session"),
        model=text("model"),
        call_id=text("call_id"),
        output=output,
        error=error if isinstance(error, str) and error else None,
        subagent=text("subagent"),
    )


def _mcp_name(agent: Agent, tool: str, context: object) -> str:
    """The name that `mcp:` rules know an MCP tool by; another tool's name is returned as it is.

    If the server or tool name could be split in another way, the result is not a valid tool name.
    """
    if agent.name == "cursor" and tool.startswith(_CURSOR_MCP):
        server, name = "cursor", tool.removeprefix(_CURSOR_MCP)
    elif agent.name in {"gemini", "opencode"} and isinstance(context, Mapping) and tool not in agent.table:
        names: Mapping[str, Any] = context
        server, name = str(names.get("server_name") or ""), str(names.get("tool_name") or "")
    else:
        return tool
    is_plain = server and name and "__" not in server and not server.endswith("_")
    return f"{MCP}{server}__{name}" if is_plain else f"{server}:{name}"


def format_answer(agent: Agent, verdict: Verdict, reason: str) -> dict[str, Any]:
    """Return the answer to a call, in the form of *agent*. The agent's own permissions still apply to allowed calls."""
    if verdict == "ask" and not agent.can_ask:
        verdict, reason = "deny", f"{reason} {agent.title} cannot ask its user in a hook."
    if agent.name == "cursor":
        answer = {"permission": verdict}
        return answer if verdict == "allow" else {**answer, "user_message": reason, "agent_message": reason}
    if verdict == "allow":
        return {}
    if agent.name in {"gemini", "opencode"}:
        return {"decision": "deny", "reason": reason}
    if agent.name == "copilot":
        return {"permissionDecision": verdict, "permissionDecisionReason": reason}
    decision = {"hookEventName": "PreToolUse", "permissionDecision": verdict, "permissionDecisionReason": reason}
    return {"hookSpecificOutput": decision}


def format_replacement(agent: Agent, tool: str, output: Any) -> dict[str, Any]:
    """Return the answer that replaces the output of *tool* by *output*; empty if the agent's hooks cannot do that."""
    if agent.name == "gemini":  # its only way: the model reads "Tool result blocked: " and the reason
        text = output if isinstance(output, str) else json.dumps(output)
        return {"decision": "deny", "reason": f"toolcharter has masked secrets in this result:\n{text}"}
    if agent.name == "claude-code":  # 2.1.121 and later; an older version ignores the answer
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}
    if agent.name == "copilot":
        return {"modifiedResult": {"resultType": "success", "textResultForLlm": output}}
    if agent.name == "cursor" and tool.startswith(MCP):  # only for MCP tools, whose output comes as JSON in a text
        with suppress(ValueError, TypeError):
            return {"updated_mcp_tool_output": json.loads(output)}
    return {"output": output} if agent.name == "opencode" else {}
