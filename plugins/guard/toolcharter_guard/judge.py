"""From an agent's message to its answer: the call passes the gate under the profile, and the agent does the work."""

import json
import os
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolcharter import Caller, ConfigurationError, scrub_text
from toolcharter.hosts import Host, HostResult
from toolcharter_guard.agents import Agent, Message, Unreadable, Verdict, answer, read_message, scrubbed_answer
from toolcharter_guard.tools import OurCall, Place, UnknownForm, our_calls

PROJECT_VARIABLES = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR"}
"""The variable in which an agent hands its project's folder to hooks."""


def workspace_of(agent: Agent, given: str | None, environ: Mapping[str, str]) -> Path:
    """The folder that the profile is about: as installed, as the agent says, or the current one.

    The `cwd` of a message is not asked: the agent changes it by its own `cd`.
    """
    named = given or environ.get(PROJECT_VARIABLES.get(agent.name, ""), "") or os.getcwd()  # noqa: PTH109 - text
    return Path(os.path.realpath(named))


def forget_session(agent: Agent, text: bytes, environ: MutableMapping[str, str]) -> None:
    """Take the session's identifier out of the environment, where agents put it too.

    The scrubber takes the value of a variable such as `GEMINI_SESSION_ID` for a secret, and events would name no session.
    """
    with suppress(ValueError, Unreadable):
        session = read_message(agent, json.loads(text)).session
        for name in [name for name, value in environ.items() if value == session]:
            del environ[name]


def judge(agent: Agent, host: Host, workspace: Path, text: str | bytes) -> dict[str, Any]:
    """Answer one message.

    Raises:
        Unreadable: It is not in the form that the agent documents.
    """
    try:
        message = read_message(agent, json.loads(text))
    except ValueError:
        raise Unreadable("the message is no JSON") from None
    if message.is_after:
        return _after(agent, message)
    try:
        place = Place(workspace, Path(message.cwd) if message.cwd else workspace)
        calls = our_calls(agent.table, message.tool, message.args, place)
    except UnknownForm as error:
        reason = f"toolcharter cannot read this call of {message.tool[:80]!r}, so it is denied: {error}."
        return answer(agent, "deny", reason)
    caller = Caller(agent=agent.name, session=message.session, provider=message.model)
    for call in calls:
        result = _governed(agent, host, call, message, caller)
        if result.is_error:
            return answer(agent, _verdict(result), _reason(result))
    return answer(agent, "allow", "")


def _governed(agent: Agent, host: Host, call: OurCall, message: Message, caller: Caller) -> HostResult:
    def hand_over(_: dict[str, Any]) -> str:
        return f"Permitted; {agent.title} does it."

    return host.govern(call.tool, call.args, hand_over, kind=call.kind, call_id=message.call_id, caller=caller)


def _verdict(result: HostResult) -> Verdict:
    return "deny" if result.pending is None else "ask"


def _reason(result: HostResult) -> str:
    """What the agent's model reads: the reason as a word, the sentence, what to do instead."""
    if result.pending is not None:
        return f"toolcharter asks: {result.pending.request.message or result.pending.request.reason}"
    said = result.result
    parts = (f"toolcharter: {said.reason}.", said.message or "", said.hint or "")
    return " ".join(part for part in parts if part)


def _after(agent: Agent, message: Message) -> dict[str, Any]:
    """Scrub the output of a call, where the agent lets a hook replace it."""
    output = message.output
    if isinstance(output, Mapping):
        said: Mapping[str, Any] = output
        output = said.get("llmContent")
    if not isinstance(output, str):
        return {}
    clean, found = scrub_text(output)
    return scrubbed_answer(agent, clean) if found else {}


def refusal(error: ConfigurationError | Unreadable) -> str:
    """What stands on standard error when nothing can be judged; the exit status 2 blocks the call in every agent."""
    return f"toolcharter denies the call, because it cannot judge it: {error}"
