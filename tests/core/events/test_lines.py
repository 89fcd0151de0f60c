"""Event lines: templates that must come out as the JSON they stand for."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.api.call import Caller, RuleRef
from toolcharter.events import lines as lines_module
from toolcharter.events.contract import (
    AFTER_FIELDS,
    BASE_FIELDS,
    BEFORE,
    DENY_FIELDS,
    LEVELS,
    POLICY_BEFORE,
    POLICY_DENY,
)
from toolcharter.events.lines import (
    MAX_CALLERS,
    MAX_VERDICTS,
    Clock,
    LineFormat,
    cut,
    rule_field,
    shape,
    verdict_fields,
)

names = st.text(max_size=40)
maybe = st.none() | names


@given(profile=names, tool=names, plugin=maybe, agent=maybe, session=maybe, call_id=names, parent=maybe, action=maybe)
def test_whatever_the_names_each_line_is_one_json_object(
    profile, tool, plugin, agent, session, call_id, parent, action
) -> None:
    """No name can break out of its field or out of its line."""
    format_ = LineFormat(profile, "d" * 64).for_tool(tool, plugin, Caller(agent=agent, session=session))
    tail = format_.tail(call_id, parent, action, b'{"a":1}')

    block = format_.first_half(tail) + format_.deny(tail, verdict_fields("r", None, None, "tool"))

    parsed = [json.loads(line) for line in block.split(b"\n")[:-1]]
    assert [event["event"] for event in parsed] == [BEFORE, POLICY_BEFORE, POLICY_DENY]
    assert all(
        (event["profile"], event["tool"], event["plugin"], event["agent"], event["session"])
        == (profile, tool, plugin, agent, session)
        for event in parsed
    )
    assert all(
        (event["call_id"], event["parent_id"], event["action"], event["args"]) == (call_id, parent, action, {"a": 1})
        for event in parsed
    )


def test_a_surrogate_in_a_name_is_escaped() -> None:
    """What UTF-8 cannot carry is shown as an escape."""
    format_ = LineFormat("p", "d").for_tool("\ud800", None, Caller())

    (line,) = format_.before(format_.tail("c", None, None, b"null")).splitlines()

    assert json.loads(line)["tool"] == "\\ud800"


@pytest.mark.parametrize("outcome", list(LEVELS))
def test_the_fields_of_an_after(outcome: str) -> None:
    """The general form and the template for plain calls agree with the contract."""
    format_ = LineFormat("p", "d").for_tool("t", "x", Caller())
    tail = format_.tail("c", None, None, b"{}")
    fields = dict.fromkeys(AFTER_FIELDS[2:])

    event = json.loads(format_.after(tail, outcome, fields))

    assert tuple(event) == (*BASE_FIELDS, *AFTER_FIELDS)
    assert (event["level"], event["status"]) == (LEVELS[outcome], "ok" if outcome == "ok" else "error")


def test_the_template_of_a_plain_after_equals_the_general_form() -> None:
    """Both forms of an ok after are one event."""
    format_ = LineFormat("p", "d").for_tool("t", "x", Caller())
    tail = format_.tail("c", None, None, b"{}")
    fields: dict[str, Any] = {
        "reason": None,
        "message": None,
        "rule": None,
        "stage": None,
        "elapsed_ms": 0.07,
        "output_chars": 5,
        "truncated": False,
        "redactions": 0,
        "fields": {},
    }

    plain, general = json.loads(format_.after_ok(tail, 0.07, 5)), json.loads(format_.after(tail, "ok", fields))

    for event in (plain, general):
        del event["ts"], event["seq"]
    assert list(plain.items()) == list(general.items())


@each_row(
    ("message", "rule"),
    [
        pytest.param(None, None, id="a reason alone"),
        pytest.param('Ask %s "first" \N{LATIN SMALL LETTER E WITH ACUTE}' + "x" * 400, None, id="a long message"),
        pytest.param("no", RuleRef("bash:*%d*", "p.yaml:3:5"), id="a rule"),
    ],
)
def test_a_plain_denial_has_the_fields_of_any_other_after(message, rule) -> None:
    """The short way for denied calls writes what the general one would."""
    format_ = LineFormat("p", "d").for_tool("t", "x", Caller())
    tail = format_.tail("c", None, None, b"{}")
    shown = {"reason": "r", "message": cut(message), "rule": rule_field(rule), "stage": "deny"}
    fields = shown | {"elapsed_ms": 0.07, "output_chars": 5, "truncated": False, "redactions": 0, "fields": {}}

    plain = json.loads(format_.after_denied(tail, verdict_fields("r", message, rule, "deny"), 0.07, 5))

    general = json.loads(format_.after(tail, "denied", fields))
    for event in (plain, general):
        del event["ts"], event["seq"]
    assert list(plain.items()) == list(general.items())


def test_so_many_callers_are_remembered_and_no_more() -> None:
    """A host may make up any number of sessions; what is forgotten is encoded anew."""
    format_ = LineFormat("p", "d")
    first = format_.for_tool("t", "x", Caller(session="0"))._caller_fields

    for number in range(2 * MAX_CALLERS):
        format_.for_tool("t", "x", Caller(session=str(number)))
        assert len(format_._callers) <= MAX_CALLERS == 256

    assert format_.for_tool("t", "x", Caller(session="0"))._caller_fields == first


def test_so_many_denials_are_remembered_and_no_more() -> None:
    """A model may bring about any number of different ones."""
    for number in range(MAX_VERDICTS + 10):
        verdict_fields("r", f"message {number}", None, "tool")

    assert lines_module._verdict.cache_info().currsize == MAX_VERDICTS == 256


def test_a_rule_is_shown_with_its_place() -> None:
    """A deciding rule travels as text and source."""
    rule = RuleRef("bash:*sudo*", "p.yaml:3:5")

    fields = json.loads(b"{" + verdict_fields("r", "x" * 401, rule, "deny")[1:] + b"}")

    assert tuple(fields) == DENY_FIELDS
    assert fields["rule"] == rule_field(rule) == {"text": "bash:*sudo*", "source": "p.yaml:3:5"}
    assert fields["message"] == "x" * 400 + "...<truncated>"


def test_a_timestamp_is_utc_with_milliseconds(monkeypatch) -> None:
    """The part up to the second is renewed when the second is."""
    moments = iter([1_795_256_137_042_999_999, 1_795_256_137_999_000_000, 1_795_256_138_000_000_000])
    monkeypatch.setattr(lines_module, "time_ns", lambda: next(moments))
    clock = Clock()

    seen = [clock.now().decode() for _ in range(3)]

    assert [text[-5:] for text in seen] == [".042Z"[-5:], ".999Z", ".000Z"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text) for text in seen)
    assert seen[0][:19] == seen[1][:19] != seen[2][:19]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("x" * 400, "x" * 400, id="at-the-limit"),
        pytest.param("x" * 401, "x" * 400 + "...<truncated>", id="one-past-it"),
        pytest.param({"k" * 401: ["y" * 401, 1]}, None, id="nested"),
        pytest.param((1, None, True), [1, None, True], id="tuple"),
    ],
)
def test_long_strings_are_cut_wherever_they_stand(value: Any, expected: Any) -> None:
    """Keys and items alike."""
    if expected is None:
        expected = {"k" * 400 + "...<truncated>": ["y" * 400 + "...<truncated>", 1]}

    assert cut(value) == expected


def test_the_shape_of_arguments_tells_types_and_lengths() -> None:
    """No value is left in a shape."""
    value = {"path": "secret", "n": 3, "deep": {"b": True}, "list": [1, 2], "none": None}

    assert shape(value) == {"path": "str[6]", "n": "int", "deep": {"b": "bool"}, "list": "list[2]", "none": "null"}
