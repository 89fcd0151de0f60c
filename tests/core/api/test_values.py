"""The small values that travel with a call, and the table of core's reasons."""

from pathlib import Path

import pytest
from tests.rows import each_row

from toolcharter.api.call import Ask, Call, Caller, Decision, Deny, Invocation, RuleRef, ToolResult
from toolcharter.api.extension import ExtensionPolicy, ExtensionSpec
from toolcharter.api.paths import Entry
from toolcharter.api.policy import ToolPolicy
from toolcharter.api.reasons import CORE_REASONS, Reason
from toolcharter.api.runtime import Completed
from toolcharter.errors import SpecError


def test_text_of_a_result_is_what_the_model_reads() -> None:
    """`str(result)` is the text; nothing else is filled in."""
    result = ToolResult("ok", "Hello")

    assert str(result) == "Hello"
    assert result == ToolResult("ok", "Hello", None, None, None, None, None, False, None, False, 0, "", 0.0)  # noqa: FBT003 - the whole record in its order


@each_row(
    "value",
    [
        pytest.param(Caller("reviewer"), id="caller"),
        pytest.param(Invocation("push", (("git", "push"),)), id="invocation"),
        pytest.param(Call("git", "push", {}, Caller(), "1", None, "p", Path(), "builtin", None, "high"), id="call"),
        pytest.param(Deny("check_failed"), id="deny"),
        pytest.param(Ask("check_failed"), id="ask"),
        pytest.param(RuleRef("bash:*", "p.yaml:1:1"), id="rule"),
        pytest.param(Decision("allow", "tool"), id="decision"),
        pytest.param(Entry("a", "file", 1), id="entry"),
        pytest.param(Completed(("ls",), 0, b"", b"", truncated=False, timed_out=False, elapsed_s=0.1), id="completed"),
        pytest.param(ExtensionSpec("x", ExtensionPolicy, lambda workspace, policy: None), id="extension"),
    ],
)
def test_value_is_frozen(value: object) -> None:
    """What was decided or asked cannot be changed under way."""
    name = value.__match_args__[0]  # type: ignore[attr-defined]

    with pytest.raises(AttributeError):
        setattr(value, name, "other")


def test_policy_of_an_extension_is_a_policy() -> None:
    """Extensions and tools read their knobs by the same strict rules."""
    assert issubclass(ExtensionPolicy, ToolPolicy)


def test_contradictions_of_an_extension_are_named_at_once() -> None:
    """The message names the extension, the values and what they should be."""
    with pytest.raises(SpecError) as caught:
        ExtensionSpec("", ToolPolicy, "build")  # type: ignore[arg-type, type-var]

    assert str(caught.value) == (
        "ExtensionSpec '': the name is no text; policy is <class 'toolcharter.api.policy.ToolPolicy'>, "
        "not a subclass of ExtensionPolicy; build is 'build', not a function"
    )


def test_every_reason_is_in_the_table() -> None:
    """Each of core's reasons has its outcome and one sentence that says what it means."""
    assert list(CORE_REASONS) == list(Reason)
    assert {info.outcome for info in CORE_REASONS.values()} == {"asked", "denied", "error"}
    assert [reason for reason, info in CORE_REASONS.items() if not info.meaning.endswith(".")] == []
