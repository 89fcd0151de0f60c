"""Stage 4, the checks of plugins: each may deny a call or ask for a human; what fails denies."""

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
    """What has a person agree to the calls of which a tool itself wants that."""
    for name, tool in tools.items():
        if tool.spec.asks is not None:
            yield Check(f"{tool.distribution}:{name}", partial(tool.spec.asks, policies[name]), tool=name)


class NoAnswer(Exception):
    """A check said what no check may say; the text says what it was."""


class Checks:
    """The checks of one toolbox, in the order in which the loader and `build.open` give them."""

    def __init__(self, checks: tuple[Check, ...], loop: LoopThread) -> None:
        self._checks = checks
        self._loop = loop

    async def ask(self, ctx: CallContext, call: Call) -> Answer:
        """Ask one check after the other; the first `Deny` ends it, the first `Ask` counts if none denies.

        An asynchronous check has its own time, and all together have the call's.

        Args:
            ctx: The call; gets a fault for each advisory check that fails.
            call: What the checks look at.

        Returns:
            The objection, or None to let the call pass.
        """
        asked: Answer = None
        for check in self._checks:
            try:
                answer = check.function(call)
                if answer is None:  # The usual answer; to ask whether it can be awaited costs more than the check.
                    continue
                if type(answer) not in _ANSWERS and isawaitable(answer):
                    answer = await self._awaited(ctx, check, answer)
                _understand(answer)
            except BaseException as error:
                if is_caller_cancellation(error):
                    raise
                # A driver that closes this coroutine raises GeneratorExit in it; then no other check may be asked.
                if not check.advisory or isinstance(error, (GeneratorExit, Denied)):
                    return _denial(check, error) if isinstance(error, Denied) else _failed(check, error)
                ctx.fault("advisory_check_failed")
                continue
            if isinstance(answer, Deny):
                return answer
            asked = asked or answer
        if self._checks and monotonic() > ctx.deadline:
            return Deny(Reason.CHECK_FAILED, "The checks took all the time that the call may take.")
        return asked

    async def _awaited(self, ctx: CallContext, check: Check, answer: Awaitable[Any]) -> Any:
        latest = monotonic() + check.timeout_s
        refuse = partial(refuse_inside_loop, ctx.tool, answer, instead="adecide" if ctx.dry else "acall")
        found = await wait_for(awaited(answer, min(ctx.deadline, latest), self._loop, refuse))
        if monotonic() > latest and type(found) is not Deny:
            raise TimeoutError  # one that cannot be cancelled has answered all the same
        return found


def _understand(answer: Any) -> None:
    """Accept None, `Deny` and `Ask` of texts.

    Raises:
        NoAnswer: It is something else.
    """
    if answer is None:
        return
    if type(answer) not in _ANSWERS:  # A subclass may say one thing now and another later.
        raise NoAnswer(f"answered {type(answer).__name__}, not None, Deny or Ask")
    for text in (answer.reason, answer.message or "", getattr(answer, "hint", None) or ""):
        if not isinstance(text, str):
            raise NoAnswer("answered no text")


def _denial(check: Check, error: Denied) -> Deny:
    """What a check has raised where it should return a `Deny`."""
    try:
        answer = Deny(error.reason, error.message, error.hint)
        _understand(answer)
    except Exception as unreadable:  # noqa: BLE001 - a subclass may hold anything
        return _failed(check, unreadable)
    return answer


def _failed(check: Check, error: BaseException) -> Deny:
    what = str(error) if isinstance(error, NoAnswer) else f"raised {type(error).__name__}"
    return Deny(Reason.CHECK_FAILED, f"The check of {check.plugin!r} {what}.")
