"""A set that forgets what was added longest ago."""

from toolcharter.guards.session.state import Recent


def test_oldest_goes_first_and_a_look_keeps_nothing() -> None:
    """To add a thing again makes it the newest; to look at it does not."""
    recent = Recent[str](2)
    for thing in ("a", "b", "a"):
        recent.add(thing)
    looked = "b" in recent
    recent.add("c")

    assert (looked, "a" in recent, "b" in recent, "c" in recent) == (True, True, False, True)


def test_cleared_set_is_empty() -> None:
    """Nothing is left."""
    recent = Recent[str](2)
    recent.add("a")
    recent.clear()

    assert "a" not in recent
