"""What git is told to run: by its settings, by aliases, by options of its subcommands."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from shlex import join

from toolcharter.guards.shell.floor.carried import of_lines, values
from toolcharter.guards.shell.floor.scene import Call, Scene

# Source: git 2.39, git-config(1) and the manuals of the subcommands.
_RUN_KEYS = frozenset(
    {"pager", "editor", "sshcommand", "fsmonitor", "askpass", "external", "textconv", "command", "driver", "clean"}
    | {"smudge", "process", "helper", "program", "cmd", "difffilter", "packobjectshook", "gitproxy", "uploadpack"}
    | {"receivepack"}
)
"""The last parts of the names of settings that hold shell source."""
_FILTERS = "--tree-filter --index-filter --msg-filter --env-filter --parent-filter --commit-filter --tag-name-filter"
_RUN_OPTIONS = {
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
_GIVE_SETTINGS = {"clone": frozenset({"-c", "--config"}), "submodule": frozenset({"-c"})}


def carried(call: Call, scene: Scene) -> str | None:
    """`git -c alias.x='!TEXT' x`, `git rebase -x TEXT`, `git submodule foreach TEXT`, `git bisect run ...`."""
    texts = call.texts
    at = _place(texts)
    name, rest = "".join(texts[at : at + 1]), texts[at + 1 :]
    lines = [*_of_settings(values(texts[:at], frozenset({"-c"}))), *_of_settings(_set_by(name, rest))]
    if name in _RUN_OPTIONS:
        lines += values(rest, _RUN_OPTIONS[name])
    elif rest[:1] == ("run",) and name == "bisect":
        lines.append(join(rest[1:]))
    elif name == "submodule" and "foreach" in rest:
        lines.append(" ".join(text for text in rest[rest.index("foreach") + 1 :] if text != "--recursive"))
    return of_lines(scene, iter(lines))


def _place(texts: Sequence[str]) -> int:
    """Where the subcommand stands."""
    at = 0
    while at < len(texts) and texts[at][:1] == "-":
        at += 2 if texts[at] in _VALUED else 1
    return at


def _set_by(name: str, rest: Sequence[str]) -> Iterator[str]:
    """The settings that a subcommand is given, as `NAME=VALUE`."""
    if name == "config":
        yield from (f"{before}={after}" for before, after in pairwise(rest) if "." in before)
    elif name in _GIVE_SETTINGS:
        yield from values(rest, _GIVE_SETTINGS[name])


def _of_settings(settings: Iterator[str]) -> Iterator[str]:
    """The shell source that settings hold."""
    for setting in settings:
        key, _equals, value = setting.partition("=")
        parts = key.lower().split(".")
        if parts[0] == "alias" and value[:1] != "!":
            yield f"git {value}"
        elif parts[0] in {"alias", "pager"} or parts[-1] in _RUN_KEYS:
            yield value.removeprefix("!")
