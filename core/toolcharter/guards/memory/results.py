"""The same result again and again, whatever the arguments: first a message, then `repeated_call`."""

from dataclasses import dataclass

from toolcharter.api.call import Call, Deny
from toolcharter.api.reasons import Reason
from toolcharter.guards.memory.digests import of_text
from toolcharter.guards.memory.guard import Ending, MemoryGuard, Objection
from toolcharter.profile.settings import Repeats


@dataclass(slots=True)
class Results:
    """The last result of a session, and how often it came in a row."""

    tool: str = ""
    digest: bytes = b""
    length: int = 0


class ResultsGuard(MemoryGuard[Results, None]):
    """Counts identical results of one tool, one after the other in a session, in the order they end.

    The message comes with the `warn`th result; after the `deny`th the tool is refused until another tool has
    answered. An effect that says nothing (`mkdir`, `git add`) is no sign of a loop: it ends the row.
    """

    def __init__(self, settings: Repeats) -> None:
        self._settings = settings

    def fresh(self) -> Results:
        """No result yet."""
        return Results()

    def look(self, call: Call) -> None:
        """Nothing but the tool's name matters."""

    def check(self, state: Results, call: Call, facts: None) -> Objection:  # noqa: ARG002 - what every guard gets
        """Deny the tool whose last `deny` results were one and the same."""
        deny = self._settings.deny
        if deny is None or state.tool != call.tool or state.length < deny:
            return None
        return Deny(Reason.REPEATED_CALL, f"{_said(state)}.", "Use another tool first.")

    def leave(self, state: Results, call: Call, facts: None, ending: Ending) -> str | None:  # noqa: ARG002 - as above
        """Count the result; tell the model from `warn` on."""
        if ending.has_effects and ending.outcome == "ok" and not ending.text.strip():
            state.tool, state.digest, state.length = "", b"", 0
            return None
        digest = of_text(ending.text)
        same = (state.tool, state.digest) == (call.tool, digest)
        state.tool, state.digest, state.length = call.tool, digest, state.length + 1 if same else 1
        warn = self._settings.warn
        return None if warn is None or state.length < warn else f"{_said(state)}; try another way."


def _said(state: Results) -> str:
    return f"The last {state.length} calls of {state.tool!r} had the same result"
