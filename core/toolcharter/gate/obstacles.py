"""Stages 4 to 6: what stands between policy and the body. Checks, guards with memory, a person, rate limits.

Here for synchronous code; `toolcharter.gate.awaiting` takes the same steps from asynchronous code.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from toolcharter.gate.checks import Answer
from toolcharter.gate.context import CallContext
from toolcharter.gate.loop import refuse_inside_loop
from toolcharter.gate.remembering import has_effects
from toolcharter.guards.rates.answers import Answer as Room
from toolcharter.guards.rates.answers import Refused
from toolcharter.spec.call import Ask, Deny
from toolcharter.spec.reasons import Reason

if TYPE_CHECKING:
    from toolcharter.gate.passage import Passage

T = TypeVar("T")


def overcome(passage: "Passage", ctx: CallContext) -> None:
    """Take *ctx* to its body's door, or end it."""
    question = weigh(passage, ctx, object_to(passage, ctx))
    if question is not None:
        passage.shared.desk.seek(passage, ctx, question)
    if ctx.outcome is None and passage.room is not None:
        heed_room(ctx, passage.room.take(passage.keys(ctx)))
    if ctx.outcome is None:
        enter(passage, ctx)


def object_to(passage: "Passage", ctx: CallContext) -> Answer:
    """What the plugins' checks say of the call."""
    if not passage.shared.checks:
        return None
    checks = passage.objections(ctx)
    try:
        waiting = next(checks)
    except StopIteration as end:
        objection: Answer = end.value
        return objection
    from toolcharter.gate.awaiting import drive  # noqa: PLC0415 - imports asyncio

    coroutine = drive(checks, waiting, ctx.deadline)
    refuse_inside_loop(ctx.tool, coroutine, waiting, instead="adecide" if ctx.dry else "acall")
    return passage.shared.loop.run(coroutine)


def weigh(passage: "Passage", ctx: CallContext, objection: Answer) -> Ask | None:
    """Heed the checks and the guards with memory; returns what a person has to be asked, if anything."""
    if isinstance(objection, Deny):
        ctx.refuse("check", objection.reason, objection.message, hint=objection.hint)
        return None
    memory = passage.shared.memory
    if memory is not None:
        session, call = passage.keys(ctx).session, passage.call_of(ctx)
        verdict = _judged(lambda: memory.before(session, call))
        if isinstance(verdict, Deny):
            _refuse_from_memory(passage, ctx, verdict)
            return None
    if objection is not None:
        ctx.asked_by_check = True
        return objection
    decision = ctx.decision
    return Ask(decision.reason or "", decision.message) if decision.outcome == "ask" else None


def _refuse_from_memory(passage: "Passage", ctx: CallContext, verdict: Deny) -> None:
    if not ctx.dry:
        enter(passage, ctx)  # a call that is refused again and again counts, too
    if ctx.outcome is None:
        ctx.refuse("guard", verdict.reason, verdict.message, hint=verdict.hint)


def heed_room(ctx: CallContext, answer: Room | None) -> None:
    """Stage 6: refuse what a rate limit has no room for, or nobody can count."""
    if answer is not None:
        ctx.refuse("limit", Reason.RATE_LIMITED, answer.message)
        ctx.is_final = isinstance(answer, Refused) and answer.wait_s is None


def enter(passage: "Passage", ctx: CallContext) -> None:
    """The last moment before the body: the guards with memory count the call."""
    memory = passage.shared.memory
    if memory is None:
        return
    session, call = passage.keys(ctx).session, passage.call_of(ctx)
    verdict = _judged(lambda: memory.entered(session, call, has_effects=has_effects(call)))
    if verdict is not None:
        ctx.refuse("guard", verdict.reason, verdict.message, hint=verdict.hint)


def _judged(judge: Callable[[], T]) -> T | Deny:
    """What a guard with memory says; arguments that its patterns cannot look at are no reason to let a call pass."""
    try:
        return judge()
    except Exception as error:  # noqa: BLE001 - what cannot be judged is denied
        message = f"What the guards with memory say of the call cannot be told: {type(error).__name__}."
        return Deny(Reason.NOT_UNDERSTOOD, message)
