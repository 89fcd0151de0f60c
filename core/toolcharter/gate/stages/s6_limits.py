"""Stage 6: rate limits. They come last, so that only calls that would run are counted."""

from functools import partial
from typing import TYPE_CHECKING

from toolcharter.api.call import Caller
from toolcharter.api.reasons import Reason
from toolcharter.gate.call import CallContext
from toolcharter.gate.waiting import Wait, wait_for
from toolcharter.guards.rates.answers import Answer, RateKeys, Refused

if TYPE_CHECKING:
    from toolcharter.guards.rates.binding import BoundLimits

_UNNAMED = "-"
"""The session, or the agent, of callers that name none. Their calls are counted together, so that none escapes."""


def rate_keys_of(caller: Caller) -> RateKeys:
    """Return the session and the agent that calls of *caller* count for. A started agent counts for the first agent."""
    if caller.delegation is not None:
        caller = caller.delegation.top
    session = caller.apart(caller.session or caller.agent or _UNNAMED)
    return RateKeys(session, caller.apart(caller.agent or caller.session or _UNNAMED))


def session_key_of(caller: Caller) -> str:
    """Return the key of the session under which guards remember calls of *caller*. A started agent has its own.

    Callers without a session share a key if they have the same agent, user, channel and chat.
    """
    agent = caller.agent or _UNNAMED
    where = (caller.user, caller.channel, caller.chat)
    # `repr` quotes each part, so that different callers give different keys.
    nameless = f"{agent}\0{where!r}" if any(where) else agent
    return caller.apart(caller.session or nameless)


async def acquire(limits: "BoundLimits", ctx: CallContext, keys: RateKeys) -> None:
    """Count *ctx* in all *limits*, or refuse it. May wait, because another process may keep the counts."""
    refuse_if_limited(ctx, await wait_for(Wait(partial(limits.acquire, keys), partial(limits.aacquire, keys))))


def refuse_if_limited(ctx: CallContext, answer: Answer | None) -> None:
    """Refuse *ctx* if a rate limit is exhausted, or if its counts cannot be reached."""
    if answer is not None:
        ctx.refuse("limit", Reason.RATE_LIMITED, answer.message)
        ctx.is_final = isinstance(answer, Refused) and answer.wait_s is None
