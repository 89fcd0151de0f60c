"""The registry's initial records, from a file or HDN's twelve tools, and the records that a discovery restores."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from toolcharter import ConfigurationError, Fault, read_regular
from toolcharter_service.registry.json_places import JsonFault, read_json
from toolcharter_service.registry.records import ToolRecord
from toolcharter_service.registry.rules import Actor, RegistryRefusal, parse_record
from toolcharter_service.registry.source_tools import DEFAULTS, DOCKER_EXEC, MINIMUM, SOURCE_TOOLS

FILES: Final = ("tools_bootstrap.json", "config/tools_bootstrap.json")
"""The bootstrap files, relative to the start folder. The first file that exists is used."""
MAX_BYTES: Final = 4_000_000
MAX_RECORDS: Final = 1000
_SOCKET: Final = Path("/var/run/docker.sock")
_ACTOR: Final = Actor("bootstrap")


def records_at_start(folder: Path, environ: Mapping[str, str], now: str) -> tuple[ToolRecord, ...]:
    """Return the records that a start registers: those of the file or HDN's twelve, and of `records_at_discovery`.

    Args:
        folder: The folder with the bootstrap file.
        environ: `EXECUTION_METHOD` and `DOCKER_HOST` are used.
        now: RFC 3339, for records without a time of creation.

    Raises:
        ConfigurationError: The file is invalid. The error lists each fault and its place.
    """
    path = next((folder / name for name in FILES if os.path.lexists(folder / name)), None)
    written = DEFAULTS if path is None else read_bootstrap(path, now)
    return _with_dates({one.id: one for one in (*records_at_discovery(environ, now), *written)}.values(), now)


def records_at_discovery(environ: Mapping[str, str], now: str) -> tuple[ToolRecord, ...]:
    """Return the records that a discovery restores: the minimum, and `tool_docker_exec` if docker runs code."""
    minimum = [SOURCE_TOOLS[name].record for name in MINIMUM]
    return _with_dates([*minimum, *([DOCKER_EXEC.record] if uses_docker(environ) else [])], now)


def uses_docker(environ: Mapping[str, str], socket: Path = _SOCKET) -> bool:
    """Whether docker runs code on this machine. Source: hdn/tools.go, `handleDiscoverTools`."""
    method = environ.get("EXECUTION_METHOD", "")
    return method == "docker" or (not method and (bool(environ.get("DOCKER_HOST")) or socket.exists()))


def read_bootstrap(path: Path, now: str) -> tuple[ToolRecord, ...]:
    """Read the records from a file with a JSON array.

    Raises:
        ConfigurationError: The error lists each fault and its place, `FILE:LINE:COLUMN`.
    """
    text = _read_text(path)
    try:
        found, places = read_json(text)
    except JsonFault as fault:
        raise ConfigurationError([_fault(path, fault.line, fault.column, "", fault.what)]) from None
    if not isinstance(found, list) or len(found) > MAX_RECORDS:
        what = f"the file is no JSON array of at most {MAX_RECORDS} records."
        raise ConfigurationError([_fault(path, 1, 1, "", what)])
    records, faults = list[ToolRecord](), list[Fault]()
    for number, (body, (line, column)) in enumerate(zip(found, places, strict=True)):
        try:
            records.append(_parse_record(body, now))
        except RegistryRefusal as error:
            faults.append(_fault(path, line, column, f"{number}", error.message))
    faults += _duplicate_faults(path, records, places) if not faults else []
    if faults:
        raise ConfigurationError(faults)
    return tuple(records)


def _parse_record(body: Any, now: str) -> ToolRecord:
    if not isinstance(body, dict):
        body = {}
    return parse_record(body, actor=_ACTOR, now=now)


def _duplicate_faults(path: Path, records: list[ToolRecord], places: list[tuple[int, int]]) -> Iterator[Fault]:
    seen = set[str]()
    for number, (record, (line, column)) in enumerate(zip(records, places, strict=True)):
        if record.id.lower() in seen:
            yield _fault(
                path, line, column, f"{number}.id", f"{record.id!r} occurs twice; upper and lower case are the same."
            )
        seen.add(record.id.lower())


def _read_text(path: Path) -> str:
    """Read the file. Symbolic links are refused: a process that may write the folder could point to another file.

    Raises:
        ConfigurationError: The file cannot be read, or is too large, a link, or no UTF-8.
    """
    try:
        if stat.S_ISLNK(path.lstat().st_mode):
            raise ConfigurationError(
                [_fault(path, 1, 1, "", "the file is a symbolic link.", "Put the file itself here.")]
            )
        data = read_regular(path, MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(
            [_fault(path, 1, 1, "", f"the file cannot be read: {error.strerror or error}.")]
        ) from error
    if len(data) > MAX_BYTES:
        raise ConfigurationError([_fault(path, 1, 1, "", f"the file is larger than {MAX_BYTES} bytes.")])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigurationError([_fault(path, 1, 1, "", "the file is no UTF-8.")]) from error


def _fault(path: Path, line: int, column: int, at: str, what: str, fix: str = "Fix the file, or remove it.") -> Fault:
    return Fault(f"{path}:{line}:{column}", at, what, fix)


def _with_dates(records: Any, now: str) -> tuple[ToolRecord, ...]:
    return tuple(one if one.created_at else one.model_copy(update={"created_at": now}) for one in records)
