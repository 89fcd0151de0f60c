r"""Commands that clients of databases run: `.shell` and `edit()` of sqlite3, `\!` of psql and mysql, pipes in place of files.

Sources: sqlite3(1) 3.46, "Special commands" and "The edit() SQL function"; psql(1) 16; mysql(1) 8.
"""

from collections.abc import Iterator

from toolcharter.guards.shell.floor.code_patterns import compile_pattern, quoted_texts
from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import input_texts
from toolcharter.guards.shell.floor.embedded_commands import check_lines
from toolcharter.guards.shell.floor.interpreters import EVALUATES_TEXT
from toolcharter.guards.shell.floor.word_texts import Arg

SQLITE_CLIENTS = ("sqlite3", "sqlite", "litecli", "duckdb", "sqlcipher")
SERVER_CLIENTS = ("psql", "pgcli", "usql", "mysql", "mariadb", "mysqlsh", "mycli", "mysqladmin")
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


def check_sqlite(call: Call, context: Context) -> str | None:
    """`sqlite3 x '.shell TEXT'`, `sqlite3 x "select [edit](1, 'TEXT')"`, `.once '|TEXT'`, `.backup FILE`."""
    for text in (*call.texts, *input_texts(call, context)):
        source = compile_pattern(_COMMENTS).sub(" ", text) if "(" in text else text
        if _calls_function(compile_pattern(_STRING).sub("''", source), _EDIT):
            return EVALUATES_TEXT
        if (why := check_lines(context, _find_commands((_SHELL, _PIPED), text))) is not None:
            return why
        paths = [
            *_find_commands((_OUTPUT, _VACUUM), text),
            *(quoted_texts(source) if _calls_function(source, _WRITE) else ()),
        ]
        vital = (why for path in paths if path[:1] == "/" and (why := context.vital_file(call, Arg(path))))
        if (why := next(vital, None)) is not None:
            return f"overwrites {why}"
    return None


def _calls_function(source: str, called: str) -> bool:
    return any((found[1] or "").strip().lower() not in _NAMED for found in compile_pattern(called).finditer(source))


def check_server_client(call: Call, context: Context) -> str | None:
    r"""`psql -c '\! TEXT'`, `psql -o '|TEXT'`, `copy x from program 'TEXT'`, `mysql -e 'system TEXT'`."""
    for text in (*call.texts, *input_texts(call, context)):
        lines = [*_find_commands((_ESCAPED, _SYSTEM, _TO_PIPE, _PROGRAM, _SET), text)]
        if "\\" in text or "=" in text or text[:1] == "`":
            lines += _find_commands((_TICKED,), text)
        lines += [text.rpartition("=|")[2]] if "=|" in text else []
        lines += [text.partition("=")[2]] if text.startswith("--pager=") else []
        lines += [text[1:]] if text[:1] == "|" else []
        if (why := check_lines(context, iter(lines))) is not None:
            return why
    return None


def _find_commands(patterns: tuple[str, ...], text: str) -> Iterator[str]:
    for one in patterns:
        for found in compile_pattern(one).finditer(text):
            line = next(filter(None, found.groups()), "").strip()
            yield line.strip("'\"")
            if "'" in line[1:-1] or ";" in line:
                # `.sys 'rm' -rf /` keeps its quotes; in SQL a semicolon may end the command.
                yield from (line, line.partition(";")[0])
