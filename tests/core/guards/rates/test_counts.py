"""Counting here and giving back, when a later store has refused."""

import pytest

from toolcharter.guards.rates import RateKeys
from toolcharter.guards.rates.counts import counter_for
from toolcharter.guards.rates.limits import SESSION_IDLE_S, Limit

KEYS = RateKeys("s1", "main")


@pytest.mark.parametrize("name", ["calls_per_minute", "calls_per_session"])
def test_what_is_given_back_makes_room_for_one_call(name: str) -> None:
    """Exactly the one that was counted, though another came after it."""
    counter = counter_for(Limit(name, 2, "session"))
    counter.count(KEYS, 1.0)
    counter.count(KEYS, 2.0)

    counter.give_back(KEYS, 1.0)

    assert counter.refusal(KEYS, 60.5) is None
    counter.count(KEYS, 60.5)
    assert counter.refusal(KEYS, 60.5) is not None


@pytest.mark.parametrize(
    ("name", "life_s"),
    [
        pytest.param("calls_per_minute", 60.0, id="window"),
        pytest.param("calls_per_session", SESSION_IDLE_S, id="session"),
    ],
)
def test_what_was_dropped_meanwhile_is_not_given_back_twice(name: str, life_s: float) -> None:
    """A server may take so long to refuse that the count is gone: then there is room for the limit and not more."""
    counter = counter_for(Limit(name, 1, "session"))
    counter.count(KEYS, 0.0)
    counter.entries.find("another", life_s)
    counter.entries.find("another", 2 * life_s)

    counter.give_back(KEYS, 0.0)

    assert counter.refusal(KEYS, 2 * life_s) is None
    counter.count(KEYS, 2 * life_s)
    assert counter.refusal(KEYS, 2 * life_s) is not None
