"""`toolcharter call`: one governed call."""

import json

import pytest

from toolcharter.profile.schema import ProfileFile

from .conftest import MODULE, QUIET, calls_in, ended, events_in, lines_of


def test_words_are_read_by_the_schema(run, desk) -> None:
    """Numbers, booleans and lists become what the tool takes; text stays text; aliases are read alike."""
    result = run("call", "Echo", "word=hi", "count=3", "loud=true", "tags=a", "tags=2", "ratio=0.5", *QUIET)

    assert (result.stdout, result.stderr, result.exit_code) == ('["hi", 3, true, ["a", "2"], 0.5]\n', "", 0)
    assert events_in(desk) == ["hook.tool.before", "hook.policy.before", "hook.tool.after"]


@pytest.mark.parametrize(
    ("words", "stdin", "wanted"),
    [
        pytest.param(["--args", '{"word": "hi", "times": 2}'], "", ["hi", 2, False, [], None], id="option"),
        pytest.param(["--args", "-"], '{"word": "hi"}', ["hi", 1, False, [], None], id="standard-input"),
        pytest.param(["times=2", "--args", '{"word": "hi"}'], "", ["hi", 2, False, [], None], id="both"),
        pytest.param(["word=hi", 'tags=["x", "y"]'], "", ["hi", 1, False, ["x", "y"], None], id="json-list"),
        pytest.param(["word=hi", "ratio=null"], "", ["hi", 1, False, [], None], id="null"),
    ],
)
def test_arguments_may_come_as_json(run, words, stdin, wanted) -> None:
    """JSON gives what words cannot."""
    result = run("call", "echo", *words, *QUIET, stdin=stdin)

    assert (json.loads(result.stdout), result.exit_code) == (wanted, 0)


def test_denial_is_printed_with_its_hint(run, desk) -> None:
    """A denied call ends with status 1 and says what to do instead."""
    result = run("call", "echo", "word=no", *QUIET)

    text = "ERROR: denied_by_policy reason=word_not_allowed\nNot this word.\nHint: Say another.\n"
    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 1)
    assert events_in(desk) == ["hook.tool.before", "hook.policy.before", "hook.policy.deny", "hook.tool.after"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param(
            ("echo", "word=hi", "times=many"),
            "ERROR: invalid_arguments\ntimes: Input should be a valid integer\n",
            id="value-that-does-not-fit",
        ),
        pytest.param(
            ("nope", "x=1"),
            "ERROR: denied_by_policy reason=unknown_tool\nThere is no tool named 'nope'.\n",
            id="unknown-tool",
        ),
    ],
)
def test_what_the_gate_can_judge_is_left_to_it(run, desk, words, text) -> None:
    """A malformed call is governed too, and leaves events."""
    result = run("call", *words, *QUIET)

    assert (result.stdout, result.stderr, result.exit_code) == (text, "", 1)
    assert events_in(desk)[-1] == "hook.tool.after"


def test_json_shows_every_field(run) -> None:
    """`--json` prints the result as `run` would."""
    result = run("call", "echo", "word=no", "--json", *QUIET)

    wanted = ended(
        "denied",
        "ERROR: denied_by_policy reason=word_not_allowed\nNot this word.\nHint: Say another.",
        reason="word_not_allowed",
        message="Not this word.",
        hint="Say another.",
    )
    assert (lines_of(result.stdout), result.exit_code) == ([wanted], 1)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        pytest.param(["word"], "'word' is not of the form key=value.", id="no-equals"),
        pytest.param(["=hi"], "'=hi' is not of the form key=value.", id="no-key"),
        pytest.param(["--args", "[1]"], "--args is JSON, but not an object.", id="no-object"),
        pytest.param(
            ["--args", "{"], "--args is not JSON: unexpected end of data: line 1 column 2 (char 1).", id="no-json"
        ),
        pytest.param(
            ["word=hi", "--args", '{"word": 1}'], "'word' is given as key=value and in --args.", id="given-twice"
        ),
        pytest.param(["word=hi", "word=ho"], "'word' is given 2 times and takes one value.", id="repeated"),
    ],
)
def test_malformed_command_line_is_usage(run, words, error) -> None:
    """What is no call is refused with status 2 and one sentence."""
    result = run("call", "echo", *words, *QUIET)

    usage = "Usage: toolcharter call [OPTIONS] TOOL [KEY=VALUE]...\nTry 'toolcharter call --help' for help.\n"
    assert (result.stdout, result.stderr, result.exit_code) == ("", f"{usage}\nError: {error}\n", 2)


@pytest.mark.parametrize(
    ("argument", "tool", "guess"),
    [
        pytest.param("action", "echo", "; did you mean 'action=log'?", id="actions"),
        pytest.param("word", "echo", ".", id="no-actions"),
        pytest.param("action", "eco", ".", id="no-such-tool"),
    ],
)
def test_a_bare_word_is_taken_for_an_action(run, site, argument, tool, guess) -> None:
    """Who writes `call git log` is told how actions are given."""
    (site / "toolcharter_demo/__init__.py").write_text(MODULE.replace("word: str", f"{argument}: str"))

    result = run("call", tool, "log", *QUIET)

    error = f"Error: 'log' is not of the form key=value{guess}"
    assert (result.stderr.splitlines()[-1], result.exit_code) == (error, 2)


def test_every_fault_of_the_configuration_is_told(run, desk) -> None:
    """Faults go to standard error, one per block, and nothing else does."""
    (desk / "bad.yaml").write_text("profile: bad\ntools: {eco: {}}\nlimit: 1\n")

    result = run("call", "echo", "word=hi", "--profile", "./bad.yaml")

    faults = (
        "./bad.yaml:2:9: tools.eco: no installed plugin provides a tool named 'eco'.\n"
        "Did you mean 'echo'? Installed tools: 'echo'.\n\n"
        "./bad.yaml:3:1: limit: unknown key 'limit'.\n"
        f"Did you mean 'limits'? Known keys: {', '.join(map(repr, sorted(ProfileFile._fields)))}.\n"
    )
    assert (result.stdout, result.stderr, result.exit_code) == ("", faults, 2)


def test_workspace_must_exist(run) -> None:
    """A missing workspace is a fault of the configuration."""
    result = run("call", "echo", "word=hi", "--workspace", "nowhere", *QUIET)

    text = "workspace: 'nowhere' is no folder.\nName an existing folder with --workspace.\n"
    assert (result.stderr, result.exit_code) == (text, 2)


def test_lost_events_are_told_at_the_end(run) -> None:
    """Events that no sink took are counted on standard error, with the cause."""
    result = run("call", "echo", "word=hi", "--profile", "./demo.yaml", "--events", "file:/dev/full")

    told = "toolcharter: 5 event lines were lost: OSError: [Errno 28] No space left on device\n"
    assert (result.stdout, result.stderr, result.exit_code) == ('["hi", 1, false, [], null]\n', told, 0)


def test_tool_that_cannot_close_is_told(run, desk) -> None:
    """What a tool raises while the toolbox closes is told and changes no result."""
    (desk / "demo.yaml").write_text("profile: demo\ntools: {echo: {allowed: [hi], fail_at_close: true}}\n")

    result = run("call", "echo", "word=hi", *QUIET)

    told = "toolcharter: closing a tool failed: RuntimeError: stuck\n"
    assert (result.stdout, result.stderr, result.exit_code) == ('["hi", 1, false, [], null]\n', told, 0)


def test_person_is_shown_what_is_meant_for_people(run, monkeypatch) -> None:
    """On a terminal the user's text is printed, and cannot drive the terminal."""
    monkeypatch.setattr("toolcharter.cli.commands.call.is_terminal", lambda: True)
    monkeypatch.setattr("toolcharter.cli.output.is_terminal", lambda: True)

    result = run("call", "echo", "word=red", *QUIET)

    assert (result.stdout, result.exit_code) == ("for you: \\x1b[31mred\n", 0)


def test_interrupted_call_ends_with_130(run, desk) -> None:
    """Ctrl-C closes the call, whose last event is written."""
    result = run("call", "echo", "word=interrupt", *QUIET)

    assert (result.stdout, result.stderr, result.exit_code) == ("", "", 130)
    after = calls_in((desk / "events.jsonl").read_text())[-1]
    assert (after["event"], after["outcome"], after["reason"]) == ("hook.tool.after", "error", "cancelled")
