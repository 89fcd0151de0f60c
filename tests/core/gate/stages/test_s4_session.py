"""Stage 4, the guards that remember a session's calls: what they refuse, what they add, whose calls they count."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.core.gate.conftest import ACT, ECHO, spec_of, spec_with_runtime

from toolcharter.api.call import Call, Caller
from toolcharter.gate.stages.s4_session import has_effects
from toolcharter.gate.toolbox import Toolbox
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import (
    AfterCall,
    Availability,
    CachedReads,
    CallerPattern,
    DependsOn,
    Rate,
    Rates,
    ReadBeforeWrite,
    Repeats,
    SessionGuards,
    SkipDuplicate,
)


class TestMemory:
    def test_repeated_calls_are_warned_and_denied(self, make_toolbox, events) -> None:
        """The model is told first; then the call is refused, and so is the next."""
        toolbox = make_toolbox(ECHO, session_guards=SessionGuards(repeated_calls=Repeats(warn=2, deny=3)))

        results = [toolbox.call("echo", {}) for _ in range(4)]

        assert [result.outcome for result in results] == ["ok", "ok", "denied", "denied"]
        assert results[0].text == "hi"
        assert results[1].text.startswith("hi\nNOTE: ")
        assert (results[2].reason, events[-1]["stage"]) == ("repeated_call", "guard")
        assert toolbox.decide("echo", {}).reason == "repeated_call"
        assert toolbox.call("echo", {"word": "other"}).outcome == "ok"

    def test_sessions_do_not_share_memory_and_subagents_do(self, make_toolbox) -> None:
        """The caller's session is the key; one that names none shares that of all who name none."""
        toolbox = make_toolbox(ECHO, session_guards=SessionGuards(repeated_calls=Repeats(deny=2)))
        one, child, other = (
            toolbox.for_caller(Caller(agent=agent, session=session, depth=depth))
            for agent, session, depth in (("a", "s1", 0), ("b", "s1", 1), ("a", "s2", 0))
        )

        assert [view.call("echo", {}).outcome for view in (one, child, other)] == ["ok", "denied", "ok"]

    def test_calls_need_an_earlier_one_and_leave_a_message(self, make_toolbox) -> None:
        """`depends_on` and `after_call` speak the rule language."""
        memory = SessionGuards(
            depends_on=(DependsOn(parse_rule("act:push"), parse_rule("act:look"), "Look first."),),
            after_call=(AfterCall(parse_rule("act:push(what=v*)"), "Tell the team."),),
        )
        toolbox = make_toolbox(ACT, session_guards=memory)

        early = toolbox.call("act", {"action": "push"})
        toolbox.call("act", {})
        late = toolbox.call("act", {"action": "push", "what": "v1"})

        assert (early.reason, early.message) == ("precondition_failed", "Look first.")
        assert late.text == "push v1\nNOTE: Tell the team."

    def test_an_existing_file_must_be_read_before_it_is_written(self, make_toolbox, tmp_path: Path) -> None:
        """The path is asked about through the workspace's own guard."""

        def read_file(rt: Any) -> Callable[[str], str]:
            def read(path: str) -> str:
                with rt.paths.open_file(path) as file:
                    return file.read(100).decode()

            return read

        def write_file(path: str) -> str:
            (tmp_path / path).write_text("new")
            return "written"

        (tmp_path / "old.txt").write_text("old")
        memory = SessionGuards(read_before_write=ReadBeforeWrite("strict"))
        toolbox = make_toolbox(
            spec_with_runtime(read_file, capabilities={"fs:read"}), spec_of(write_file), session_guards=memory
        )

        blind = toolbox.call("write_file", {"path": "old.txt"})
        fresh = toolbox.call("write_file", {"path": "new.txt"})
        toolbox.call("read_file", {"path": "./old.txt"})
        seeing = toolbox.call("write_file", {"path": "old.txt"})

        assert (blind.outcome, blind.reason, fresh.outcome, seeing.outcome) == (
            "denied",
            "precondition_failed",
            "ok",
            "ok",
        )

    def test_duplicates_are_skipped(self, make_toolbox) -> None:
        """No cached result is given: the model has it already."""
        toolbox = make_toolbox(
            ACT, session_guards=SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("act:look"), ("what",)),))
        )

        outcomes = [toolbox.call("act", {"what": what}).outcome for what in ("a", "b", "a")]

        assert outcomes == ["ok", "ok", "denied"]

    def test_what_the_model_no_longer_sees_may_be_called_again(self, make_toolbox) -> None:
        """The results that are named, or all of them; of this session, and of no other's."""
        toolbox = make_toolbox(
            ACT, session_guards=SessionGuards(skip_duplicate=(SkipDuplicate(parse_rule("act:look")),))
        )
        one, other = (toolbox.for_caller(Caller(session=name)) for name in ("one", "other"))

        def outcomes(view: Toolbox) -> str:
            return " ".join(view.call("act", {"what": what}).outcome for what in ("a", "b"))

        first = one.call("act", {"what": "a"})
        one.call("act", {"what": "b"})
        outcomes(other)
        one.forget_results(first.call_id, "unknown")
        named = outcomes(one)
        one.forget_results()

        assert (named, outcomes(one), outcomes(other)) == ("ok denied", "ok ok", "denied denied")

    def test_reads_are_answered_from_memory(self, make_toolbox, events, tmp_path: Path) -> None:
        """Without the body, for everybody to see in the event; a write ends it, a limit does not count it."""

        def look(rt: Any) -> Callable[[str], str]:
            def body(path: str) -> str:
                ctx = rt.start("look", path=path)
                with rt.paths.open_file(path) as file:
                    text = file.read(100).decode()
                return str(ctx.ok(text, data={"text": text}))

            return body

        def change(path: str) -> str:
            (tmp_path / path).write_text("new")
            return "written"

        (tmp_path / "a.txt").write_text("old")
        toolbox = make_toolbox(
            spec_with_runtime(look, capabilities={"fs:read"}),
            spec_of(change, capabilities={"fs:write"}),
            session_guards=SessionGuards(cached_reads=CachedReads(600), repeated_calls=Repeats(deny=4)),
            rates=Rates(tools={"look": Rate(calls_per_session=2)}),
        )

        first = toolbox.call("look", {"path": "a.txt"})
        (tmp_path / "a.txt").write_text("elsewhere")  # what toolcharter does not see holds until the time is over
        second = toolbox.call("look", {"path": "a.txt"})
        flags = [
            event.get("fields", {}).get("cached", False) for event in events if event["event"] == "hook.tool.after"
        ]
        toolbox.call("change", {"path": "a.txt"})
        third = toolbox.call("look", {"path": "a.txt"})

        assert [(one.text, one.data) for one in (first, second)] == [("old", {"text": "old"})] * 2
        assert flags == [False, True]
        assert first.call_id != second.call_id
        assert (third.outcome, third.text) == ("ok", "new")
        assert toolbox.call("look", {"path": "b.txt"}).reason == "rate_limited"
        assert [toolbox.call("look", {"path": "a.txt"}).reason for _ in range(2)] == [None, None]
        assert toolbox.call("look", {"path": "a.txt"}).reason == "repeated_call"

    def test_what_is_denied_is_not_answered_from_memory(self, make_toolbox) -> None:
        """Each call passes rules and checks before anything is looked up; others' answers are not given."""
        toolbox = make_toolbox(
            ACT,
            session_guards=SessionGuards(cached_reads=CachedReads(600)),
            availability=(Availability(CallerPattern(agent=("kept-out",)), deny=("act",)),),
        )
        insider, outsider = (toolbox.for_caller(Caller(agent=name)) for name in ("insider", "kept-out"))

        assert insider.call("act", {"what": "a"}).outcome == "ok"
        assert insider.call("act", {"what": "a"}).outcome == "ok"
        assert outsider.call("act", {"what": "a"}).outcome == "denied"

    def test_without_guards_there_is_nothing_to_forget(self, make_toolbox) -> None:
        """A host need not know what the profile remembers."""
        toolbox = make_toolbox(ACT)

        toolbox.forget_results()

        assert toolbox.call("act", {}).outcome == "ok"


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        pytest.param(None, True, id="none declared"),
        pytest.param(frozenset(), False, id="declared to have none"),
        pytest.param(frozenset({"fs:read", "text"}), False, id="reads"),
        pytest.param(frozenset({"fs:read", "net:write"}), True, id="reads and writes"),
        pytest.param(frozenset({"text:write"}), True, id="a word that begins like text"),
    ],
)
def test_what_only_reads_has_no_effects(capabilities, expected, tmp_path: Path) -> None:
    """Of a call whose tool declares nothing it has to be expected that it does something."""
    call = Call("t", None, {}, Caller(), "c", None, "p", tmp_path, "builtin", capabilities, "low")

    assert has_effects(call) is expected
