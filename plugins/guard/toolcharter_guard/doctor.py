"""`toolcharter guard doctor`: try a forbidden but harmless call, by the installed hook and by the agent itself.

Settings that look right prove nothing: an agent may not have read them, not trust the hook, or run it only for some
tools. So the agent is started, if it is installed, with a model on loopback that calls its tools. The shell line of the
test is denied by the floor under every profile. If it runs, it writes to a file in a temporary folder, which the doctor
checks, and starts a program that does not exist.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toolcharter_guard.agents import AGENTS
from toolcharter_guard.scripted import (
    SPAWNED_ID,
    SUBAGENT,
    AnswerHandler,
    Chat,
    Gemini,
    Messages,
    Responses,
    ScriptedModel,
    Step,
)
from toolcharter_guard.settings import state_folder

TIMEOUT_S = 120.0
"""How long an agent may take for all its calls, in seconds."""
FLOOR_COMMAND = "mkfs.guard-doctor /dev/guard-doctor"
"""A command that the floor denies; its program does not exist."""
FORBIDDEN_LINE = f"echo reached > @FILE@; {FLOOR_COMMAND}"
OUR_DENIAL = re.compile("toolcharter(:| cannot read| denies)")
"""Matches every denial of the guard, and no other text in a test."""


class TrialSetup(NamedTuple):
    """How to start an agent with a scripted model. `@URL@`, `@FILE@` and `@FOLDER@` are replaced."""

    command: Sequence[str]
    """The command line. Options are inserted after its second word."""
    handler: type[AnswerHandler]
    environ: Mapping[str, str]
    calls: Sequence[tuple[str, str]]
    """Forbidden calls: the agent's tool, and its arguments in JSON. `@FILE@` is a file that must not appear."""
    unhooked_calls: Sequence[tuple[str, str]] = ()
    """Calls for which the agent is known to run no hooks: reported, but not as a failure."""
    unhooked_options: Sequence[str] = ()
    """Options with which the agent is known to run no hooks."""
    subagent: Sequence[tuple[str, str]] = ()
    """The calls by which the agent starts a subagent and waits for it."""
    trust_option: str = ""
    """The option with which the agent runs hooks that its user has not trusted."""
    settings: str = ""
    """The content of `@FOLDER@/settings.json`."""


class Finding(NamedTuple):
    """One line of the report."""

    text: str
    is_failure: bool = False


class TrialResult(NamedTuple):
    """The outcome of an agent's calls."""

    refused: set[str]
    """The tools whose forbidden calls the guard has refused."""
    subagent: str
    """The report about a subagent's forbidden call."""
    subagent_passed: bool


_CODEX_PROVIDER = '{name="guard-doctor", base_url="@URL@/v1", wire_api="responses"}'
_OPENCODE_PROVIDER = {
    "npm": "@ai-sdk/openai-compatible",
    "options": {"baseURL": "@URL@/v1", "apiKey": "none"},
    "models": {"scripted": {}},
}
TRIAL_SETUPS: Mapping[str, TrialSetup] = {
    "claude-code": TrialSetup(
        ("claude", "--print", "go", "--allowedTools", "Bash Write"),
        Messages,
        {
            "ANTHROPIC_BASE_URL": "@URL@",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
        [
            ("Bash", json.dumps({"command": FORBIDDEN_LINE, "description": "x"})),
            ("Write", '{"file_path": "@FILE@", "content": "reached"}'),
        ],
        unhooked_options=["--bare"],
        subagent=[
            ("Agent", json.dumps({"description": "x", "prompt": SUBAGENT, "subagent_type": "general-purpose"})),
        ],
    ),
    "codex": TrialSetup(
        (
            *("codex", "exec", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"),
            *("-c", 'model="scripted"', "-c", 'model_provider="guard-doctor"'),
            *("-c", f"model_providers.guard-doctor={_CODEX_PROVIDER}", "go"),
        ),
        Responses,
        {},
        [("exec_command", json.dumps({"cmd": FORBIDDEN_LINE})), ("view_image", '{"path": "@FILE@"}')],
        unhooked_calls=[("write_stdin", '{"session_id": 1, "chars": "x"}')],
        unhooked_options=["--ignore-user-config"],
        subagent=[
            ("multi_agent_v1/spawn_agent", json.dumps({"message": SUBAGENT})),
            ("multi_agent_v1/wait_agent", json.dumps({"targets": [SPAWNED_ID], "timeout_ms": 60_000})),
        ],
        trust_option="--dangerously-bypass-hook-trust",
    ),
    "gemini": TrialSetup(
        ("gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", "go"),
        Gemini,
        # System settings take precedence: they select the key, so that the agent does not use an account.
        {
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": "@URL@",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": "@FOLDER@/settings.json",
        },
        # Only the shell: Gemini CLI refuses paths outside of the project before it runs its hooks.
        [("run_shell_command", json.dumps({"command": FORBIDDEN_LINE}))],
        subagent=[("invoke_agent", json.dumps({"agent_name": "generalist", "prompt": SUBAGENT}))],
        settings='{"security": {"auth": {"selectedType": "gemini-api-key"}}}',
    ),
    "opencode": TrialSetup(
        ("opencode", "run", "--title", "toolcharter guard doctor", "-m", "guard-doctor/scripted", "go"),
        Chat,
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(
                {"provider": {"guard-doctor": _OPENCODE_PROVIDER}, "permission": "allow"}
            )
        },
        [
            ("bash", json.dumps({"command": FORBIDDEN_LINE, "description": "x"})),
            ("write", '{"filePath": "@FILE@", "content": "reached"}'),
        ],
        unhooked_options=["--pure"],
        subagent=[("task", json.dumps({"description": "x", "prompt": SUBAGENT, "subagent_type": "general"}))],
    ),
}
SHELL_TOOLS = {"gemini": "run_shell_command", "opencode": "bash", "cursor": "Shell", "copilot": "bash"}
"""The name of an agent's shell tool in a hook's message, if it is not `Bash`."""


def examine_agent(agent: str, command: str, project: Path) -> Iterator[Finding]:
    """Try the hook *command* of *agent*, and then the agent itself, in *project*; yield the findings."""
    yield _try_hook(agent, command, project)
    setup, title = TRIAL_SETUPS.get(agent), AGENTS[agent].title
    if setup is None:
        yield Finding(f"{title} itself is not tested: it cannot be started without an account.")
        return
    program = shutil.which(setup.command[0])
    if program is None:
        yield Finding(f"{title} itself is not tested: there is no program {setup.command[0]!r} on the PATH.")
        return
    yield Finding(f"{program}, version {_version(program)}:")
    yield from _try_agent(setup, title, program, project)


def _try_agent(setup: TrialSetup, title: str, program: str, project: Path) -> Iterator[Finding]:
    """Have the agent make the calls; yield the findings."""
    refused, subagent, subagent_passed = _run_trial(setup, program, project)
    for tool, _ in setup.calls:
        if tool in refused:
            yield Finding(f"{tool}: the guard denies a forbidden call")
        else:
            yield Finding(f"{tool}: a forbidden call did not reach the guard", is_failure=True)
    needed = {tool for tool, _ in setup.calls}
    if needed & refused:
        yield Finding(f"subagents: {subagent}", is_failure=subagent_passed)
    elif setup.trust_option and needed <= _run_trial(setup, program, project, setup.trust_option).refused:
        yield Finding(f"{title} does not trust the hook yet: start it, and confirm the hook.", is_failure=True)
    for tool, _ in setup.unhooked_calls:
        if tool not in refused:
            yield Finding(f"{tool}: not guarded, because {title} runs no hook for it")
    for mode in setup.unhooked_options:
        if not needed & _run_trial(setup, program, project, mode).refused:
            yield Finding(f"{mode}: not guarded, because {title} runs no hooks with this option")


def _try_hook(agent: str, command: str, project: Path) -> Finding:
    """Send the hook one message, as the agent would."""
    keys = AGENTS[agent].keys
    message = {
        keys["tool"]: SHELL_TOOLS.get(agent, "Bash"),
        keys["args"]: {"command": FLOOR_COMMAND},
        "cwd": str(project),
    }
    try:
        done = subprocess.run(  # noqa: S602 - through a shell, as the agent starts it
            command,
            shell=True,
            cwd=project,
            input=json.dumps(message),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding("the hook gives no answer", is_failure=True)
    if done.returncode == 0 and "denied_by_floor" in done.stdout:
        return Finding("the hook denies a forbidden call")
    if done.returncode == 2:  # noqa: PLR2004 - the status that blocks
        return Finding(f"the hook denies every call: {done.stderr.strip():.300}", is_failure=True)
    said_by_hook = (done.stdout + done.stderr).strip()
    return Finding(
        f"the hook lets a forbidden call pass, with status {done.returncode}: {said_by_hook:.300}", is_failure=True
    )


def _run_trial(setup: TrialSetup, program: str, project: Path, *options: str) -> TrialResult:
    """Start the agent and have its model make the forbidden calls."""
    state = state_folder()
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Not below /tmp: Gemini CLI reads no settings from a folder in which other users can write.
    with tempfile.TemporaryDirectory(prefix="guard-doctor-", dir=state) as name:
        folder = Path(name)
        (folder / "settings.json").write_text(setup.settings)
        calls = [*setup.calls, *setup.unhooked_calls, *setup.subagent]
        files = [folder / str(number) for number in range(len(calls))]
        script: list[Step] = [
            (tool, json.loads(args.replace("@FILE@", str(file))))
            for (tool, args), file in zip(calls, files, strict=True)
        ]
        with ScriptedModel(setup.handler, script, script[:1]).serving() as model:
            url = f"http://127.0.0.1:{model.server_port}"

            def filled(text: str) -> str:
                return text.replace("@URL@", url).replace("@FOLDER@", name)

            _, first, *more = map(filled, setup.command)
            environ = {key: filled(value) for key, value in setup.environ.items()}
            with suppress(subprocess.TimeoutExpired):  # a call that the agent has not made counts as not refused
                subprocess.run(  # noqa: S603 - the user's own agent
                    [program, first, *options, *more],
                    cwd=project,
                    env={**os.environ, **environ},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=TIMEOUT_S,
                    check=False,
                )
            results, subagent_results = list(model.results), list(model.subagent_results)
        refused = {
            tool
            for (tool, _), file, result in zip(calls, files, results, strict=False)
            if OUR_DENIAL.search(json.dumps(result)) and not file.exists()
        }
    if subagent_results:
        passed = not OUR_DENIAL.search(json.dumps(subagent_results[0]))
        outcome = "did not reach the guard" if passed else "is denied by the guard"
        return TrialResult(refused, f"a subagent's forbidden call {outcome}", passed)
    why = "the profile permits none" if {tool for tool, _ in setup.subagent} & refused else "the agent started none"
    return TrialResult(refused, f"not tested, because {why}", subagent_passed=False)


def _version(program: str) -> str:
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(  # noqa: S603 - as above
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
        if found := re.search(r"\d+(?:\.\d+)+", done.stdout):
            return found[0]
    return "unknown"
