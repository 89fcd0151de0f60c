"""Numbers at the border."""

from typing import Any

import pytest
from tests.rows import each_row

from toolcharter.api.policy import ToolPolicy, require_finite

NAN, INF = float("nan"), float("inf")


class Timed(ToolPolicy):
    """A policy for which no number is no limit."""

    timeout_s: float | None = 30.0


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (NAN, "nan is no finite number"),
        (-INF, "-inf is no finite number"),
        ({"a": {"b": [1, INF]}}, "a.b.1: inf is no finite number"),
        ([(NAN,)], "0.0: nan is no finite number"),
    ],
)
def test_no_number_is_refused_with_its_place(value: Any, said: str) -> None:
    """What compares as no limit does is refused, wherever it stands."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared below
        require_finite(value)

    assert str(caught.value) == said


@each_row("value", [None, 1, 1e308, -0.0, "nan", [], {}, {"a": [1, "inf", None]}, 10**400])
def test_numbers_and_text_pass(value: Any) -> None:
    """Every finite number is one, and text is no number."""
    require_finite(value)


@pytest.mark.parametrize("number", [NAN, INF, -INF])
def test_no_policy_takes_it_for_no_limit(number: float) -> None:
    """JSON would make null of it, which for a limit means none."""
    with pytest.raises(ValueError, match=r"timeout_s: .* is no finite number"):
        Timed.from_profile({"timeout_s": number})
