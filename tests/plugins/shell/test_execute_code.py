"""`execute_code`: where it runs, what rules see of it, what its result warns of."""

from collections.abc import Callable
from typing import Any

import pytest

from toolcharter import Invocation, Tool
from toolcharter_shell.execute_code import SPEC, invocation

Build = Callable[..., Tool]


@pytest.mark.parametrize("language", ["python", "bash", "javascript"])
def test_nothing_runs_without_a_sandbox(build_tool: Build, language: str) -> None:
    """The host is no place for generated code, whatever the profile's rules allow."""
    result = build_tool(SPEC)(language=language, code="print(1)")

    assert (result.outcome, result.reason) == ("denied", "sandbox_unavailable")


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param("python", "import sys\nprint(6 * 7)", id="python"),
        pytest.param("bash", "echo $((6 * 7))", id="bash"),
        pytest.param(
            "javascript",
            "console.log(6 * 7)",
            id="javascript",
            marks=pytest.mark.needs_program("node", package="nodejs"),
        ),
    ],
)
def test_code_runs(build_tool: Build, language: str, code: str) -> None:
    """What it prints is the result."""
    result = build_tool(SPEC, is_sandboxed=True)(language=language, code=code)

    assert (result.outcome, result.text) == ("ok", "42\n")
    assert result.data == {
        "stdout": "42\n",
        "stderr": "",
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "truncated": False,
        "warnings": [],
    }


def test_a_failure_is_an_error_with_its_output(build_tool: Build) -> None:
    """The model reads the traceback."""
    result = build_tool(SPEC, is_sandboxed=True)(language="python", code="1 / 0")

    assert (result.outcome, result.reason, result.exit_code) == ("error", "nonzero_exit", 1)
    assert "ZeroDivisionError" in result.text


def test_what_the_code_seems_to_do_is_a_warning(build_tool: Build) -> None:
    """The scan warns who reads the result, and stops nothing."""
    code = "import os\nos.system('echo hi')\neval('1')"

    result = build_tool(SPEC, is_sandboxed=True)(language="python", code=code)

    assert result.outcome == "ok"
    assert result.data["warnings"] == [
        {"line": 2, "what": "starts programs"},
        {"line": 3, "what": "runs text as code"},
    ]
    assert result.text == ("hi\n\n--- warnings about the code ---\nline 2: starts programs\nline 3: runs text as code")


@pytest.mark.parametrize(
    ("policy", "args", "reason"),
    [
        pytest.param(
            {"languages": ["python"]}, {"language": "bash", "code": "ls"}, "language_not_allowed", id="language"
        ),
        pytest.param({"max_code_chars": 4}, {"language": "bash", "code": "ls -l"}, "code_too_long", id="length"),
    ],
)
def test_the_policy_limits_the_code(
    build_tool: Build, policy: dict[str, Any], args: dict[str, str], reason: str
) -> None:
    """Languages and length are the profile's choice."""
    result = build_tool(SPEC, policy, is_sandboxed=True)(**args)

    assert (result.outcome, result.reason) == ("denied", reason)


def test_code_at_the_limit_runs(build_tool: Build) -> None:
    """The limit itself is allowed."""
    assert build_tool(SPEC, {"max_code_chars": 4}, is_sandboxed=True)(language="bash", code="true").outcome == "ok"


@pytest.mark.parametrize(
    "args", [{"language": "ruby", "code": "1"}, {"language": "python", "code": " \n"}, {"language": "python"}]
)
def test_what_is_no_code_is_malformed(build_tool: Build, args: dict[str, str]) -> None:
    """Only three languages have an interpreter here."""
    assert build_tool(SPEC, is_sandboxed=True).call(args).reason == "invalid_arguments"


@pytest.mark.parametrize(
    ("language", "commands"),
    [("bash", ("ls; rm x",)), ("python", (("python3", "-"),)), ("javascript", (("node", "-"),))],
)
def test_rules_see_lines_of_bash_and_else_the_interpreter(language: str, commands: tuple[Any, ...]) -> None:
    """Lines of bash are judged one by one; of other code a rule can name the interpreter alone."""
    assert invocation({"language": language, "code": "ls; rm x"}) == Invocation(commands=commands)


def test_a_model_is_shown_the_languages_that_it_may_use(build_tool: Build) -> None:
    """What the profile does not let run is not offered."""
    tool = build_tool(SPEC, {"languages": ["python"]})

    assert tool.parameters["properties"]["language"]["enum"] == ["python"]
