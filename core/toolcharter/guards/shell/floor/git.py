"""Commands that git is told to run by its settings, by aliases or by options of its subcommands."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import join, split

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.embedded_commands import VARIABLE_SETTERS, check_lines, option_values

# Source: git 2.39, git-config(1) and the manuals of the subcommands.
_COMMAND_KEYS = frozenset(
    {"pager", "editor", "sshcommand", "fsmonitor", "askpass", "external", "textconv", "command", "driver", "clean"}
    | {"smudge", "process", "helper", "program", "cmd", "difffilter", "packobjectshook", "gitproxy", "uploadpack"}
    | {"receivepack", "tunnel", "smtpserver", "update", "defaultkeycommand", "httpd", "alternaterefscommand", "filter"}
    | {"sendmailcmd", "tocmd", "cccmd", "headercmd", "procreceivecommand"}
)
"""The last parts of the names of settings that hold shell source."""
_FILTERS = "--tree-filter --index-filter --msg-filter --env-filter --parent-filter --commit-filter --tag-name-filter"
_COMMAND_OPTIONS = {
    name: frozenset(options.split())
    for name, options in {
        "rebase": "-x --exec",
        "difftool": "-x --extcmd",
        "clone": "-u --upload-pack",
        "fetch": "--upload-pack",
        "pull": "--upload-pack",
        "ls-remote": "--upload-pack --exec",
        "fetch-pack": "--upload-pack --exec",
        "push": "--receive-pack --exec",
        "send-pack": "--receive-pack --exec",
        "archive": "--exec",
        "grep": "-O --open-files-in-pager",
        "filter-branch": f"{_FILTERS} --setup",
        "send-email": "--sendmail-cmd --to-cmd --cc-cmd --header-cmd",
    }.items()
}
"""Options of subcommands whose value is shell source."""
_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_SETTING_OPTIONS = {"clone": frozenset({"-c", "--config"}), "submodule": frozenset({"-c"})}


def check_settings_and_options(call: Call, context: Context) -> str | None:
    """`git -c alias.x='!TEXT' x`, `git rebase -x TEXT`, `git submodule foreach TEXT`, `git bisect run ...`."""
    texts = call.texts
    at = _find_subcommand(texts)
    name, rest = "".join(texts[at : at + 1]), texts[at + 1 :]
    given = (
        *option_values(texts[:at], frozenset({"-c"})),
        *_settings_of_subcommand(name, rest),
        *_settings_in_environment(call, texts[:at], context),
    )
    lines = [*_source_in_settings(iter(given))]
    if name in _COMMAND_OPTIONS:
        lines += option_values(rest, _COMMAND_OPTIONS[name])
    elif rest[:1] == ("run",) and name == "bisect":
        lines.append(join(rest[1:]))
    elif name == "submodule" and "foreach" in rest:
        lines.append(" ".join(text for text in rest[rest.index("foreach") + 1 :] if text != "--recursive"))
    return check_lines(context, iter(lines))


def _settings_in_environment(call: Call, options: Sequence[str], context: Context) -> Iterator[str]:
    """The settings that variables hold, as `NAME=VALUE`.

    Source: git-config(1), "ENVIRONMENT"; git(1), `--config-env`. GIT_CONFIG_PARAMETERS is git's own: `'k'='v'` or `'k=v'`.
    """
    variables = _variables_set(call, context)
    for name, value in variables.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            yield f"{value}={variables.get(name.replace('KEY', 'VALUE'), '')}"
        elif name == "GIT_CONFIG_PARAMETERS":
            with suppress(ValueError):
                yield from split(value)
    for setting in option_values(options, frozenset({"--config-env"})):
        key, _equals, variable = setting.rpartition("=")
        yield f"{key}={variables.get(variable, '')}"


def _variables_set(call: Call, context: Context) -> dict[str, str]:
    """The variables that the line sets: in lines of their own, before this command, by `export` and by `env`."""
    found: dict[str, str] = {}
    for command in (*context.script.commands, call.command):
        found.update({one.name: one.value.text for one in command.assignments if one.value.text is not None})
        for word in command.words[1:] if command.words and command.words[0].text in VARIABLE_SETTERS else ():
            name, equals, value = (word.text or "").partition("=")
            found.update({name: value} if equals else {})
    return found


def _find_subcommand(texts: Sequence[str]) -> int:
    """The position of the subcommand."""
    at = 0
    while at < len(texts) and texts[at][:1] == "-":
        at += 2 if texts[at] in _VALUED else 1
    return at


def _settings_of_subcommand(name: str, rest: Sequence[str]) -> Iterator[str]:
    """The settings that a subcommand sets or gets, as `NAME=VALUE`."""
    if name == "config":
        yield from (f"{before}={after}" for before, after in pairwise(rest) if "." in before)
    elif name in _SETTING_OPTIONS:
        yield from option_values(rest, _SETTING_OPTIONS[name])


def _source_in_settings(settings: Iterator[str]) -> Iterator[str]:
    """The shell source that settings hold."""
    for setting in settings:
        key, _equals, value = setting.partition("=")
        parts = key.lower().split(".")
        if parts[0] == "alias" and value[:1] != "!":
            yield f"git {value}"
        elif parts[0] in {"alias", "pager"} or parts[-1] in _COMMAND_KEYS:
            yield value.removeprefix("!")
