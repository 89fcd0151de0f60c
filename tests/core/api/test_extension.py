from dataclasses import FrozenInstanceError

import pytest
from pydantic import ValidationError

from toolcharter import CheckPolicy, ExtensionPolicy, ExtensionSpec, SpecError, ToolPolicy


def test_an_extension_spec_is_frozen() -> None:
    """Nothing changes a spec behind a profile's back."""
    spec = ExtensionSpec("rules", ExtensionPolicy, lambda workspace, policy: object())

    with pytest.raises(FrozenInstanceError):
        spec.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["", 7])
def test_an_extension_spec_tells_every_contradiction_at_once(name) -> None:
    """A wrong name, policy and constructor are told in one message."""
    with pytest.raises(SpecError) as raised:
        ExtensionSpec(name, ToolPolicy, "build")  # type: ignore[type-var,arg-type]

    assert str(raised.value) == (
        f"ExtensionSpec {name!r}: the name is no text; "
        "policy is <class 'toolcharter.api.policy.ToolPolicy'>, not a subclass of ExtensionPolicy; "
        "build is 'build', not a function"
    )


def test_an_extension_policy_must_be_a_class() -> None:
    """An instance in its place is refused too."""
    with pytest.raises(SpecError) as raised:
        ExtensionSpec("rules", ExtensionPolicy(), print)  # type: ignore[arg-type]

    assert str(raised.value) == (
        "ExtensionSpec 'rules': policy is ExtensionPolicy(), not a subclass of ExtensionPolicy"
    )


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ("closed", "reasons is 'closed'; write a set"),
        (None, "reasons is None; write a set"),
        (["closed", "Not now"], "the reason 'Not now' is no short lower-case word"),
    ],
    ids=["text", "nothing", "sentence"],
)
def test_the_reasons_of_an_extension_are_words(reasons, said) -> None:
    """They have the form of a tool's."""
    with pytest.raises(SpecError) as raised:
        ExtensionSpec("rules", ExtensionPolicy, print, reasons)

    assert str(raised.value) == f"ExtensionSpec 'rules': {said}"


@pytest.mark.parametrize("seconds", [pytest.param(0.001, id="little"), pytest.param(120, id="most")])
def test_a_check_has_some_time(seconds) -> None:
    """A profile gives a check its time; by default ten seconds, and its failure counts."""
    assert CheckPolicy.from_profile({"timeout_s": seconds}).timeout_s == seconds
    assert CheckPolicy().canonical() == {"advisory": False, "timeout_s": 10.0}


@pytest.mark.parametrize("seconds", [pytest.param(0, id="none"), pytest.param(120.1, id="more")])
def test_a_check_has_a_bounded_time(seconds) -> None:
    """No time at all would deny everything; a call is not held up for ever."""
    with pytest.raises(ValidationError) as raised:
        CheckPolicy.from_profile({"timeout_s": seconds})

    assert [fault["loc"] for fault in raised.value.errors()] == [("timeout_s",)]
