"""`toolcharter run` and `toolcharter decide`: JSON lines in, one answer a line."""

import pytest

from .conftest import QUIET, ended, events_in, lines_of

FAULTS = [
    pytest.param(
        b"nonsense",
        None,
        "The line is not JSON: invalid literal, expected 'null': line 1 column 1 (char 0).",
        id="no-json",
    ),
    pytest.param(b"", None, "The line is not JSON: input data is empty: line 1 column 1 (char 0).", id="empty"),
    pytest.param(b"[1]", None, "The line is JSON but no object.", id="no-object"),
    pytest.param(b'{"id": 7}', 7, "The line has no tool: a text under the key 'tool'.", id="no-tool"),
    pytest.param(b'{"id": 7, "tool": 1}', 7, "The line has no tool: a text under the key 'tool'.", id="tool-no-text"),
    pytest.param(
        b'{"id": 7, "tool": "echo", "arg": {}}',
        7,
        "The line has no key 'args', but 'arg'. Did you mean 'args'?",
        id="misspelt-args",
    ),
    pytest.param(b'{"id": 7, "tool": "echo", "zzz": {}}', 7, "The line has no key 'args', but 'zzz'.", id="a-stranger"),
]


def test_every_call_is_answered_in_order(run, desk) -> None:
    """Each line gives one line: its id and all fields of the result."""
    calls = (
        b'{"tool": "echo", "args": {"word": "hi"}, "id": {"a": [1]}}\n'
        b'{"tool": "echo", "args": {"word": "no"}, "id": "b"}\n'
        b'{"tool": "nope"}\n'
        b'{"tool": "echo", "args": 5, "id": 3, "note": "more keys do no harm"}'
    )

    result = run("run", *QUIET, stdin=calls)

    denied = "ERROR: denied_by_policy reason="
    told = "There is no tool named 'nope'."
    unfit = "arguments are a mapping by name, not int"
    assert lines_of(result.stdout) == [
        {"id": {"a": [1]}, **ended("ok", '["hi", 1, false, [], null]')},
        {
            "id": "b",
            **ended(
                "denied",
                f"{denied}word_not_allowed\nNot this word.\nHint: Say another.",
                reason="word_not_allowed",
                message="Not this word.",
                hint="Say another.",
            ),
        },
        {"id": None, **ended("denied", f"{denied}unknown_tool\n{told}", reason="unknown_tool", message=told)},
        {
            "id": 3,
            **ended("error", f"ERROR: invalid_arguments\n{unfit}", reason="invalid_arguments", message=unfit),
        },
    ]
    assert (result.stderr, result.exit_code) == ("", 0)
    assert len(events_in(desk)) == 13


def test_keys_of_a_result_line_are_in_the_order_of_the_result(run) -> None:
    """The id first, then the fields as `ToolResult` declares them."""
    result = run("run", *QUIET, stdin=b'{"tool": "echo"}\n')

    assert result.stdout.startswith('{"id":null,"outcome":"error","text":"ERROR: invalid_arguments')


@pytest.mark.parametrize(("line", "identity", "message"), FAULTS)
def test_line_that_is_no_call_gets_an_answer(run, line, identity, message) -> None:
    """Every line has its answer, so that a driver never loses count."""
    result = run("run", *QUIET, stdin=line + b"\n")

    text = f"ERROR: invalid_arguments\n{message}"
    wanted = {"id": identity, **ended("error", text, reason="invalid_arguments", message=message)}
    assert (lines_of(result.stdout), result.exit_code) == ([wanted], 0)


@pytest.mark.parametrize(("line", "identity", "message"), FAULTS)
def test_line_that_is_no_call_is_decided(run, line, identity, message) -> None:
    """What is no call is an error at the stage of the arguments."""
    result = run("decide", *QUIET, stdin=line + b"\n")

    wanted = {
        "id": identity,
        "outcome": "error",
        "reason": "invalid_arguments",
        "stage": "arguments",
        "rule": None,
        "tool_checks": "not_evaluated",
    }
    assert (lines_of(result.stdout), result.exit_code) == ([wanted], 0)


def test_decisions_execute_nothing(run, desk) -> None:
    """A decision runs a staged tool's checks, and leaves no event."""
    calls = (
        b'{"tool": "echo", "args": {"word": "sleep"}, "id": 1}\n'
        b'{"tool": "echo", "args": {"word": "no"}, "id": 2}\n'
        b'{"tool": "nope", "args": {}, "id": 3}\n'
    )

    result = run("decide", *QUIET, stdin=calls)

    rest = {"rule": None}
    assert lines_of(result.stdout) == [
        {"id": 1, "outcome": "allow", "reason": None, "stage": "mode", "tool_checks": "passed", **rest},
        {"id": 2, "outcome": "deny", "reason": "word_not_allowed", "stage": "tool", "tool_checks": "denied", **rest},
        {"id": 3, "outcome": "deny", "reason": "unknown_tool", "stage": "name", "tool_checks": "not_evaluated", **rest},
    ]
    assert (result.stderr, result.exit_code, events_in(desk)) == ("", 0, [])
