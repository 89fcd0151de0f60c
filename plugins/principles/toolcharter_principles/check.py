"""Asks the service about a call, and parses its answer.

Source: stevef1uk/artificial_mind, hdn/tools.go for the question, principles/internal/api/handlers.go for path,
request and answer. Its client lets a call pass when the service fails, and vetoes names that contain `hit` or `harm`
(`whitelist`, `pharmacy`); neither is done here.
"""

import asyncio
import json
import os
import re
import ssl
from functools import cached_property
from http import HTTPStatus
from typing import Any

import httpx

from toolcharter import Call, Deny, hookimpl
from toolcharter_principles.policy import PrinciplesPolicy, PrinciplesReason

MAX_ANSWER = 65536
"""How long an answer may be, in bytes."""
MAX_MESSAGE = 500
"""How much of the service's reasons a denial shows, in characters."""

_TOKEN = re.compile("[!-~]+")


class BadAnswer(Exception):
    """The service's answer neither allows nor blocks the call."""


class Principles:
    """The check of one toolbox.

    Each question has its own connection. A connection that is kept would be bound to the event loop that opened it,
    could break while the service closes it, and could return a late answer to the next question.
    """

    def __init__(self, policy: PrinciplesPolicy) -> None:
        self._policy = policy
        self._headers = _headers(policy.token_env)

    @hookimpl
    async def check_call(self, call: Call) -> Deny | None:
        """Deny a call that the service blocks.

        Raises:
            BadAnswer: The answer has another status than 200, or another form.
            ValueError: The answer is not JSON.
            httpx.HTTPError: The service could not be reached, or its answer broke off.
        """
        reasons = blocking_reasons(await self._ask(request_body(call, self._policy.action_prefix)))
        return None if reasons is None else Deny(PrinciplesReason.BLOCKED_BY_PRINCIPLES, reasons)

    async def _ask(self, asked: dict[str, Any]) -> bytes:
        client = httpx.AsyncClient(
            verify=self._tls, timeout=self._policy.timeout_s, trust_env=False, follow_redirects=False
        )
        content = json.dumps(asked).encode()
        async with (
            client,
            client.stream("POST", self._policy.endpoint, content=content, headers=self._headers) as response,
        ):
            if response.status_code != HTTPStatus.OK:
                raise BadAnswer(f"status {response.status_code}")
            return await _read(response)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Trusts the system's certificate authorities, to which an administrator can add internal ones."""
        if httpx.URL(self._policy.endpoint).scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no authority; reading the system's takes 40 ms
        return ssl.create_default_context()


def request_body(call: Call, prefix: str) -> dict[str, Any]:
    """Return the question to the service about *call*.

    Returns:
        `action`, `params` and `context` as artificial_mind's service parses them: identifiers are stripped, a missing
        identifier is `""`, and `permissions` is null for a tool that declares no capabilities. Only tools with actions
        have `context.action`. The other fields are our own; that service ignores them.
    """
    context = {
        "category": "tool_invoke",
        "tool_id": call.tool,
        "permissions": None if call.capabilities is None else sorted(call.capabilities),
        "safety_level": call.safety,
        "agent_id": (call.caller.agent or "").strip(),
        "project_id": (call.caller.project or "").strip(),
    }
    if call.action is not None:
        context["action"] = call.action
    return {
        "action": f"{prefix}{call.tool}",
        "params": {},
        "context": context,
        "call_id": call.call_id,
        "profile": call.profile,
        "dry_run": call.dry_run,
    }


def blocking_reasons(body: bytes) -> str | None:
    """Return the service's reasons against the call; None if it allows the call.

    An answer is `{"result": TEXT}`, or `{"reasons": [TEXT, ...]}` if the call is blocked.

    Raises:
        BadAnswer: The answer has another form. Such an answer does not allow the call.
        ValueError: The answer is not JSON.
    """
    answer = json.loads(body, object_pairs_hook=_reject_duplicate_fields)
    if not isinstance(answer, dict):
        raise BadAnswer("no object")
    result, reasons = answer.get("result"), answer.get("reasons")
    if reasons and isinstance(reasons, list) and all(isinstance(reason, str) for reason in reasons):
        return _message(reasons)
    # An unknown field could forbid the call.
    if reasons not in (None, []) or not isinstance(result, str) or not result or answer.keys() - {"result", "reasons"}:
        raise BadAnswer("neither a result nor reasons")
    return None


def _message(reasons: list[str]) -> str:
    text = "; ".join(filter(None, (" ".join(reason.split()) for reason in reasons)))
    shown = text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]} ..."
    return shown or "The service gives no reason."


def _reject_duplicate_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise BadAnswer("a field occurs twice")
    return fields


async def _read(response: httpx.Response) -> bytes:
    """Read the body without decompressing it: the request accepts no compression, which could exceed any limit.

    Raises:
        BadAnswer: The body has more than `MAX_ANSWER` bytes.
    """
    body, loop, limit = bytearray(), asyncio.get_running_loop(), asyncio.timeout(None)
    try:
        async with limit:
            async for chunk in response.aiter_raw():
                if len(body) <= MAX_ANSWER:
                    body += chunk
                else:
                    # Cancelled at its next wait: `break` would leave the stream's generators to the garbage collector.
                    limit.reschedule(loop.time())
    except TimeoutError:
        if not limit.expired():
            raise
    if len(body) > MAX_ANSWER:
        raise BadAnswer(f"more than {MAX_ANSWER} bytes")
    return bytes(body)


def _headers(token_env: str | None) -> dict[str, str]:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}
    if token_env is None:
        return headers
    token = os.environ.get(token_env, "").strip()
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"the environment variable {token_env!r} holds no token")
    return headers | {"Authorization": f"Bearer {token}"}
