"""Messages to the model behind a result."""

import pytest

from toolcharter.guards.session import with_notes
from toolcharter.profile.rules import parse_rule
from toolcharter.profile.settings import AfterCall

TESTED = AfterCall(parse_rule("edit_file"), "Run the tests\n  when you are done.", ("ok", "denied"))


@pytest.mark.parametrize(
    ("tool", "outcome", "told"),
    [
        pytest.param("edit_file", "ok", True, id="ok"),
        pytest.param("edit_file", "denied", True, id="denied"),
        pytest.param("edit_file", "error", False, id="other-outcome"),
        pytest.param("read_file", "ok", False, id="other-tool"),
    ],
)
def test_message_follows_the_outcomes_it_names(make_agent, tool, outcome, told) -> None:
    """A message is one line, however the profile wraps it."""
    agent = make_agent(after_call=(TESTED,))

    assert agent(tool, outcome=outcome) == (("NOTE: Run the tests when you are done.",) if told else ())


def test_call_that_never_entered_has_its_message_too(make_memory, make_call) -> None:
    """What policy or a person denied is an outcome like others."""
    memory = make_memory(after_call=(TESTED,))

    assert memory.after("s", make_call("edit_file"), "denied", "no") == ("NOTE: Run the tests when you are done.",)


def test_messages_stand_in_file_order(make_agent) -> None:
    """All that match are told."""
    agent = make_agent(after_call=(TESTED, TESTED._replace(message="Second.")))

    assert agent("edit_file") == ("NOTE: Run the tests when you are done.", "NOTE: Second.")


@pytest.mark.parametrize(
    ("text", "notes", "whole"),
    [
        pytest.param("found", ("NOTE: a", "NOTE: b"), "found\nNOTE: a\nNOTE: b", id="behind-a-text"),
        pytest.param("", ("NOTE: a",), "NOTE: a", id="alone"),
        pytest.param("found\n", (), "found\n", id="no-notes"),
        pytest.param("", (), "", id="nothing"),
    ],
)
def test_notes_stand_on_lines_of_their_own(text, notes, whole) -> None:
    """The text stays as it is."""
    assert with_notes(text, notes) == whole
