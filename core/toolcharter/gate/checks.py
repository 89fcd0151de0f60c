"""Plugin checks: each may deny a call or ask for a human; what fails denies."""

from collections.abc import Awaitable, Generator
from inspect import isawaitable
from time import monotonic
from typing import Any

from toolcharter.gate.loop import is_the_callers
from toolcharter.loader.load import Check
from toolcharter.spec.call import Ask, Call, Deny
from toolcharter.spec.reasons import Reason

Answer = None | Deny | Ask


def objections(checks: tuple[Check, ...], call: Call, deadline: float) -> Generator[Awaitable[Answer], Answer, Answer]:
    """Ask *checks* in order; the first `Deny` ends it, the first `Ask` stands if none denies.

    Args:
        checks: Sorted by plugin name.
        call: What the checks look at.
        deadline: When they must have answered, a moment of `time.monotonic`.

    Yields:
        Each asynchronous check, to be awaited within the call's deadline and sent back.

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
                answer = yield answer
        except BaseException as error:
            if is_the_callers(error):
                raise
            return _failed(check, f"raised {type(error).__name__}")
        answer = _understood(check, answer)
        if isinstance(answer, Deny):
            return answer
        asked = asked or answer
    if checks and monotonic() > deadline:
        return Deny(Reason.CHECK_FAILED, "The checks took all the time that the call may take.")
    return asked


def _understood(check: Check, answer: Any) -> Answer:
    if answer is None:
        return answer
    if isinstance(answer, Deny | Ask):
        texts = (answer.reason, answer.message or "", getattr(answer, "hint", None) or "")
        return answer if all(isinstance(text, str) for text in texts) else _failed(check, "answered no text")
    return _failed(check, f"answered {type(answer).__name__}, not None, Deny or Ask")


def _failed(check: Check, what: str) -> Deny:
    return Deny(Reason.CHECK_FAILED, f"The check of {check.plugin!r} {what}.")
