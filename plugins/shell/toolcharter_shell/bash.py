"""`bash`: runs one command line. Bash gets exactly the text that the gate has judged; nothing is added to it."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from toolcharter import Denied, Invocation, ToolResult, ToolRuntime, ToolSpec
from toolcharter_shell.answers import ProgramData, program_result
from toolcharter_shell.environment import SHELL, ShellPolicy, TimeoutMs

Line = Annotated[str, Field(pattern=r"\S")]


class BashPolicy(ShellPolicy):
    """How far one profile lets `bash` go, in addition to its `bash:` rules."""

    allow: tuple[str, ...] = ()
    """More rules that allow commands of this tool, as in the profile's `allow`; the gate reads them from here."""
    stdin: bool = False
    """Whether a call may give its programs an input. No rule sees it; the guard refuses shells that would run it."""

    @field_validator("allow")
    @classmethod
    def _on_commands(cls, rules: tuple[str, ...]) -> tuple[str, ...]:
        for rule in rules:
            if not rule.lower().startswith("bash:"):
                raise ValueError(f"{rule!r} is no rule on commands; write one such as 'bash:ls *'")
        return rules


class BashReason(StrEnum):
    """Why `bash` denies a call, in addition to the reasons of the core, the shell guard and the runner."""

    STDIN_NOT_ALLOWED = "stdin_not_allowed"


def build(workspace: Path, policy: BashPolicy, rt: ToolRuntime) -> Callable[..., ToolResult]:
    """Bind `bash` to one workspace and policy."""

    def bash(command: Line, timeout_ms: TimeoutMs | None = None, stdin: str | None = None) -> ToolResult:
        """Run a command line with bash in the workspace; each command in it must be allowed by the profile.

        Nothing is kept between calls: no folder, no variable. Write to the point: one plain command is most
        likely to be allowed.

        Args:
            command: The line, as bash reads it.
            timeout_ms: End it after this many milliseconds; the profile sets the maximum.
            stdin: Text for the standard input of its commands, if the profile lets calls give one.
        """
        ctx = rt.start("bash", command=command)
        if stdin is not None and not policy.stdin:
            raise Denied(BashReason.STDIN_NOT_ALLOWED, "The profile does not allow an input.")
        timeout_s = policy.timeout_s(rt, timeout_ms)
        ctx.policy_passed()
        done = policy.run(rt, workspace, (*SHELL, command), (stdin or "").encode(errors="replace"), timeout_s)
        return program_result(done, policy.max_output_bytes, timeout_s)

    return bash


def invocation(args: Mapping[str, Any]) -> Invocation:
    """Return the command line as it will run. The guard treats the input of a program as unknown in any case."""
    return Invocation(commands=(args["command"],))


SPEC = ToolSpec(
    "bash",
    BashPolicy,
    build,
    reasons=BashReason,
    capabilities={"fs:read", "proc:exec"},
    safety="high",
    kind="bash",
    staged=True,
    isolate=True,  # a program may take minutes, and must not block asynchronous callers
    group="runtime",
    aliases=("exec", "tool_exec"),
    argument_aliases={"cmd": "command"},
    output=ProgramData,
    invocation=invocation,
)
