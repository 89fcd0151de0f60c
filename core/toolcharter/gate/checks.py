"""Plugin checks: each may deny a call or ask for a human; what fails denies."""

from collections.abc import Awaitable, Callable, Generator
from inspect import isawaitable
from time import monotonic
from typing import Any, NamedTuple

from toolcharter.errors import Denied
from toolcharter.gate.loop import is_the_callers
from toolcharter.loader.load import Check
from toolcharter.spec.call import Ask, Call, Deny
from toolcharter.spec.reasons import Reason

Answer = None | Deny | Ask


class Waiting(NamedTuple):
    """An asynchronous check on its way to an answer."""

    answer: Awaitable[Any]
    timeout_s: float

    def close(self) -> None:
        """Nobody will await it."""
        getattr(self.answer, "close", bool)()  # A future has no `close`, and needs none.


class NoAnswer(Exception):
    """A check said what no check may say; the text tells what it was."""


def objections(
    checks: tuple[Check, ...], call: Call, deadline: float, note: Callable[[], object]
) -> Generator[Waiting, Any, Answer]:
    """Ask *checks* one after the other; the first `Deny` ends it, the first `Ask` stands if none denies.

    Args:
        checks: Sorted by plugin name.
        call: What the checks look at.
        deadline: When they must have answered, a moment of `time.monotonic`.
        note: Told of each failure that is passed over because its check is advisory.

    Yields:
        Each asynchronous check, to be awaited within its own time and the call's; its answer is sent back.

    Returns:
        The objection, or None to let the call pass.
    """
    asked: Answer = None
    for check in checks:
        try:
            answer = check.function(call)
            if answer is None:  # The usual answer; to ask whether it can be awaited costs more than the check.
                continue
            if isawaitable(answer):
                latest = monotonic() + check.timeout_s
                answer = yield Waiting(answer, check.timeout_s)
                if monotonic() > latest and type(answer) is not Deny:
                    raise TimeoutError  # noqa: TRY301 - one that cannot be cancelled has answered all the same
            _understand(answer)
        except BaseException as error:
            if is_the_callers(error):
                raise
            # Whoever closes this generator raises GeneratorExit in it; then no other check may be asked.
            if not check.advisory or isinstance(error, (GeneratorExit, Denied)):
                return _denial(check, error) if isinstance(error, Denied) else _failed(check, error)
            note()
            continue
        if isinstance(answer, Deny):
            return answer
        asked = asked or answer
    if checks and monotonic() > deadline:
        return Deny(Reason.CHECK_FAILED, "The checks took all the time that the call may take.")
    return asked


def _understand(answer: Any) -> None:
    """Accept None, `Deny` and `Ask` of texts.

    Raises:
        NoAnswer: It is something else.
    """
    if answer is None:
        return
    if type(answer) not in {Deny, Ask}:  # A subclass may say one thing now and another later.
        raise NoAnswer(f"answered {type(answer).__name__}, not None, Deny or Ask")
    texts = (answer.reason, answer.message or "", getattr(answer, "hint", None) or "")
    if not all(isinstance(text, str) for text in texts):
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
