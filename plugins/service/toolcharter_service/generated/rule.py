"""Decides whether code may become a tool, and builds the tool's record. Pure: no store, no clock.

Source: stevef1uk/artificial_mind, hdn/interpreter/flexible_interpreter.go, `isNonTrivialGenericUtility`: 60 characters,
structure, one of 22 words, and no mere printing.
"""

import ast
import re
from hashlib import sha256
from typing import Final

from toolcharter_service.registry.names import find_installed
from toolcharter_service.registry.records import ToolExec, ToolRecord
from toolcharter_service.registry.rules import AGENT, RegistryReason, RegistryRefusal

PREFIX: Final = "gen_"
"""The prefix of each generated tool's id. A hash of its command follows."""
MIN_CHARS: Final = 60
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
"""Appended to the code: it calls the code's function with the JSON on standard input, and prints the result as JSON.
The record holds the code itself, so the floor sees at each call what runs."""


def rejection_reason(code: str) -> str | None:
    """Return why *code* may not become a tool; None if it may."""
    text = code.strip()
    lower = text.lower()
    if len(text) < MIN_CHARS:
        return f"it has fewer than {MIN_CHARS} characters"
    if len(code) > MAX_CODE_CHARS:
        return f"it has more than {MAX_CODE_CHARS} characters"
    if find_entry_function(code) is None:
        return "it defines no function that could be called"
    if not any(word in lower for word in SIGNALS):
        return "it has none of the words of a general tool"
    return None


def find_entry_function(code: str) -> str | None:
    """Return the function that a tool of *code* calls: `main`, else the last top-level function, else None."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = [one.name for one in body if isinstance(one, ast.FunctionDef)]
    return None if not names else "main" if "main" in names else names[-1]


def build_record(code: str, name: str, description: str, now: str) -> ToolRecord:
    """Build the record of the tool that *code* becomes, as an agent's tool without permissions.

    Args:
        code: Python that defines a function.
        name: For people; by default the function's name.
        description: For models; by default a sentence that names the function.
        now: The time of creation, in RFC 3339.

    Raises:
        RegistryRefusal: `invalid_record`, if the code defines no function or is too long, or name or description is
            invalid; `name_conflict`, if the name is that of an installed tool.
    """
    entry = find_entry_function(code) if len(code) <= MAX_CODE_CHARS else None
    if entry is None:
        what = f"The code is no Python that defines a function, or is longer than {MAX_CODE_CHARS} characters."
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, what)
    name, description = (
        _require_name(name or entry),
        _require_text(description or f"Calls {entry}, a generated function."),
    )
    runs = ToolExec(type="cmd", cmd="python3", args=("-I", "-c", code + _DRIVER.replace("ENTRY", entry)))
    return ToolRecord(
        id=generated_id(runs),
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


def generated_id(runs: ToolExec) -> str:
    """Return the id of the generated tool that runs this command."""
    plain = "\0".join((runs.type, runs.cmd, *runs.args))
    return f"{PREFIX}{sha256(plain.encode(errors='surrogatepass')).hexdigest()[:_HASH_CHARS]}"


def is_generated(record: ToolRecord) -> bool:
    """Whether *record* has the id of a generated tool."""
    return record.id.lower().startswith(PREFIX)


def is_genuine(record: ToolRecord) -> bool:
    """Whether *record* is a generated tool: its id is the hash of its command, and it has no more permissions."""
    runs = record.exec
    return (
        runs is not None
        and record.id == generated_id(runs)
        and record.created_by == AGENT
        and not record.permissions
        and record.safety_level == "high"
    )


def _require_name(name: str) -> str:
    """Refuse a name that a reader could confuse: it has to be ASCII, in one line, and no installed tool's.

    Raises:
        RegistryRefusal: `invalid_record` or `name_conflict`.
    """
    if not _NAME.fullmatch(name):
        raise RegistryRefusal(
            RegistryReason.INVALID_RECORD, "A name has up to 64 ASCII letters, digits, blanks, '_', '-' and '.'."
        )
    if taken := find_installed(re.sub(r"[ .-]+", "_", name)) or find_installed(name):
        raise RegistryRefusal(RegistryReason.NAME_CONFLICT, f"{name!r} reads like the installed tool {taken!r}.")
    return name


def _require_text(description: str) -> str:
    text = " ".join(description.split())
    if len(text) > MAX_DESCRIPTION_CHARS or not text.isprintable():
        what = f"A description has up to {MAX_DESCRIPTION_CHARS} characters, all of them printable."
        raise RegistryRefusal(RegistryReason.INVALID_RECORD, what)
    return text
