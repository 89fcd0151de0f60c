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
    """The session and the agent among whose calls those of *caller* count."""
    session, agent = caller.session or caller.agent or _UNNAMED, caller.agent or caller.session or _UNNAMED
    return Keys(caller.apart(session), caller.apart(agent))


async def acquire(limits: "BoundLimits", ctx: CallContext, keys: Keys) -> None:
    """Count *ctx* in all *limits*, or refuse it; another process may keep the counts, and have to be waited for."""
    refuse_if_limited(ctx, await wait_for(Wait(partial(limits.take, keys), partial(limits.atake, keys))))


def refuse_if_limited(ctx: CallContext, answer: Answer | None) -> None:
    """Refuse *ctx* if a rate limit has no room for it, or its counts cannot be reached."""
    if answer is not None:
        ctx.refuse("limit", Reason.RATE_LIMITED, answer.message)
        ctx.is_final = isinstance(answer, Refused) and answer.wait_s is None
