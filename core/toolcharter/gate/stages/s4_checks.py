"""Stage 4, the checks of plugins. Each may deny a call or require a person's approval; a check that fails denies."""

from collections.abc import Awaitable, Iterator, Mapping
from functools import partial
from inspect import isawaitable
from time import monotonic
from typing import Any

from toolcharter.api.call import Ask, Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.errors import Denied
from toolcharter.gate.call import CallContext
from toolcharter.gate.waiting import LoopThread, awaited, is_caller_cancellation, refuse_inside_loop, wait_for
from toolcharter.loader.load import Check, LoadedTool

Answer = None | Deny | Ask
_ANSWERS = frozenset({Deny, Ask})


def checks_of_tools(tools: Mapping[str, LoadedTool], policies: Mapping[str, Any]) -> Iterator[Check]:
    """Yield a check for each tool whose spec has `asks`. It requires approval for the calls that `asks` selects."""
    for name, tool in tools.items():
        if tool.spec.asks is not None:
            yield Check(f"{tool.distribution}:{name}", partial(tool.spec.asks, policies[name]), tool=name)


class NoAnswer(Exception):
    """A check gave an invalid answer; the text describes it."""


class Checks:
    """The checks of one toolbox, in the order of the loader and `build.open`."""

    def __init__(self, checks: tuple[Check, ...], loop: LoopThread) -> None:
        self._checks = checks
        self._loop = loop

    async def ask(self, ctx: CallContext, call: Call) -> Answer:
        """Run the checks in order. The first `Deny` wins at once; the first `Ask` counts if no check denies.

        An asynchronous check has its own time limit, and all checks together have that of the call.

        Args:
            ctx: The call; it gets a fault for each advisory check that fails.
            call: The call as checks see it.

        Returns:
            The objection, or None to let the call pass.
        """
        asked: Answer = None
        for check in self._checks:
            try:
                answer = check.function(call)
                if answer is None:  # The usual answer. To test whether it can be awaited costs more than the check.
                    continue
                if type(answer) not in _ANSWERS and isawaitable(answer):
                    answer = await self._await_answer(ctx, check, answer)
                _require_valid(answer)
            except BaseException as error:
                if is_caller_cancellation(error):
                    raise
                # A driver that closes this coroutine raises GeneratorExit in it; then no other check may run.
                if not check.advisory or isinstance(error, (GeneratorExit, Denied)):
                    return _deny_as_raised(check, error) if isinstance(error, Denied) else _deny_failure(check, error)
                ctx.add_fault("advisory_check_failed")
                continue
            if isinstance(answer, Deny):
                return answer
            asked = asked or answer
        if self._checks and monotonic() > ctx.deadline:
            return Deny(Reason.CHECK_FAILED, "The checks took all the time that the call may take.")
        return asked

    async def _await_answer(self, ctx: CallContext, check: Check, answer: Awaitable[Any]) -> Any:
        latest = monotonic() + check.timeout_s
        refuse = partial(refuse_inside_loop, ctx.tool, answer, instead="adecide" if ctx.dry else "acall")
        found = await wait_for(awaited(answer, min(ctx.deadline, latest), self._loop, refuse))
        if monotonic() > latest and type(found) is not Deny:
            raise TimeoutError  # a check that cannot be cancelled has answered late
        return found


def _require_valid(answer: Any) -> None:
    """Accept None, and a `Deny` or `Ask` whose fields are text.

    Raises:
        NoAnswer: The answer is something else.
    """
    if answer is None:
        return
    if type(answer) not in _ANSWERS:  # The properties of a subclass may change between two reads.
        raise NoAnswer(f"answered {type(answer).__name__}, not None, Deny or Ask")
    for text in (answer.reason, answer.message or "", getattr(answer, "hint", None) or ""):
        if not isinstance(text, str):
            raise NoAnswer("answered with a field that is no text")


def _deny_as_raised(check: Check, error: Denied) -> Deny:
    """Turn a `Denied` that a check has raised into a `Deny`."""
    try:
        answer = Deny(error.reason, error.message, error.hint)
        _require_valid(answer)
    except Exception as unreadable:  # noqa: BLE001 - a subclass may hold anything
        return _deny_failure(check, unreadable)
    return answer


def _deny_failure(check: Check, error: BaseException) -> Deny:
    what = str(error) if isinstance(error, NoAnswer) else f"raised {type(error).__name__}"
    return Deny(Reason.CHECK_FAILED, f"The check of {check.plugin!r} {what}.")
