"""Words with places, and what may begin one."""

import pytest

from toolcharter import Denied
from toolcharter_cli_tools.templates import fill_words, parse_words


@pytest.mark.parametrize("first", [None, ""])
def test_an_empty_value_does_not_lend_its_dash_to_the_next(first: str | None) -> None:
    """Which value begins the word decides, whichever place does."""
    words = parse_words(["{first}{second}"])

    with pytest.raises(Denied) as refused:
        fill_words(words, {"first": first, "second": "-rf"}, {"first"})

    assert refused.value.reason == "leading_dash_not_allowed"
    assert fill_words(words, {"first": "-r", "second": "-f"}, {"first"}) == ["-r-f"]
    assert fill_words(words, {"first": first, "second": "-rf"}, {"second"}) == ["-rf"]
