"""SQL for psql, sqlite3 and their like, and the commands of their own."""

import re
from typing import Final

_READ_ONLY_STATEMENTS: Final = frozenset(
    {"select", "with", "explain", "show", "values", "table", "describe", "desc", "pragma"}
)
_HARMFUL: Final = re.compile(
    r"\b(?:insert|update|delete|merge|replace|create|drop|alter|truncate|grant|revoke|copy|into|call|do|attach|detach"
    r"|vacuum|reindex|load_extension|zipfile|readfile|writefile|edit|fts3_tokenizer|fsdir|lsmode|nextval|setval|set_config"
    r"|query_to_xml\w*|database_to_xml\w*|lo_\w+|dblink\w*|xp_\w+|load_file|sleep|pg_(?:read|ls|stat_file|logdir|write|sleep|terminate|cancel|reload|rotate|switch"
    r"|promote|create|drop|copy|advisory|logical|replication|file|notify|start|stop|backup)\w*"
    r"|cursor_to_xml\w*|ts_stat|ts_rewrite|crosstab\w*|uescape|pg_authid|pg_shadow|pg_user_mappings?|pg_subscription)\b"
)
_PRAGMA: Final = re.compile(
    r"pragma\s+(?:\w+\.)?(?:table_x?info|index_x?info|index_list|foreign_key_list|database_list|table_list|"
    r"integrity_check|quick_check|foreign_key_check|compile_options|collation_list|function_list)\s*(?:\([^()]*\))?"
)
# Texts, quoted names and comments. A text of PostgreSQL with escapes (`E'...'`) or dollars is not understood.
_SPANS: Final = re.compile(r"'(?:[^'\\]|'')*'|\"([^\"\\]*)\"|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_NON_WORD: Final = re.compile(r"\W")
_UNSUPPORTED: Final = re.compile(r"""['"$`\\]|--|/\*""")
_PSQL_READ_ONLY: Final = re.compile(r"\\(?:d[a-zA-Z]*[S+]*|l\+?|z|conninfo|sv\+?|sf\+?|encoding)(?:\s+[\w.*?\"-]+)*\s*")
_SQLITE_READ_ONLY: Final = re.compile(
    r"\.(?:tables|schema|fullschema|indexes|indices|databases|dbinfo|dump|headers?|mode|nullvalue|separator|show|stats|timer"
    r"|width|help|lint)(?:\s[^|`\n;]*)?"
)


def sql(text: str) -> str | None:
    """SQL for psql, sqlite3 and their like: harmless if every statement only asks.

    None if all of them only ask.

    It is read by words: texts and comments are taken out, quotes around names are removed, and what is left may hold no word that changes data, reads or
    writes a file, or reaches another host. A word too many makes the statement one that has to be mentioned, no more.
    Source: PostgreSQL 15 manual, "SQL Commands", "System Administration Functions"; SQLite 3.40, "SQL As Understood".
    """
    bare = _SPANS.sub(_replace_span, text)
    if _UNSUPPORTED.search(bare):
        return "is SQL that is not understood"
    for statement in bare.lower().split(";"):
        words = statement.split(None, 1)
        if not words:
            continue
        if words[0] not in _READ_ONLY_STATEMENTS or _HARMFUL.search(statement):
            return "is SQL that does more than ask"
        if words[0] == "pragma" and not _PRAGMA.fullmatch(statement.strip()):
            return "is SQL that does more than ask"
    return None


def psql(text: str) -> str | None:
    """What psql's `-c` runs: SQL, or one of its own commands, which begin with a backslash.

    None if it only shows what the database holds.

    Source: PostgreSQL 15, psql(1), "Meta-Commands".
    """
    if text.lstrip().startswith("\\"):
        return None if _PSQL_READ_ONLY.fullmatch(text.strip()) else "is a command that does more than show"
    return sql(text)


def sqlite(text: str) -> str | None:
    """What sqlite3 is given to run: SQL, or one of its own commands, which begin with a dot.

    None if it only shows what the database holds.

    Source: SQLite 3.40, "Command Line Shell For SQLite".
    """
    lines = text.splitlines()
    if text.startswith("."):
        return (
            None if len(lines) == 1 and _SQLITE_READ_ONLY.fullmatch(text) else "is a command that does more than show"
        )
    if any(line.startswith((".", "#")) for line in lines):
        return "is a command that does more than show"
    return sql(text)


def database(text: str) -> str | None:
    """Names of databases for psql: a plain name, or a connection that may lead to another host.

    None for the plain name of a database.

    Source: PostgreSQL 15, "Connection Strings".
    """
    return "may lead to another host" if any(mark in text for mark in "=:/") else None


def _replace_span(span: re.Match[str]) -> str:
    """A quoted name as its words, since it may call a function: `"writefile"('x', 1)`; anything else as a word without meaning."""
    return " x " if span[1] is None else f" {_NON_WORD.sub(' ', span[1])} "
