"""The exceptions: their family, what they carry and what they say."""

import pytest

from toolcharter import errors
from toolcharter.errors import ConfigurationError, Denied, Fault, PluginError, SpecError, ToolError, did_you_mean

FAULT = Fault("p.yaml:7:5", "tools.gti", "no installed plugin provides a tool named 'gti'.", "Did you mean 'git'?")


def test_every_exception_has_one_base() -> None:
    """`except ToolcharterError` catches all that toolcharter raises on purpose."""
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]

    assert [error for error in found if not issubclass(error, errors.ToolcharterError)] == []


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        pytest.param(
            FAULT,
            "p.yaml:7:5: tools.gti: no installed plugin provides a tool named 'gti'.\nDid you mean 'git'?",
            id="all-parts",
        ),
        pytest.param(
            Fault("p.yaml:1:1", "", "the file is empty."), "p.yaml:1:1: the file is empty.", id="no-path-no-fix"
        ),
    ],
)
def test_text_of_a_fault(fault: Fault, text: str) -> None:
    """Where, what, and the likely fix on a line of its own."""
    assert str(fault) == text


@pytest.mark.parametrize("kind", [ConfigurationError, PluginError])
def test_configuration_error_says_all_faults(kind: type[ConfigurationError]) -> None:
    """One attempt shows every fault of every file."""
    error = kind(iter([FAULT, FAULT]))

    assert (error.faults, str(error)) == ((FAULT, FAULT), f"{FAULT}\n{FAULT}")


@pytest.mark.parametrize(
    ("message", "text"), [(None, "ref_not_allowed"), ("Ask an operator.", "ref_not_allowed: Ask an operator.")]
)
def test_denied_carries_its_reason(message: str | None, text: str) -> None:
    """The reason is a word for logs and tests, the message is for people."""
    denied = Denied("ref_not_allowed", message, hint="Use main.")

    assert (denied.reason, denied.message, denied.hint, str(denied)) == ("ref_not_allowed", message, "Use main.", text)


def test_tool_error_is_not_retryable_by_itself() -> None:
    """A call may already have had its effect: only the tool knows whether to try again."""
    error = ToolError("It broke.")

    assert (error.reason, error.message, error.hint, error.retryable, str(error)) == (
        "tool_error",
        "It broke.",
        None,
        False,
        "It broke.",
    )


def test_spec_error_is_a_value_error() -> None:
    """A plugin's author may catch it as what it is in plain Python."""
    assert issubclass(SpecError, ValueError)


@pytest.mark.parametrize(("name", "question"), [("gti", "Did you mean 'git'?"), ("zzz", "")])
def test_nearest_name(name: str, question: str) -> None:
    """A near match is offered as a question, a far one not at all."""
    assert did_you_mean(name, {"git", "grep"}) == question
