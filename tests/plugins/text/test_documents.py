"""Reading documents, tried on many: what Python's reader takes is taken alike, what it does not is told."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcharter import ToolError
from toolcharter_text import documents
from toolcharter_text.documents import DocumentReason, read_document, read_lines

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner), max_leaves=20)
PIECES = ["{", "}", "[", "]", '"a"', '"\\u0061"', '"', ":", ",", "1", "-", "1e5", "9" * 21, "NaN", " ", "\n", "\\", "é"]


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_written_is_read_again(value: Any, ascii_only: bool, indent: int | None) -> None:  # noqa: FBT001 - drawn
    """Escaped or not, in one line or many, names twice in different objects."""
    text = json.dumps([value, value], ensure_ascii=ascii_only, indent=indent)

    assert read_document(text.encode(), 50) == [value, value]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_whatever_is_given_is_read_or_told(text: str) -> None:
    """There is no third way, and what is read is what Python reads."""
    outcome = read_or_told(text)

    assert outcome in list(DocumentReason) or outcome == [json.loads(text)]


def read_or_told(text: str) -> Any:
    try:
        return [read_document(text.encode(), 50)]
    except ToolError as error:
        return error.reason


@given(st.lists(VALUES))
def test_lines_are_read_one_by_one(values: list[Any]) -> None:
    """Each line is what it would be alone."""
    assert read_lines("\n".join(map(json.dumps, values)).encode(), 50) == values


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]', '{"": 1, "": 2}'])
def test_no_object_has_two_members_of_a_name(text: str) -> None:
    """Programs differ in which of them counts."""
    with pytest.raises(ToolError) as caught:
        read_document(text.encode(), 50)

    assert caught.value.reason == DocumentReason.DUPLICATE_KEY


LONG_NAMES = ['"a": ', '"b": ', '"\\u0061" :', '"a:\\"": ']
MEMBERS = st.tuples(st.sampled_from(LONG_NAMES), st.sampled_from(["1", '":"', "9" * 19, "9" * 21, "[[]]", '{"a":1}']))


@given(st.lists(st.lists(MEMBERS, max_size=4).map(lambda members: f"{{{','.join(map(''.join, members))}}}")))
def test_only_what_is_beyond_doubt_is_taken_unread(objects: list[str]) -> None:
    """The quick look at a document never misses what the slow one finds, in one document or in lines of them."""
    text = f"[{','.join(objects)}]"

    assert slow_reason(text, 50) == read_reason(lambda: read_document(text.encode(), 50))
    lines = [line for line in objects if slow_reason(line, 2)]
    assert (read_reason(lambda: read_lines("\n".join(objects).encode(), 2)) is None) == (lines == [])


def slow_reason(text: str, depth: int) -> str | None:
    return read_reason(lambda: documents._check(text, depth, 1))


def read_reason(read: Callable[[], object]) -> str | None:
    try:
        read()
    except ToolError as error:
        return error.reason
    return None


@pytest.mark.parametrize("value", [1, "a: b", {"a": {"a": 1}, "t": "12:30"}, [{"a": 1.0}, {"a": 10**17}], [[], {}]])
def test_an_ordinary_document_is_looked_at_quickly(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow look, which took seconds for a megabyte, is for doubtful ones."""

    def never(*_: object) -> None:
        raise AssertionError("this is beyond doubt")

    monkeypatch.setattr(documents, "_check", never)
    text = json.dumps(value)

    assert read_document(text.encode(), 2) == value
    assert read_lines(f"{text}\n{text}".encode(), 2) == [value, value]
