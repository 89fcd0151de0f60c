"""Sessions at random, beside a model that keeps everything and looks through all of it."""

from dataclasses import dataclass
from itertools import takewhile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from toolcharter.api.call import Call, Caller
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import Repeats, SessionGuards, SkipDuplicate

pytestmark = pytest.mark.slow

SETTINGS = SessionGuards(
    repeated_calls=Repeats(warn=2, deny=4),
    same_result=Repeats(warn=2, deny=3),
    skip_duplicate=(SkipDuplicate(parse_rule("recall"), ("days",)),),
)
TOOLS = st.sampled_from(["recall", "bash"])
DAYS = st.integers(1, 2)
OUTCOMES = st.sampled_from(["ok", "ok", "error", "denied"])


@dataclass
class Made:
    """A call that was made, and what the model of it remembers."""

    call: Call
    has_effects: bool
    entered: int | None
    """When it entered its tool; None if a guard refused it."""
    ended: int | None = None
    outcome: str = ""
    text: str = ""

    @property
    def name(self):
        return self.call.tool, tuple(sorted(self.call.args.items()))


class Sessions(RuleBasedStateMachine):
    """One session; calls overlap as they like."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = ActiveSessionGuards(
            SETTINGS, matcher=lambda rule: lambda call: call.tool == rule.text, identify=lambda _: None
        )
        self.made: list[Made] = []
        self.clock = 0

    def running(self):
        return [made for made in self.made if made.entered is not None and made.ended is None]

    def length(self, call):
        """Which one in its row the call would be."""
        name = Made(call, has_effects=False, entered=None).name
        return 1 + len(list(takewhile(lambda made: made.name == name, reversed(self.made))))

    def row(self):
        """The last result, and how often it came."""
        ended = sorted((made for made in self.made if made.ended is not None), key=lambda made: made.ended or 0)
        said = [
            None if made.has_effects and made.outcome == "ok" and not made.text else (made.call.tool, made.text)
            for made in reversed(ended)
        ]
        if not said or said[0] is None:
            return "", 0
        return said[0][0], len(list(takewhile(lambda each: each == said[0], said)))

    def is_duplicate(self, call):
        effects = [made for made in self.made if made.has_effects and made.entered is not None]
        if call.tool != "recall" or any(made.ended is None for made in effects):
            return False
        return any(
            made.ended is not None
            and made.outcome == "ok"
            and (made.call.tool, made.call.args["days"]) == (call.tool, call.args["days"])
            and not any(
                other is not made and other.outcome != "denied" and (other.ended or 0) > (made.entered or 0)
                for other in effects
            )
            for made in self.made
        )

    def expected(self, call):
        """The guard that refuses the call, or the number of warnings."""
        tool, length = self.row()
        if self.is_duplicate(call):
            return "duplicate"
        if self.length(call) >= 4:
            return "repeated"
        if tool == call.tool and length >= 3:
            return "same result"
        return int(self.length(call) >= 2)

    @staticmethod
    def heard(verdict):
        if verdict is None or isinstance(verdict, tuple):
            return len(verdict or ())
        words = {"called like this": "duplicate", "in a row": "repeated", "same result": "same result"}
        return next(guard for said, guard in words.items() if said in verdict.message)

    @rule(tool=TOOLS, days=DAYS, more=DAYS, has_effects=st.booleans(), dry=st.booleans())
    def call(self, tool, days, more, has_effects, dry) -> None:
        args = {"days": days, "more": more}
        call = Call(tool, None, args, Caller(), "", None, "p", None, "builtin", None, "low")  # type: ignore[arg-type]
        expected = self.expected(call)
        assert self.heard(self.memory.before("s", call)) == expected
        if dry:
            return
        self.clock += 1
        denial = self.memory.entered("s", call, has_effects=has_effects)
        assert self.heard(denial) == (expected if isinstance(expected, str) else 0)
        self.made.append(Made(call, has_effects, None if denial else self.clock))

    @precondition(lambda self: self.running())
    @rule(data=st.data(), outcome=OUTCOMES, text=st.sampled_from(["", "a"]))
    def end(self, data, outcome, text) -> None:
        made = data.draw(st.sampled_from(self.running()))
        self.clock += 1
        told = self.memory.after("s", made.call, outcome, text)
        made.ended, made.outcome, made.text = self.clock, outcome, text
        assert sum("same result" in line for line in told) == (self.row()[1] >= 2)

    @invariant()
    def nothing_is_left_behind(self) -> None:
        """The session knows as many calls on their way as there are."""
        assert len(self.memory._sessions.peek("s").running) == len(self.running())


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
