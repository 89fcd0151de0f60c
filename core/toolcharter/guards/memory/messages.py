"""Messages to the model behind the result of a call that matches."""

from collections.abc import Callable, Sequence

from toolcharter.api.call import Call, Outcome
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import AfterCall


class Messages:
    """The profile's messages; they need no memory, only the end of a call, denied ones included."""

    def __init__(self, entries: Sequence[AfterCall], matcher: Callable[[Rule], Callable[[Call], bool]]) -> None:
        self._entries = tuple((matcher(entry.match), frozenset(entry.outcomes), entry.message) for entry in entries)

    def after(self, call: Call, outcome: Outcome) -> tuple[str, ...]:
        """Every message that fits, in file order."""
        return tuple(
            message for matches, outcomes, message in self._entries if outcome in outcomes and _fits(matches, call)
        )


def _fits(matches: Callable[[Call], bool], call: Call) -> bool:
    try:
        return matches(call)
    except Exception:  # noqa: BLE001 - the body has run: arguments that cannot be looked at must not cost its result
        return False
