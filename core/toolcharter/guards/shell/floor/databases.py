r"""Commands that clients of databases run: `.shell` and `edit()` of sqlite3, `\!` of psql and mysql, pipes in place of files.

Sources: sqlite3(1) 3.46, "Special commands" and "The edit() SQL function"; psql(1) 16; mysql(1) 8.
"""

from collections.abc import Iterator

from toolcharter.guards.shell.floor.code_patterns import pattern, texts_in
from toolcharter.guards.shell.floor.context import Call, Scene
from toolcharter.guards.shell.floor.data_sources import fed_texts
from toolcharter.guards.shell.floor.embedded_commands import of_lines
from toolcharter.guards.shell.floor.interpreters import EVALUATES
from toolcharter.guards.shell.floor.word_texts import Arg

LITE = ("sqlite3", "sqlite", "litecli", "duckdb", "sqlcipher")
SERVED = ("psql", "pgcli", "usql", "mysql", "mariadb", "mysqlsh", "mycli", "mysqladmin")
_STRING = r"'[^']*'"
_COMMENTS = r"(?s:/\*.*?\*/)|--[^\n]*"
_CALLED = r"(?i)(\w+[\s]+)?[\"\[`]?\b%s\b[\"\]`]?\s*\("
_EDIT, _WRITE = _CALLED % "edit", _CALLED % "writefile"
_NAMED = ("into", "table", "exists", "on", "index", "update", "references", "view")
"""Words that precede the name of a table, so that no function follows."""
_SHELL = r"(?im)^[\s;]*\.(?:s|sh|she|shel|shell|sy|sys|syst|syste|system)[ \t]+([^\n]+)"
_PIPED = r"(?m)^[\s;]*\.\w+[^\n|]*[\s'\"]\|([^\n]+)"
_OUTPUT = r"(?im)^[\s;]*\.(?:o\w*|once|backup|save|clone|log|trace)\s+(?:-\w+\s+)*['\"]?(/[^\s'\"]+)"
_VACUUM = r"(?i)\bvacuum\b[^;]*\binto\s+['\"]([^'\"]+)"
_ESCAPED = r"\\!\s*([^\n]+)"
_SYSTEM = r"(?im)(?:^|;)\s*(?:system|\\P|pager)\s+([^\n]+)"
_TO_PIPE = r"\\\w+\+?[^\n|]*\s['\"]?\|\s*([^\n]+)"
_PROGRAM = r"(?i)\bprogram\s+(?:'([^']+)|\$\$([^$]+))"
_TICKED = r"`([^`]+)`"
_SET = r"\\setenv\s+\w+\s+([^\n]+)"


def lite(call: Call, scene: Scene) -> str | None:
    """`sqlite3 x '.shell TEXT'`, `sqlite3 x "select [edit](1, 'TEXT')"`, `.once '|TEXT'`, `.backup FILE`."""
    for text in (*call.texts, *fed_texts(call, scene)):
        source = pattern(_COMMENTS).sub(" ", text) if "(" in text else text
        if _calls(pattern(_STRING).sub("''", source), _EDIT):
            return EVALUATES
        if (why := of_lines(scene, _found((_SHELL, _PIPED), text))) is not None:
            return why
        paths = [*_found((_OUTPUT, _VACUUM), text), *(texts_in(source) if _calls(source, _WRITE) else ())]
        vital = (why for path in paths if path[:1] == "/" and (why := scene.vital_file(call, Arg(path))))
        if (why := next(vital, None)) is not None:
            return f"overwrites {why}"
    return None


def _calls(source: str, called: str) -> bool:
    return any((found[1] or "").strip().lower() not in _NAMED for found in pattern(called).finditer(source))


def served(call: Call, scene: Scene) -> str | None:
    r"""`psql -c '\! TEXT'`, `psql -o '|TEXT'`, `copy x from program 'TEXT'`, `mysql -e 'system TEXT'`."""
    for text in (*call.texts, *fed_texts(call, scene)):
        lines = [*_found((_ESCAPED, _SYSTEM, _TO_PIPE, _PROGRAM, _SET), text)]
        if "\\" in text or "=" in text or text[:1] == "`":
            lines += _found((_TICKED,), text)
        lines += [text.rpartition("=|")[2]] if "=|" in text else []
        lines += [text.partition("=")[2]] if text.startswith("--pager=") else []
        lines += [text[1:]] if text[:1] == "|" else []
        if (why := of_lines(scene, iter(lines))) is not None:
            return why
    return None


def _found(patterns: tuple[str, ...], text: str) -> Iterator[str]:
    for one in patterns:
        for found in pattern(one).finditer(text):
            line = next(filter(None, found.groups()), "").strip()
            yield line.strip("'\"")
            if "'" in line[1:-1] or ";" in line:
                # `.sys 'rm' -rf /` keeps its quotes; in SQL a semicolon may end the command.
                yield from (line, line.partition(";")[0])
