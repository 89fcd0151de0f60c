"""`toolcharter guard`: install, uninstall, status, doctor, hook, serve."""

import difflib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolcharter import ConfigurationError, lazy
from toolcharter.hosts import open_host
from toolcharter_guard import client, resident, settings
from toolcharter_guard.agents import AGENTS, UnreadableMessage
from toolcharter_guard.judge import find_workspace, forget_session, judge_message, refusal_text

if TYPE_CHECKING:
    from toolcharter_guard import doctor as examination
else:
    examination = lazy("toolcharter_guard.doctor")  # a hook is started for each call, and does not need it

MAX_MESSAGE = 64 * 1024 * 1024
BLOCK_STATUS = 2
"""The exit status by which a hook blocks the call in every agent."""
_agent = click.argument("agent", type=click.Choice(list(AGENTS)))
_project = click.option("--project", is_flag=True, help="In the current project's settings, not in the user's.")


@click.group("guard")
def command() -> None:
    """Put a profile in front of a coding agent's own tools.

    Before each call, the agent's hook asks the guard. The guard decides by the profile's rules and records events.
    """


@command.command("install")
@_agent
@click.option("--profile", "-p", default="guarded", metavar="PROFILE", help="A profile's name or path.")
@_project
@click.option("--events", metavar="URL", help="Where events go; default: a file in the user's state folder.")
@click.option("--yes", is_flag=True, help="Write without asking.")
def install(agent: str, profile: str, project: bool, events: str | None, yes: bool) -> None:
    """Show the change, then add the hook to the settings of AGENT. Other settings stay as they are."""
    workspace = Path.cwd() if project else None
    named = str(Path(profile).resolve()) if os.sep in profile else profile
    line = settings.hook_command(_client_command(), agent, named, workspace, events or _default_events())
    _check_profile(named, workspace or Path.cwd())
    _apply_change(agent, settings.settings_path(agent, workspace), line, yes=yes)
    click.echo(settings.LOCATIONS[agent].note)


@command.command("uninstall")
@_agent
@_project
@click.option("--yes", is_flag=True, help="Write without asking.")
def uninstall(agent: str, project: bool, yes: bool) -> None:
    """Remove the hook from the settings of AGENT."""
    file = settings.settings_path(agent, Path.cwd() if project else None)
    if not file.exists():
        click.echo(f"{file}: does not exist; nothing to remove.")
        return
    _apply_change(agent, file, None, yes=yes)


@command.command("status")
def status() -> None:
    """Show for each agent whether the hook is in its settings. Exit status 1 if it was changed, removed or disabled."""
    failed = False
    for agent in AGENTS:
        for file in dict.fromkeys((settings.settings_path(agent, None), settings.settings_path(agent, Path.cwd()))):
            try:
                is_right, state = _describe_state(agent, file)
            except settings.SettingsError as error:
                is_right, state = False, f"cannot be read: {error}"
            failed = failed or not is_right
            click.echo(f"{agent:12} {file}: {state}")
    click.get_current_context().exit(1 if failed else 0)


@command.command("doctor")
@click.argument("agents", nargs=-1, type=click.Choice(list(AGENTS)))
def doctor(agents: tuple[str, ...]) -> None:
    """Have each guarded agent try a forbidden, harmless call, and check that the guard refuses it.

    First the hook is started as the agent starts it. Then Claude Code, Codex, Gemini CLI and OpenCode are started, if
    they are installed, with a model on loopback that calls their tools. Exit status 1 if a call is not refused, or if
    no agent is guarded.
    """
    failed, guarded = False, set[str]()
    for agent in agents or AGENTS:
        for file in dict.fromkeys((settings.settings_path(agent, None), settings.settings_path(agent, Path.cwd()))):
            try:
                line = settings.find_command(settings.find_entries(agent, file))
            except (settings.SettingsError, ValueError, KeyError) as error:
                failed = True
                click.echo(f"{agent} {file}: FAILED: {error}")
                continue
            if line is None:
                continue
            guarded.add(agent)
            click.echo(f"{agent} {file}")
            for finding in examination.examine_agent(agent, line, Path.cwd()):
                failed = failed or finding.is_failure
                click.echo(f"    {'FAILED: ' if finding.is_failure else ''}{finding.text}")
    for agent in agents:
        if agent not in guarded:
            click.echo(f"{agent}: not guarded; `toolcharter guard install {agent}` adds the hook")
    if not guarded and not agents:
        click.echo("No agent is guarded; `toolcharter guard install AGENT` adds the hook.")
    click.get_current_context().exit(1 if failed or not guarded.issuperset(agents or guarded) or not guarded else 0)


@command.command("hook")
@_agent
@click.option("--profile", "-p", default="guarded", metavar="PROFILE", help="A profile's name or path.")
@click.option("--workspace", "-w", metavar="FOLDER", help="The project; default: the folder that the agent sets.")
@click.option("--events", metavar="URL", help="Where events go; default: a file in the user's state folder.")
def hook(agent: str, profile: str, workspace: str | None, events: str | None) -> None:
    """Answer one message of AGENT on standard input. A call that cannot be judged is denied with exit status 2."""
    known = AGENTS[agent]
    try:
        text = sys.stdin.buffer.read(MAX_MESSAGE)  # a longer message is cut, and then is not valid JSON
        forget_session(known, text, os.environ)
        root = find_workspace(known, workspace, os.environ)
        sink = events or _default_events()
        with open_host(profile, workspace=root, events=sink, believed=settings.guard_files(root)) as host:
            answer = judge_message(known, host, root, text)
        if sys.argv[1:3] == ["guard", "hook"]:
            resident.start_server(["toolcharter", *sys.argv[1:]])
    except (ConfigurationError, UnreadableMessage) as error:
        click.echo(refusal_text(error), err=True)
        click.get_current_context().exit(BLOCK_STATUS)
    except Exception as error:  # noqa: BLE001 - any error of the guard denies: another status would let the call pass
        click.echo(f"toolcharter denies the call, because it failed: {type(error).__name__}: {error}", err=True)
        click.get_current_context().exit(BLOCK_STATUS)
    click.echo(json.dumps(answer))


@command.command("serve", context_settings={"ignore_unknown_options": True})
@click.option(
    "--idle-s", type=float, default=resident.IDLE_S, metavar="SECONDS", help="End after this time without a hook."
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def serve(idle_s: float, words: tuple[str, ...]) -> None:
    """Run a gate for the hooks that are started with WORDS: `toolcharter guard hook AGENT ...`.

    A hook that finds no such gate starts one. The gate ends when no hook has asked for some time, or when the profile
    or an installed package changes.
    """
    if list(words[:3]) != settings.MARK.split():
        raise click.UsageError(f"WORDS are the command of a hook, which begins with '{settings.MARK}'.")
    given = hook.make_context("hook", list(words[3:])).params
    known = AGENTS[given["agent"]]
    root = find_workspace(known, given["workspace"], os.environ)
    try:
        resident.serve(known, words, given["profile"], root, given["events"] or _default_events(), idle_s=idle_s)
    except (ConfigurationError, OSError) as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(BLOCK_STATUS)


def _client_command() -> list[str]:
    """The command that starts `client.py`, independent of the agent's PATH and of the current folder."""
    return [sys.executable, "-I", "-S", str(client.__file__)]


def _default_events() -> str:
    folder = settings.state_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"file:{folder / 'guard.jsonl'}"


def _check_profile(profile: str, workspace: Path) -> None:
    """Open the profile once: a hook with an unusable profile must not be installed."""
    open_host(profile, workspace=workspace, events=[lambda _: None]).close()


def _apply_change(agent: str, file: Path, line: str | None, *, yes: bool) -> None:
    try:
        before, after = settings.compute_edit(agent, file, line)
        if before == after:
            settings.record_entries(file, settings.find_entries(agent, file))
            click.echo(f"{file}: nothing to change.")
            return
        shown = difflib.unified_diff((before or "").splitlines(), after.splitlines(), str(file), str(file), lineterm="")
        click.echo("\n".join(shown))
        if not yes and not click.confirm("Write this?"):
            click.echo("Nothing was written.")
            return
        backup = settings.write(file, before, after)
        settings.record_entries(file, settings.find_entries(agent, file))
    except settings.SettingsError as error:
        click.echo(str(error), err=True)
        click.get_current_context().exit(2)
    click.echo(f"{file}: written." + ("" if backup is None else f" The previous content is in {backup}."))


def _describe_state(agent: str, file: Path) -> tuple[bool, str]:
    """Whether the settings are as they were installed, and their state as text."""
    expected = settings.recorded_entries().get(str(file))
    if not file.exists():
        return expected is None, "no settings" if expected is None else "REMOVED since it was installed"
    found = settings.find_entries(agent, file)
    if not found:
        return expected is None, "not guarded" if expected is None else "REMOVED since it was installed"
    if expected is not None and found != expected:
        return False, "CHANGED since it was installed"
    if off := settings.find_off_setting(agent, file, Path.cwd()):
        return False, f"SWITCHED OFF by {off}"
    by = "" if expected is not None else ", by an entry that `install` did not write"
    return True, f"guarded{by}: {settings.find_command(found)}"
