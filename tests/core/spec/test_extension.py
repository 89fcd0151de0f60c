from dataclasses import FrozenInstanceError

import pytest

from toolcharter import ExtensionPolicy, ExtensionSpec, SpecError, ToolPolicy


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
        "policy is <class 'toolcharter.spec.policy.ToolPolicy'>, not a subclass of ExtensionPolicy; "
        "build is 'build', not a function"
    )


def test_an_extension_policy_must_be_a_class() -> None:
    """An instance in its place is refused too."""
    with pytest.raises(SpecError) as raised:
        ExtensionSpec("rules", ExtensionPolicy(), print)  # type: ignore[arg-type]

    assert str(raised.value) == (
        "ExtensionSpec 'rules': policy is ExtensionPolicy(), not a subclass of ExtensionPolicy"
    )
