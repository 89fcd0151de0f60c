"""Short names for calls and texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter.guards.session.state import digest_call, digest_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), JSON))
def test_order_of_arguments_does_not_matter(args) -> None:
    """Equal arguments have one name, however they are ordered."""
    assert digest_call("t", None, args) == digest_call("t", None, dict(reversed(args.items())))


@each_row(
    ("left", "right"),
    [
        pytest.param(("t", None, {"a": 1}), ("t", None, {"a": "1"}), id="number-and-text"),
        pytest.param(("t", None, {"a": 1}), ("t", None, {"a": True}), id="number-and-truth"),
        pytest.param(("t", None, {"a": None}), ("t", None, {}), id="null-and-absent"),
        pytest.param(("t", None, {"a": [1, 2]}), ("t", None, {"a": [2, 1]}), id="order-of-a-list"),
        pytest.param(("t", None, {}), ("u", None, {}), id="tool"),
        pytest.param(("t", "log", {}), ("t", "diff", {}), id="action"),
        pytest.param(("t", None, {"a": 2**70}), ("t", None, {"a": 2**70 + 1}), id="huge-numbers"),
        pytest.param(("t", None, {"a": "\ud800"}), ("t", None, {"a": "\ud801"}), id="half-characters"),
        pytest.param(("t", None, {"a": {1}}), ("t", None, {"a": {2}}), id="sets"),
    ],
)
def test_different_calls_have_different_names(left, right) -> None:
    """What differs in JSON is another call; what JSON has no room for has a name too."""
    assert (digest_call(*left) == digest_call(*right), digest_call(*left) == digest_call(*left)) == (False, True)


@pytest.mark.parametrize("text", ["", "a", "\ud800", "\x00" * 100_000])
def test_every_text_has_a_short_name(text) -> None:
    """A name has 16 bytes, and is no other text's."""
    assert (len(digest_text(text)), digest_text(text) == digest_text(text + "!")) == (16, False)
