"""What the model is given: limits, strategies, structured data, reasons under test."""

from typing import Any

import pytest
from tests.core.gate.conftest import spec_of, spec_with_runtime

from toolcharter.api.policy import ToolPolicy
from toolcharter.api.runtime import Completed
from toolcharter.api.tool import ToolSpec
from toolcharter.errors import SpecError, ToolError
from toolcharter.profile.model import Limits


class Sized(ToolPolicy):
    """A policy with a limit of its own."""

    max_output_chars: int = 1000


def sized(limit: int) -> tuple[ToolSpec[Sized], dict[str, dict[str, Any]]]:
    spec = ToolSpec("talk", Sized, lambda *_: lambda: "word " * 200)
    return spec, {"talk": {"max_output_chars": limit}}


@pytest.mark.parametrize(
    ("own", "profile", "tool", "length"),
    [
        pytest.param(1000, None, None, 1000, id="at-the-policy's-limit"),
        pytest.param(999, None, None, 999, id="one-past-it"),
        pytest.param(1000, 400, None, 400, id="the-profile's-is-smaller"),
        pytest.param(300, 400, None, 300, id="the-policy's-is-smaller"),
        pytest.param(1000, 400, 200, 200, id="the-profile's-for-this-tool-is-smallest"),
    ],
)
def test_the_smallest_limit_wins(own, profile, tool, length, make_toolbox, events) -> None:
    """Policy, profile and profile-per-tool each bound the output; the notice is within the bound."""
    spec, policies = sized(own)
    toolbox = make_toolbox(
        spec,
        policies=policies,
        limits=Limits(max_output_chars=profile),
        tool_limits={"talk": Limits(max_output_chars=tool)} if tool else {},
    )

    result = toolbox.call("talk", {})

    assert (len(result.text) <= length, result.truncated) == (True, length < 1000)
    assert events[-1]["output_chars"] == len(result.text)
    assert events[-1]["truncated"] is result.truncated


@pytest.mark.parametrize(("strategy", "first", "last"), [("head", 1, 0), ("tail", 0, 1), ("both", 1, 1)])
def test_a_strategy_keeps_its_end(strategy, first, last, make_toolbox) -> None:
    """Head keeps the beginning, tail the end, both both."""

    def talk() -> str:
        return "<first>" + "-" * 2000 + "<last>"

    toolbox = make_toolbox(spec_of(talk), limits=Limits(max_output_chars=300, truncate=strategy))

    text = toolbox.call("talk", {}).text

    assert (text.count("<first>"), text.count("<last>")) == (first, last)


def test_a_secret_is_scrubbed_before_the_limit_cuts_it(make_toolbox) -> None:
    """Truncation never leaves half a secret behind."""
    secret = "AK" + "IA" + "ABCDEFGH12345678"

    def talk() -> str:
        return "x" * 90 + " " + secret + " " + "y" * 500

    toolbox = make_toolbox(spec_of(talk), limits=Limits(max_output_chars=200))

    assert "AK" + "IA" not in toolbox.call("talk", {}).text


def test_data_that_is_no_json_is_an_error_of_the_tool(make_toolbox, events) -> None:
    """`data` is JSON types only."""
    cycle: list[Any] = []
    cycle.append(cycle)

    def odd(rt):
        def tool():
            return rt.start("odd").ok("done", data=cycle)

        return tool

    toolbox = make_toolbox(spec_with_runtime(odd))

    result = toolbox.call("odd", {})

    assert (result.outcome, result.reason, result.data) == ("error", "unexpected_failure", None)
    assert events[-1]["outcome"] == "error"


@pytest.mark.parametrize(
    ("built", "message"),
    [
        pytest.param(3, "its constructor returned 3, not a function", id="no-function"),
        pytest.param(lambda *names: "", "the arguments 'names' of its function cannot be given by name", id="varargs"),
    ],
)
def test_a_constructor_must_return_a_function(built, message, make_toolbox) -> None:
    """What a constructor returns is looked at when the toolbox is built."""
    spec = ToolSpec("odd", ToolPolicy, lambda *_: built)

    with pytest.raises(Exception, match=message) as caught:
        make_toolbox(spec)

    assert isinstance(caught.value.__cause__, SpecError)
    assert str(caught.value) == (
        f"toolcharter-test 1.0: ToolSpec 'odd': {message}.\nThe plugin's author has to fix it."
    )


@pytest.mark.parametrize(
    ("record", "marked"),
    [
        pytest.param(lambda ctx: ctx.deny("timed_out"), True, id="an-error's-reason-on-a-denial"),
        pytest.param(lambda ctx: ctx.error("x", reason="protected_path"), True, id="a-denial's-reason-on-an-error"),
        pytest.param(lambda ctx: ctx.deny("protected_path"), False, id="as-the-table-says"),
    ],
)
def test_a_known_reason_has_its_outcome(record, marked, make_toolbox, events) -> None:
    """Whoever counts by reason counts the right thing."""

    def odd(rt):
        def tool():
            return record(rt.start("odd"))

        return tool

    make_toolbox(spec_with_runtime(odd)).call("odd", {})

    assert events[-1].get("fault") == (["outcome_mismatch"] if marked else None)


@pytest.mark.parametrize("reason", ["timed_out", "audit_unavailable", "rate_limited"])
def test_whether_a_retry_makes_sense_stands_in_one_table(reason, make_toolbox) -> None:
    """A tool need not repeat what the table of reasons says."""

    def plain(rt):
        def tool():
            return rt.start("plain").error("x", reason=reason)

        return tool

    assert make_toolbox(spec_with_runtime(plain)).call("plain", {}).retryable is True


def test_the_first_line_of_a_denial_is_never_cut(make_toolbox) -> None:
    """However small the limit, the model reads why."""

    def refuse(rt):
        def tool():
            return rt.start("refuse").deny("name_not_allowed", "x" * 500)

        return tool

    toolbox = make_toolbox(spec_with_runtime(refuse), limits=Limits(max_output_chars=20))

    result = toolbox.call("refuse", {})

    assert result.text == "ERROR: denied_by_policy reason=name_not_allowed"
    assert (result.truncated, len(result.message or "")) == (True, 20)


def test_what_the_person_reads_is_held_to_the_limit_too(make_toolbox) -> None:
    """Only `data` is whole: it is for programs."""

    def talk(rt):
        def tool():
            return rt.start("talk").ok("short", user_text="y" * 500, data={"long": "z" * 500})

        return tool

    result = make_toolbox(spec_with_runtime(talk), limits=Limits(max_output_chars=100)).call("talk", {})

    assert (len(result.user_text or ""), len(result.data["long"])) == (100, 500)


def completed(exit_code: int = 0, *, timed_out: bool = False) -> Completed:
    return Completed(
        ("x",), exit_code, b"out\xff", b"err" if exit_code else b"", truncated=False, timed_out=timed_out, elapsed_s=0.1
    )


@pytest.mark.parametrize(
    ("program", "ended", "message"),
    [
        pytest.param(completed(), ("ok", None, "out\ufffd", 0), None, id="zero"),
        pytest.param(
            completed(2),
            ("error", "nonzero_exit", "ERROR: nonzero_exit\nout\ufffd\n--- stderr ---\nerr", 2),
            "The program ended with status 2.",
            id="another-status",
        ),
        pytest.param(
            completed(-15, timed_out=True),
            ("error", "timed_out", "ERROR: timed_out\nout\ufffd\n--- stderr ---\nerr", -15),
            "The program took too long and was ended.",
            id="out-of-time",
        ),
    ],
)
def test_a_program_returned_as_it_ended(program, ended, message, make_toolbox) -> None:
    """A tool that hands on what `rt.run` gave it fails as the program failed."""

    def runs() -> Completed:
        return program

    result = make_toolbox(spec_of(runs)).call("runs", {})

    assert (result.outcome, result.reason, result.text, result.exit_code) == ended
    assert result.message == message
    assert result.data["exit_code"] == program.exit_code


def test_an_unexpected_failure_is_told_to_people_without_the_prefix(make_toolbox) -> None:
    """`message` is for people, `text` for the model."""

    def breaks() -> str:
        raise ValueError("boom")

    result = make_toolbox(spec_of(breaks)).call("breaks", {})

    assert (result.text, result.message) == ("ERROR: unexpected_failure: ValueError: boom", "ValueError: boom")


def test_the_output_of_a_declared_program_is_parsed(make_toolbox) -> None:
    """Tools of the kinds cli and custom speak JSON on their last line, if they do. Sample set 001's rule."""

    def script() -> str:
        return 'working\n{"n": 1}\n'

    result = make_toolbox(spec_of(script, kind="cli"), allow=["script"]).call("script", {})

    assert (result.text, result.data) == ('working\n{"n": 1}\n', {"n": 1})


@pytest.mark.parametrize("message", ["not yours", None])
def test_a_denial_s_message_may_be_given_by_its_name(message: str | None, make_toolbox, events) -> None:
    """It reaches the model, the result and the event, and is no field of the tool's own."""

    def plain(rt: Any) -> Any:
        return lambda: rt.start("plain").deny("not_mine", message=message)

    result = make_toolbox(spec_with_runtime(plain)).call("plain", {})

    text = "ERROR: denied_by_policy reason=not_mine" + ("\nnot yours" if message else "")
    assert (result.text, result.message, events[-1]["message"], events[-1]["fields"]) == (text, message, message, {})


@pytest.mark.parametrize(("said", "text"), [("it broke", "ERROR: it broke"), ("ERROR: it broke", "ERROR: it broke")])
def test_the_text_of_an_error_begins_with_the_word(said: str, text: str, make_toolbox) -> None:
    """Once, for the model and for the body that hands it on; the message is as the tool gave it."""
    returned: list[str] = []

    def plain(rt: Any) -> Any:
        def plain() -> str:
            returned.append(rt.start("plain").error(said, reason="broken"))
            return returned[0]

        return plain

    result = make_toolbox(spec_with_runtime(plain)).call("plain", {})

    assert (result.outcome, result.reason, result.text, result.message, returned) == (
        "error",
        "broken",
        text,
        said,
        [text],
    )


@pytest.mark.parametrize("exit_code", [0, 3])
def test_output_of_a_program_that_was_cut_is_told(exit_code: int, make_toolbox, events) -> None:
    """By the result and by the event, for a body that returns what `rt.run` gave and for one that says so itself."""
    cut = Completed(("x",), exit_code, b"beginning", b"", truncated=True, timed_out=False, elapsed_s=0.1)

    def program() -> Completed:
        return cut

    def own(rt: Any) -> Any:
        return lambda: rt.start("own").ok("beginning", truncated=True)

    toolbox = make_toolbox(spec_of(program), spec_with_runtime(own))

    assert [(toolbox.call(name, {}).truncated, events[-1]["truncated"]) for name in ("program", "own")] == [
        (True, True)
    ] * 2


def refuses(rt):
    def tool(how: str, message: str = "Not this one."):
        ctx = rt.start("refuses")
        if how == "denied":
            return ctx.deny("not_listed", message, hint="Try 'tea'.")
        if how == "error":
            return ctx.error(message, reason="no_such_cup", hint="Try 'tea'.")
        if how == "raised":
            raise ToolError(message, reason="no_such_cup", hint="Try 'tea'.")
        return ctx.ok(message)

    return tool


def hands_on(rt):
    def tool(how: str):
        return rt.call("refuses", {"how": how})

    return tool


@pytest.mark.parametrize("through", ["refuses", "hands_on"])
@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("denied", "ERROR: denied_by_policy reason=not_listed\nNot this one.\nHint: Try 'tea'."),
        ("error", "ERROR: Not this one.\nHint: Try 'tea'."),
        ("raised", "ERROR: Not this one.\nHint: Try 'tea'."),
        ("ok", "Not this one."),
    ],
)
def test_the_model_reads_the_hint(how, text, through, make_toolbox) -> None:
    """It is the last line of a refusal and of an error, once, also where another tool hands the result on."""
    result = make_toolbox(spec_with_runtime(refuses), spec_with_runtime(hands_on)).call(through, {"how": how})

    assert (result.text, result.hint) == (text, None if how == "ok" else "Try 'tea'.")
    assert "Hint" not in (result.message or "")


@pytest.mark.parametrize(("limit", "has_hint"), [(72, True), (71, False)])
def test_a_hint_keeps_to_the_limit(limit, has_hint, make_toolbox) -> None:
    """A text that fills its limit gets no hint; the field has it all the same."""
    toolbox = make_toolbox(spec_with_runtime(refuses), limits=Limits(max_output_chars=limit))

    result = toolbox.call("refuses", {"how": "denied"})

    assert (len(result.text), "Hint" in result.text, result.hint) == (72 if has_hint else 55, has_hint, "Try 'tea'.")


def test_data_hides_line_by_line_what_the_text_hides_as_a_whole(make_toolbox) -> None:
    """A search shows a key's lines together in its text and apart in its data, where none of them is known by itself."""
    key = [f"{'MII' if not number else 'Qx7'}{letters}" for number, letters in enumerate(("EvQ" * 20, "k9B" * 20))]
    lines = ["-----BEGIN " + "PRIVATE KEY-----", *key]
    told = "\n".join(["notes.md", "1:harmless words here", *(f"{at}:{line}" for at, line in enumerate(lines, 4))])

    def build(*parts: Any) -> Any:
        rt = parts[-1]

        def search() -> str:
            ctx = rt.start("search")
            data = {"path": "notes.md", "matches": ["harmless words here", *key, "\n".join(key)]}
            return ctx.ok(told, data=data)

        return search

    toolbox = make_toolbox(ToolSpec("search", ToolPolicy, build))

    result = toolbox.call("search", {})

    assert (key[1] in result.text, key[1] in str(result.data)) == (False, False)
    assert (result.data["path"], result.data["matches"][0]) == ("notes.md", "harmless words here")
