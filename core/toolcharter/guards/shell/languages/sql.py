"""SQL for psql, sqlite3 and their like: harmless if every statement only asks.

It is read by words: texts and comments are taken out, quotes around names are removed, and what is left may hold no word that changes data, reads or
writes a file, or reaches another host. A word too many makes the statement one that has to be named, no more.
Source: PostgreSQL 15 manual, "SQL Commands", "System Administration Functions"; SQLite 3.40, "SQL As Understood".
"""

import re
from typing import Final

_ASKS: Final = frozenset({"select", "with", "explain", "show", "values", "table", "describe", "desc", "pragma"})
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
_NO_WORD: Final = re.compile(r"\W")
_STRANGE: Final = re.compile(r"""['"$`\\]|--|/\*""")


def objection(text: str) -> str | None:
    """Why the statements of *text* have to be named; None if all of them only ask."""
    bare = _SPANS.sub(_without_quotes, text)
    if _STRANGE.search(bare):
        return "is SQL that is not understood"
    for statement in bare.lower().split(";"):
        words = statement.split(None, 1)
        if not words:
            continue
        if words[0] not in _ASKS or _HARMFUL.search(statement):
            return "is SQL that does more than ask"
        if words[0] == "pragma" and not _PRAGMA.fullmatch(statement.strip()):
            return "is SQL that does more than ask"
    return None


def _without_quotes(span: re.Match[str]) -> str:
    """A quoted name as its words, since it may call a function: `"writefile"('x', 1)`; anything else as a word without meaning."""
    return " x " if span[1] is None else f" {_NO_WORD.sub(' ', span[1])} "
