"""`toolcharter run` and `toolcharter decide`: JSON lines in, one answer a line."""

import json

import pytest

from .conftest import QUIET, ended, events_in, lines_of

KNOWN = "Known keys: 'tool', 'args', 'id', 'traceparent', 'tracestate'."
FAULTS = [
    pytest.param(b"nonsense", None, "line 2, column 1: not JSON: invalid literal, expected 'null'.", id="no-json"),
    pytest.param(b'{"id": 7,', None, "line 2, column 10: not JSON: unexpected end of data.", id="cut-off"),
    pytest.param(
        b'{"id": 7, "args": {"path": "a" "b"}}',
        None,
        "line 2, column 32: not JSON: unexpected character, expected ',' or '}'.",
        id="in-the-middle",
    ),
    pytest.param(b"", None, "line 2, column 1: not JSON: input data is empty.", id="empty"),
    pytest.param(b"[1]", None, "line 2: JSON, but not an object.", id="no-object"),
    pytest.param(b'{"id": 7}', 7, "line 2: no tool: write its name under the key 'tool'.", id="no-tool"),
    pytest.param(
        b'{"id": 7, "tool": 1}', 7, "line 2: no tool: write its name under the key 'tool'.", id="tool-no-text"
    ),
    pytest.param(
        b'{"id": 7, "tool": "echo", "arg": {}}',
        7,
        f"line 2: unknown key 'arg'. Did you mean 'args'? {KNOWN}",
        id="misspelt-args",
    ),
    pytest.param(
        b'{"id": 7, "tool": "echo", "args": {"word": "hi"}, "argz": 1}',
        7,
        f"line 2: unknown key 'argz'. Did you mean 'args'? {KNOWN}",
        id="beside-args",
    ),
    pytest.param(b'{"id": 7, "tool": "echo", "zzz": {}}', 7, f"line 2: unknown key 'zzz'. {KNOWN}", id="a-stranger"),
]


def test_every_call_is_answered_in_order(run, desk) -> None:
    """Each line gives one line: its id and all fields of the result."""
    calls = (
        b'{"tool": "echo", "args": {"word": "hi"}, "id": {"a": [1]}}\n'
        b'{"tool": "echo", "args": {"word": "no"}, "id": "b"}\n'
        b'{"tool": "nope"}\n'
        b'{"tool": "echo", "args": 5, "id": 3}'
    )

    result = run("run", *QUIET, stdin=calls)

    denied = "ERROR: denied_by_policy reason="
    told = "There is no tool named 'nope'."
    unfit = "arguments must be a mapping by name, not int"
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
    """Every line has its answer, so that a driver never loses count, and says which line it was."""
    result = run("run", *QUIET, stdin=b'{"tool": "echo", "args": {"word": "hi"}}\n' + line + b"\n")

    text = f"ERROR: invalid_arguments\n{message}"
    wanted = {"id": identity, **ended("error", text, reason="invalid_arguments", message=message)}
    assert (lines_of(result.stdout)[1:], result.exit_code) == ([wanted], 0)


@pytest.mark.parametrize(("line", "identity", "message"), FAULTS)
def test_line_that_is_no_call_is_decided(run, line, identity, message) -> None:
    """What is no call is an error at the stage of the arguments; standard error says what is wrong with which line."""
    result = run("decide", *QUIET, stdin=b'{"tool": "echo", "args": {"word": "hi"}}\n' + line + b"\n")

    wanted = {
        "id": identity,
        "outcome": "error",
        "reason": "invalid_arguments",
        "stage": "arguments",
        "rule": None,
        "tool_checks": "not_evaluated",
    }
    assert (lines_of(result.stdout)[1:], result.exit_code) == ([wanted], 0)
    assert result.stderr == f"toolcharter: {message}\n"


@pytest.mark.parametrize("command", ["run", "decide"])
@pytest.mark.parametrize("form", ["%s", '{"deep": ["%s"]}'])
def test_a_secret_in_an_id_is_masked(run, desk, command, form) -> None:
    """An id comes from the model's side, and goes where results go; one that holds no secret comes back as it was."""
    secret = "gh" + "p_" + "a1B2" * 9
    told = form if form.startswith("{") else f'"{form}"'
    line = '{"tool": "echo", "args": {"word": "hi"}, "id": ' + told % secret + "}"

    result = run(command, *QUIET, stdin=line)

    assert json.loads(result.stdout)["id"] == json.loads(told % "[REDACTED]")
    assert secret not in result.stdout + result.stderr


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
