"""Stage 6: rate limits, the last to object, so that only calls that would run are counted."""

from functools import partial
from typing import TYPE_CHECKING

from toolcharter.api.call import Caller
from toolcharter.api.reasons import Reason
from toolcharter.gate.call import CallContext
from toolcharter.gate.waiting import Wait, wait_for
from toolcharter.guards.rates.answers import Answer, Keys, Refused

if TYPE_CHECKING:
    from toolcharter.guards.rates.binding import BoundLimits

_UNNAMED = "-"
"""The session, or the agent, of callers who name none: their calls are counted together, never not at all."""


def keys_of(caller: Caller) -> Keys:
    """The session and the agent among whose calls those of *caller* count. A started agent's count among the first one's."""
    if caller.delegation is not None:
        caller = caller.delegation.top
    session = caller.apart(caller.session or caller.agent or _UNNAMED)
    return Keys(session, caller.apart(caller.agent or caller.session or _UNNAMED))


def session_of(caller: Caller) -> str:
    """The session whose calls guards remember together with those of *caller*. A started agent has its own.

    Of callers without a session, those of one agent, user and conversation are one.
    """
    agent = caller.agent or _UNNAMED
    where = (caller.user, caller.channel, caller.chat)
    # `repr` quotes each part, so that no two callers give the same.
    nameless = f"{agent}\0{where!r}" if any(where) else agent
    return caller.apart(caller.session or nameless)


async def acquire(limits: "BoundLimits", ctx: CallContext, keys: Keys) -> None:
    """Count *ctx* in all *limits*, or refuse it; another process may keep the counts, and have to be waited for."""
    refuse_if_limited(ctx, await wait_for(Wait(partial(limits.take, keys), partial(limits.atake, keys))))


def refuse_if_limited(ctx: CallContext, answer: Answer | None) -> None:
    """Refuse *ctx* if a rate limit has no room for it, or its counts cannot be reached."""
    if answer is not None:
        ctx.refuse("limit", Reason.RATE_LIMITED, answer.message)
        ctx.is_final = isinstance(answer, Refused) and answer.wait_s is None
