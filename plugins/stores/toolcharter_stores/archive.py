"""Archives: all there is in a store at one moment, in one compressed file that any engine restores, whole or not at all.

A file of JSON lines, gzip around them: first what it is, then rows, items and fencing numbers, last how many there are and the
SHA-256 of all lines before. What is secret stays encrypted: who restores it needs the keys.
"""

import gzip
import hashlib
import os
import secrets
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

from toolcharter import (
    ExportedFence,
    ExportedItem,
    ExportedRow,
    NewRow,
    Scope,
    StoreEngine,
    StoreExport,
    StoreUnavailable,
    ToolcharterError,
)

FORM = 1
"""Of the lines. Those of older forms are brought to it line by line, newer ones are refused."""
MAX_LINE = 8_388_608
"""A longer line is none of ours, in bytes."""
Exported = ExportedRow | ExportedItem | ExportedFence
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By form, what makes a line of the next form of one."""


class ArchiveError(ToolcharterError):
    """A file that is no archive, or not a whole one; the text says where."""


def backup(engine: StoreEngine, file: Path, *, replaces: bool = False) -> int:
    """Write all there is in a store to *file*, while others go on writing to the store.

    Args:
        engine: Of the store.
        file: It appears when it is whole, readable for its owner alone.
        replaces: Whether a file that is there is replaced.

    Returns:
        How many lines were written.

    Raises:
        ArchiveError: The file is there, or cannot be written.
        StoreUnavailable: The store cannot be read.
    """
    if file.exists() and not replaces:
        raise ArchiveError(f"{file} is there already; take another name, or --force.")
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as raw:
            count = _write(engine, raw)
            raw.flush()
            os.fsync(raw.fileno())
        new.replace(file) if replaces else os.link(new, file)  # A link never replaces what came meanwhile.
    except OSError as error:
        raise ArchiveError(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(FileNotFoundError):
            new.unlink()
    return count


def _write(engine: StoreEngine, raw: BinaryIO) -> int:
    digest, count = hashlib.sha256(), 0
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed, engine.export() as content:
        for value in chain([{"toolcharter_store": FORM}], map(written, content)):
            line = orjson.dumps(value) + b"\n"
            digest.update(line)
            packed.write(line)
            count += 1
        packed.write(orjson.dumps({"lines": count, "sha256": digest.hexdigest()}) + b"\n")
    return count - 1


def written(each: Exported) -> dict[str, Any]:
    """What an archive says of one thing."""
    scope = list(each.scope)
    if isinstance(each, ExportedRow):
        row = {**each.row._asdict(), "key": list(each.row.key), "secret": list(each.row.secret)}
        return {
            "row": {**row, "indexed": dict(each.row.indexed)},
            "of": scope,
            "kind": each.kind,
            "at": [each.version, each.seq],
        }
    if isinstance(each, ExportedItem):
        return {"item": each.item, "of": scope, "list": each.name}
    return {"fence": each.fence, "of": scope, "lease": each.name}


def read(value: dict[str, Any]) -> Exported:
    """What `written` was given.

    Raises:
        ValueError: Nothing of the kind.
    """
    try:
        tenant, distribution = value["of"]
        scope = Scope(_text(tenant), _text(distribution))
        if "row" in value:
            row, (version, seq) = value["row"], value["at"]
            new = NewRow(
                tuple(map(_text, row["key"])),
                _text(row["document"]),
                dict(row["indexed"]),
                _text(row["full_text"]),
                tuple(map(_text, row["secret"])),
            )
            return ExportedRow(scope, _text(value["kind"]), new, _number(version), _number(seq))
        if "item" in value:
            return ExportedItem(scope, _text(value["list"]), _text(value["item"]))
        return ExportedFence(scope, _text(value["lease"]), _number(value["fence"]))
    except (KeyError, TypeError) as error:
        raise ValueError("it is no row, item or fencing number") from error


class Archive:
    """An archive that was read once, to its end, and found whole. Satisfies `StoreExport`: it can be read again.

    Raises:
        ArchiveError: It is none, it is not whole, or a newer version has written it.
    """

    def __init__(self, file: Path) -> None:
        self._name = file
        try:
            self._raw = file.open("rb")  # held, so that what is restored is what was checked
        except OSError as error:
            raise ArchiveError(f"{file} cannot be read: {error.strerror}.") from error
        self._digest = ""
        try:
            self.count = sum(1 for _ in self)
        except BaseException:
            self._raw.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()

    def __iter__(self) -> Iterator[Exported]:
        number = 0
        try:
            for number, value in self._values():  # noqa: B007 - for what is raised below
                yield read(value)
        except ValueError as error:
            raise ArchiveError(f"{self._name}: line {number + 1}: {error}.") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ArchiveError(f"{self._name} is cut off or damaged after line {number}: {error}.") from error

    def _values(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The lines between the first and the last, each with its number, in the present form."""
        self._raw.seek(0)
        digest, form, number, last = hashlib.sha256(), 0, 0, None
        with gzip.GzipFile(fileobj=self._raw, mode="rb") as packed:
            for number, line in enumerate(iter(lambda: packed.readline(MAX_LINE), b"")):
                value = orjson.loads(line) if line.endswith(b"\n") else None
                if last is not None or not isinstance(value, dict):
                    raise ValueError("it is no line of an archive")
                if number == 0:
                    form = _form(value)
                elif "sha256" in value:
                    last = value
                    continue
                else:
                    yield number, _upgraded(value, form)
                digest.update(line)
        if last is None or last != {"lines": number, "sha256": digest.hexdigest()}:
            raise ValueError("the archive is cut off, or was changed")
        if self._digest not in {"", digest.hexdigest()}:
            raise ValueError("the archive was changed while it was read")
        self._digest = digest.hexdigest()


def restore(file: Path, engine: StoreEngine) -> int:
    """Make an archive all there is in a store, whole or not at all.

    Returns:
        How many lines were restored.

    Raises:
        ArchiveError: It is none, or not whole; the store is as it was.
        StoreUnavailable: The store cannot be written; it is as it was.
    """
    with Archive(file) as archive:
        engine.replace_all(archive)
        return archive.count


def copy(source: StoreEngine, target: StoreEngine, *, replaces: bool = False) -> int:
    """Make what is in one store all there is in another, while others write to the first.

    Returns:
        How many rows, items and fencing numbers there are.

    Raises:
        ArchiveError: Something is in the target already.
        StoreUnavailable: One of the stores.
    """
    if not replaces:
        with target.export() as there:
            if next(iter(there), None) is not None:
                raise ArchiveError("Something is in the target already; --force replaces all of it.")
    with source.export() as content:
        counted = _Counted(content)
        target.replace_all(counted)
    return counted.count


class _Counted:
    """A content whose parts are counted as they are read."""

    def __init__(self, content: StoreExport) -> None:
        self._content = content
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Whoever opened the content closes it."""

    def __iter__(self) -> Iterator[Exported]:
        for each in self._content:
            self.count += 1
            yield each


def sealed_texts(row: ExportedRow) -> Iterator[tuple[str, str]]:
    """The secret texts of a row as they are stored, each with its field.

    Raises:
        StoreUnavailable: The row is no record.
    """
    document = document_of(row)
    for field in row.row.secret:
        value = document.get(field)
        if isinstance(value, str):
            yield field, value
        elif isinstance(value, dict):
            yield from ((f"{field}/{name}", text) for name, text in value.items())


def document_of(row: ExportedRow) -> dict[str, Any]:
    """The document of a row.

    Raises:
        StoreUnavailable: It is none.
    """
    with suppress(orjson.JSONDecodeError):
        document = orjson.loads(row.row.document)
        if isinstance(document, dict):
            return document
    raise StoreUnavailable(f"The record {'/'.join(row.row.key)!r} of the kind {row.kind!r} is no JSON object.")


def _form(value: dict[str, Any]) -> int:
    form = value.get("toolcharter_store")
    if not isinstance(form, int):
        raise ValueError("it is no archive of a store")  # noqa: TRY004 - what a file holds is a value
    if form > FORM:
        raise ValueError(f"a newer version has written the archive, in form {form}; this one reads up to {FORM}")
    return form


def _upgraded(value: dict[str, Any], form: int) -> dict[str, Any]:
    for older in range(form, FORM):
        value = UPGRADES[older](value)
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value
