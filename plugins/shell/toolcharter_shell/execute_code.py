"""`execute_code`: runs a program that the agent has written, only in the profile's sandbox."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from toolcharter import Denied, Invocation, ProgramPlace, Reason, ToolResult, ToolRuntime, ToolSpec
from toolcharter_shell.answers import ProgramData, program_result
from toolcharter_shell.environment import SHELL, ShellPolicy, TimeoutMs
from toolcharter_shell.suspicions import Suspicion, suspicions

Language = Literal["python", "bash", "javascript"]

INTERPRETERS: Mapping[str, tuple[str, ...]] = {"python": ("python3", "-"), "javascript": ("node", "-")}
"""The interpreters that read the code from standard input. Bash gets its code as an argument, as in `bash`."""


class ExecuteCodePolicy(ShellPolicy):
    """How far one profile lets `execute_code` go, in addition to its `bash:` rules."""

    languages: tuple[Language, ...] = ("python", "bash", "javascript")
    """The languages that may be used."""
    max_code_chars: Annotated[int, Field(ge=1)] = 100_000
    """How long the code of one call may be, in characters."""

    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Report a runner that is no sandbox."""
        yield from super().never_works(place)
        if place.runner == "host":
            yield "nothing runs: code that an agent has written runs in a sandbox only, and `host` is none."


class ExecuteCodeReason(StrEnum):
    """Why `execute_code` denies a call, in addition to the reasons of the core, the shell guard and the runner."""

    LANGUAGE_NOT_ALLOWED = "language_not_allowed"
    CODE_TOO_LONG = "code_too_long"


class CodeData(ProgramData):
    """The structured result: that of the program, and warnings about its code."""

    warnings: list[Suspicion]


def build(workspace: Path, policy: ExecuteCodePolicy, rt: ToolRuntime) -> Callable[..., ToolResult]:
    """Bind `execute_code` to one workspace and policy."""

    def execute_code(
        language: Language, code: Annotated[str, Field(pattern=r"\S")], timeout_ms: TimeoutMs | None = None
    ) -> ToolResult:
        """Run code in a sandbox, in the workspace; what it prints is the result.

        Args:
            language: The language of the code.
            code: The whole program. It has no input.
            timeout_ms: End it after this many milliseconds; the profile sets the maximum.
        """
        ctx = rt.start("execute_code", language=language)
        if not rt.is_sandboxed:
            raise Denied(
                Reason.SANDBOX_UNAVAILABLE,
                "Code that an agent has written runs only in a sandbox, and `runner:` names none.",
            )
        if language not in policy.languages:
            raise Denied(ExecuteCodeReason.LANGUAGE_NOT_ALLOWED, f"The profile does not allow {language}.")
        if len(code) > policy.max_code_chars:
            raise Denied(
                ExecuteCodeReason.CODE_TOO_LONG, f"The code is longer than {policy.max_code_chars} characters."
            )
        timeout_s = policy.timeout_s(rt, timeout_ms)
        ctx.policy_passed()
        argv, stdin = start_command(language, code)
        done = policy.run(rt, workspace, argv, stdin, timeout_s)
        result = program_result(done, policy.max_output_bytes, timeout_s)
        return _with_warnings(result, suspicions(code, language, network=policy.network))

    return execute_code


def start_command(language: str, code: str) -> tuple[tuple[str, ...], bytes]:
    """Return the command that runs the code, and its standard input."""
    if language == "bash":
        return (*SHELL, code), b""
    return INTERPRETERS[language], code.encode(errors="replace")


def invocation(args: Mapping[str, Any]) -> Invocation:
    """Return the lines of bash as they will run, or the interpreter of another language."""
    language = args["language"]
    return Invocation(commands=(args["code"] if language == "bash" else INTERPRETERS[language],))


def advertise(policy: ExecuteCodePolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the languages that its profile allows."""
    properties = schema.get("properties", {})
    narrowed = {**properties, "language": {**properties.get("language", {}), "enum": list(policy.languages)}}
    return {**schema, "properties": narrowed}


def _with_warnings(result: ToolResult, found: list[Suspicion]) -> ToolResult:
    result.data = {**result.data, "warnings": found}
    if found:
        lines = "\n".join(f"line {one['line']}: {one['what']}" for one in found)
        result.text += f"\n--- warnings about the code ---\n{lines}"
    return result


SPEC = ToolSpec(
    "execute_code",
    ExecuteCodePolicy,
    build,
    reasons=ExecuteCodeReason,
    capabilities={"fs:read", "proc:exec"},
    safety="high",
    kind="bash",
    staged=True,
    isolate=True,  # a program may take minutes, and must not block asynchronous callers
    group="runtime",
    output=CodeData,
    invocation=invocation,
    advertise=advertise,
)
