"""When code is worth a tool, and the record that it becomes. Pure: no store, no clock.

Source: stevef1uk/artificial_mind, hdn/interpreter/flexible_interpreter.go, `isNonTrivialGenericUtility`: 60 characters,
structure, one of 22 words, and no mere printing.
"""

import ast
import re
from hashlib import sha256
from typing import Final

from toolcharter_service.registry.names import taken_name
from toolcharter_service.registry.records import ToolExec, ToolRecord
from toolcharter_service.registry.rules import AGENT, Refused, RegistryReason

PREFIX: Final = "gen_"
"""Begins the id of each generated tool; behind it stands a hash of what runs."""
LEAST_CHARS: Final = 60
MAX_CODE_CHARS: Final = 9_000
MAX_DESCRIPTION_CHARS: Final = 500
SIGNALS: Final = (
    "parse", "extract", "transform", "normalize", "validate", "serialize", "client", "retry", "cache", "http", "json", "csv",
    "yaml", "xml", "regex", "scrape", "render", "template", "cli", "library", "module", "package",
)  # fmt: skip
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,63}")
_HASH_CHARS: Final = 40
_DRIVER: Final = """\


if __name__ == "__main__":
    import json as _json, sys as _sys
    _text = _sys.stdin.read()
    try:
        _given = _json.loads(_text) if _text.strip() else {}
    except ValueError:
        _given = _text
    _made = ENTRY(**_given) if isinstance(_given, dict) else ENTRY(_given)
    print(_json.dumps(_made, default=str))
"""
"""Stands below the code: calls its function with what stands on the standard input, and prints what that returns. The code is in the
record as it was read, so that the floor sees what runs at each call."""


def why_not(code: str) -> str | None:
    """Why *code* is not worth a tool; None if it is."""
    text = code.strip()
    lower = text.lower()
    if len(text) < LEAST_CHARS:
        return f"it has fewer than {LEAST_CHARS} characters"
    if len(code) > MAX_CODE_CHARS:
        return f"it has more than {MAX_CODE_CHARS} characters"
    if entry_of(code) is None:
        return "it defines no function that could be called"
    if not any(word in lower for word in SIGNALS):
        return "none of the words of a general tool stands in it"
    return None


def entry_of(code: str) -> str | None:
    """The function that a tool of *code* calls: `main`, else the last one at its top. None if there is none, or no Python."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = [one.name for one in body if isinstance(one, ast.FunctionDef)]
    return None if not names else "main" if "main" in names else names[-1]


def record_of(code: str, name: str, description: str, now: str) -> ToolRecord:
    """The record of the tool that *code* becomes: an agent's, with the lowest capabilities, by a hash of what runs.

    Args:
        code: Python that defines a function.
        name: For people; empty: that of the function.
        description: What models read; empty: which functions it has.
        now: RFC 3339.

    Raises:
        Refused: `invalid_record`: it is no such code, or its name or description is none; `name_conflict`: its name is that of
            an installed tool.
    """
    entry = entry_of(code) if len(code) <= MAX_CODE_CHARS else None
    if entry is None:
        what = f"The code is no Python that defines a function, or longer than {MAX_CODE_CHARS} characters."
        raise Refused(RegistryReason.INVALID_RECORD, what)
    name, description = (
        _require_name(name or entry),
        _require_text(description or f"Calls {entry}, a generated function."),
    )
    runs = ToolExec(type="cmd", cmd="python3", args=("-I", "-c", code + _DRIVER.replace("ENTRY", entry)))
    return ToolRecord(
        id=id_of(runs),
        name=name,
        description=description,
        input_schema={},
        output_schema={},
        permissions=(),
        safety_level="high",
        created_by=AGENT,
        created_at=now,
        exec=runs,
    )


def id_of(runs: ToolExec) -> str:
    """The id of the generated tool that runs this."""
    plain = "\0".join((runs.type, runs.cmd, *runs.args))
    return f"{PREFIX}{sha256(plain.encode(errors='surrogatepass')).hexdigest()[:_HASH_CHARS]}"


def is_generated(record: ToolRecord) -> bool:
    """Whether *record* bears the id of a generated tool."""
    return record.id.lower().startswith(PREFIX)


def is_genuine(record: ToolRecord) -> bool:
    """Whether a record with such an id is one: what runs has the hash, and it has no more than a generated tool."""
    runs = record.exec
    return (
        runs is not None
        and record.id == id_of(runs)
        and record.created_by == AGENT
        and not record.permissions
        and record.safety_level == "high"
    )


def _require_name(name: str) -> str:
    """A name that no reader takes for another one: ASCII, in one line, and no installed tool's."""
    if not _NAME.fullmatch(name):
        raise Refused(
            RegistryReason.INVALID_RECORD, "A name has up to 64 ASCII letters, digits, blanks, '_', '-' and '.'."
        )
    if taken := taken_name(re.sub(r"[ .-]+", "_", name)) or taken_name(name):
        raise Refused(RegistryReason.NAME_CONFLICT, f"{name!r} reads like the installed tool {taken!r}.")
    return name


def _require_text(description: str) -> str:
    text = " ".join(description.split())
    if len(text) > MAX_DESCRIPTION_CHARS or not text.isprintable():
        what = f"A description has up to {MAX_DESCRIPTION_CHARS} characters, and none that controls how others look."
        raise Refused(RegistryReason.INVALID_RECORD, what)
    return text
