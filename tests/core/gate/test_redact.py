"""What leaves the gate, redacted: arguments, identifiers, names, texts and reasons."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from toolcharter.gate.redact import (
    MAX_ID,
    MAX_SHOWN_BYTES,
    REDACTORS,
    as_reason_word,
    mask_secrets,
    redact_action,
    redact_args,
    redact_id,
    redact_name,
    redact_text,
)

TOKEN = "ghp_" + "aB3dE6gH9j" * 3 + "aB3dE6"
CUT = "x" * 400 + "...<truncated>"


class Raising(Mapping[str, Any]):
    """Arguments that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise LookupError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Liar(str):
    """A text that says it is empty."""

    __slots__ = ()

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("detail", "args", "shown"),
    [
        pytest.param("full", {"a": 1, "b": "x"}, {"a": 1, "b": "x"}, id="full"),
        pytest.param("full", {"a": "x" * 500}, {"a": CUT}, id="full, cut"),
        pytest.param("full", {"a": TOKEN, "b": f"{TOKEN}\n"}, {"a": "[REDACTED]", "b": "[REDACTED]\n"}, id="secrets"),
        pytest.param("full", {"a": ["x" * 300] * 300}, {"a": "list[300]"}, id="full, too long even when cut"),
        pytest.param("shape", {"a": "x" * 500, "b": 3}, {"a": "str[500]", "b": "int"}, id="shape"),
        pytest.param("shape", {f"k{number}": 1 for number in range(30_000)}, None, id="a shape that is too long"),
        pytest.param("none", {"a": 1}, None, id="none"),
    ],
)
def test_arguments_are_shown_in_the_detail_that_is_asked_for(detail: Any, args: Any, shown: Any) -> None:
    """Alike for those that the gate has read and for those of an unknown tool; never more than an event can hold."""
    read, unread = REDACTORS[detail](orjson.dumps(args)), redact_args(args, detail)

    assert orjson.loads(read) == orjson.loads(unread) == shown
    assert len(read) <= MAX_SHOWN_BYTES


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        pytest.param({"a": object}, {"a": "<class 'object'>"}, id="what is no JSON"),
        pytest.param({"a": "\ud800"}, None, id="a lone surrogate"),
        pytest.param(Raising(), None, id="a mapping that raises"),
        pytest.param(7, None, id="no mapping"),
    ],
)
def test_arguments_that_are_no_json_raise_nothing(args: Any, shown: Any) -> None:
    """They are shown as text, or not at all."""
    assert orjson.loads(redact_args(args, "full")) == shown


@pytest.mark.parametrize(
    ("redact", "given", "shown"),
    [
        pytest.param(redact_action, None, None, id="no action"),
        pytest.param(redact_action, "show", "show", id="a word"),
        pytest.param(redact_action, "x" * 500, CUT, id="a long action"),
        pytest.param(redact_action, TOKEN, "[REDACTED]", id="a secret for an action"),
        pytest.param(redact_id, 7, "7", id="a number for an identifier"),
        pytest.param(redact_id, "x" * 5000, "x" * MAX_ID, id="a long identifier"),
        pytest.param(redact_id, f"s-{TOKEN}", "s-[REDACTED]", id="a secret in an identifier"),
        pytest.param(redact_id, "\ud800", "\\ud800", id="a surrogate in an identifier"),
        pytest.param(redact_name, ["a"], "<list>", id="no text for a name"),
        pytest.param(redact_name, "x" * 5000, "x" * 64, id="a long name"),
        pytest.param(redact_name, TOKEN, "[REDACTED]", id="a secret for a name"),
        pytest.param(redact_text, None, None, id="no text"),
        pytest.param(redact_text, f"see {TOKEN}.", "see [REDACTED].", id="a secret in a text"),
        pytest.param(as_reason_word, None, None, id="no reason"),
        pytest.param(as_reason_word, "not_now", "not_now", id="a reason"),
        pytest.param(as_reason_word, "Not now!", "malformed_not_now", id="a sentence for a reason"),
        pytest.param(as_reason_word, "x" * 100, "malformed_" + "x" * 54, id="a long word for a reason"),
        pytest.param(as_reason_word, TOKEN, "malformed_redacted", id="a secret for a reason"),
    ],
)
def test_what_leaves_the_gate_is_short_whole_and_without_secrets(
    redact: Callable[[Any], object], given: Any, shown: object
) -> None:
    """Each in the form that its place in a result or an event can carry."""
    assert redact(given) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("plain", ("plain", 0), id="plain"),
        pytest.param(f"{TOKEN} and {TOKEN}", ("[REDACTED] and [REDACTED]", 2), id="two secrets"),
        pytest.param("a\ud800", ("a\\ud800", 0), id="a lone surrogate"),
        pytest.param(Liar("long"), ("long", 0), id="a text that lies about its length"),
    ],
)
def test_a_text_is_scrubbed_and_its_secrets_are_counted(text: str, expected: tuple[str, int]) -> None:
    """What comes out is a plain text that every host can carry."""
    found = mask_secrets(text)

    assert found == expected
    assert type(found[0]) is str


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        pytest.param({"items": ["x"] * 30_000}, {"items": "list[30000]"}, id="many-items"),
        pytest.param({f"k{number}": 1 for number in range(30_000)}, None, id="many-names"),
    ],
)
def test_huge_arguments_leave_small_events(args, shown, make_toolbox, events) -> None:
    """A model cannot fill the disk with the arguments of refused calls."""
    make_toolbox().call("nope", args)

    assert [event["args"] for event in events] == [shown] * 4
