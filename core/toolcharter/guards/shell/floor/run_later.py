"""Files with code that a script writes and that another program runs later.

Programs other than shells run build files and scripts of their own languages. Start-up files of shells, crontabs, hooks and
authorized keys take effect without any command.
"""

import json
import re
from collections.abc import Iterator, Mapping

from toolcharter.guards.shell.floor.context import REMOTE_SHELL, Call, Context
from toolcharter.guards.shell.floor.data_sources import without_version
from toolcharter.guards.shell.floor.embedded_commands import check_lines
from toolcharter.guards.shell.floor.interpreters import check_code, check_crontab_lines
from toolcharter.guards.shell.floor.written_files import WrittenFile
from toolcharter.guards.shell.nodes import Redirection, Word, quoted

_SCRIPT_AS_WORD = frozenset({"sed", "gsed", "awk", "gawk", "mawk", "nawk"})
_READERS = _SCRIPT_AS_WORD | frozenset(
    """at batch crontab make gmake psql mysql mariadb sqlite3 sqlite expect tclsh wish parallel vim vi ex nvim ssh""".split()
)
"""Programs that read code of their own languages from a file in their arguments, or from their input."""
_FILE_OPTIONS = frozenset({"-f", "--file", "-E", "--exec", "-S", "-s", "-init", "--init", "--makefile"})
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_GO_GENERATE = "//go:generate "
# Source: bash(1), "INVOCATION"; zsh(1), "STARTUP/SHUTDOWN FILES"; fish(1); ksh(1); githooks(5); environ(7); systemd.unit(5).
_SHELL_FILES = re.compile(
    r"(?:.*/)?\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout"
    r"|kshrc|mkshrc|cshrc|tcshrc|login|logout|xinitrc|xprofile|xsessionrc|inputrc)"
    r"|/etc/(?:profile|bash\.bashrc|bashrc|zshrc|zprofile|zshenv|environment|rc\.local|profile\.d/.*|init\.d/.*|zsh/.*)"
    r"|(?:.*/)?\.config/(?:fish/.*|autostart/.*|systemd/user/.*)|/etc/systemd/.*|/etc/udev/rules\.d/.*"
    r"|(?:.*/)?\.git/hooks/.*|/etc/ld\.so\.preload"
)
_CRONTABS = re.compile(r"/etc/(?:ana)?crontab|/etc/cron[^/]*/.*|/var/spool/cron.*")
_AUTHORIZED_KEYS = re.compile(r"(?:.*/)?\.ssh/(?:authorized_keys2?|rc)")


def check_readers(call: Call, context: Context, written: Mapping[str, WrittenFile]) -> str | None:
    """Why *call* is catastrophic: it reads code from one of the files *written*, which are given by their paths."""
    name = without_version(call.name)
    if name in _READERS:
        return _check_read_files(call, context, written, name)
    if name in {"npm", "pnpm", "yarn", "bun"}:
        return check_lines(context, _package_scripts(written))
    if name == "go" and "generate" in call.texts:
        return check_lines(context, _go_generate_lines(written))
    if name in {"pytest", "py.test", "python"}:
        is_all = name != "python"
        names = {f"{text.replace('.', '/')}.py" for text in call.texts} if "-m" in call.texts else frozenset[str]()
        texts = (
            one.text for path, one in written.items() if one.text and path.endswith(".py") and (is_all or path in names)
        )
        return next((why for text in texts if (why := check_code(call, context, "python", text))), None)
    return None


def _check_read_files(call: Call, context: Context, written: Mapping[str, WrittenFile], name: str) -> str | None:
    words = call.command.words
    given = {at: word.text for at, word in enumerate(words) if at and word.text}
    paths = [(at, text.removeprefix(".read ").removeprefix("./")) for at, text in given.items()]
    paths += [(0, one.target.text or "") for one in call.command.redirections if one.operator == "<" and one.target]
    if name in {"make", "gmake"}:
        paths += [(0, path) for path in _MAKEFILES]
    for at, path in paths:
        found = written.get(path)
        if found is None:
            continue
        if found.why is not None:
            return found.why
        command = call.command._replace(
            words=_with_input(words, at, name, found.text or ""), redirections=(_here_string(found.text or ""),)
        )
        if (why := context.check_command(command)) is not None:
            return why
    return None


def _with_input(words: tuple[Word, ...], at: int, name: str, text: str) -> tuple[Word, ...]:
    """The words of a call with its input in place of a file; for sed and awk, with the code itself."""
    if name in _SCRIPT_AS_WORD and at:
        before = words[: at - 1] if words[at - 1].text in _FILE_OPTIONS else words[:at]
        return (*before, _literal_word(text), *words[at + 1 :])
    if name in {"make", "gmake"} and not at:
        return (*words, _literal_word("-f"), _literal_word("-"))
    if name in {"make", "gmake", "crontab"} and at:
        return (*words[:at], _literal_word("-"), *words[at + 1 :])
    return tuple(word for place, word in enumerate(words) if not at or place not in {at, at - 1} or not place)


def _literal_word(text: str) -> Word:
    return Word(quoted(text), text, prefix=text)


def _here_string(text: str) -> Redirection:
    return Redirection("<<<", "", _literal_word(text), text, f"<<<{quoted(text)}")


def _package_scripts(written: Mapping[str, WrittenFile]) -> Iterator[str]:
    found = written.get("package.json")
    try:
        scripts = json.loads(found.text or "{}")["scripts"] if found is not None else {}
        yield from (text for text in scripts.values() if isinstance(text, str))
    except (ValueError, LookupError, TypeError, AttributeError):
        return


def _go_generate_lines(written: Mapping[str, WrittenFile]) -> Iterator[str]:
    texts = (one.text for path, one in written.items() if one.text and path.endswith(".go"))
    for text in texts:
        yield from (line.removeprefix(_GO_GENERATE) for line in text.splitlines() if line.startswith(_GO_GENERATE))


def check_startup_files(context: Context, written: dict[str, WrittenFile]) -> str | None:
    """Why one of the files *written* so far is catastrophic, though the script itself does not run it."""
    return next(
        (why for path, holds in written.items() if (why := _check_startup_file(context, path, holds)) is not None), None
    )


def _check_startup_file(context: Context, path: str, holds: WrittenFile) -> str | None:
    if holds.why is not None and _AUTHORIZED_KEYS.fullmatch(path):
        return REMOTE_SHELL
    is_timetable = _CRONTABS.fullmatch(path) is not None
    if not (is_timetable or _SHELL_FILES.fullmatch(path)):
        return None
    if holds.text is None:
        return holds.why
    return check_crontab_lines(context, holds.text) if is_timetable else context.check_source(holds.text)
