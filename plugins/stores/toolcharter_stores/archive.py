"""Archives: a store's whole content at one moment, in one compressed file. Any engine restores it, or nothing of it.

An archive is a gzip file of JSON lines. The first line holds the format version. Rows, list items and fencing numbers
follow. The last line holds their number and the SHA-256 of all earlier lines, sealed with the key that encrypts
secrets. Secrets stay encrypted in an archive: a restored store needs the keys to read them.
"""

import gzip
import hashlib
import os
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import orjson

from toolcharter import (
    ExportedRow,
    Scope,
    StoreEngine,
    StoreExport,
    StoreUnavailable,
    ToolcharterError,
    UnreadableRecord,
)
from toolcharter_stores.entries import Exported, decode_entry, encode_entry

FORM = 1
"""The current format version. Lines of older formats are upgraded while they are read; newer formats are refused."""
MAX_LINE = 8_388_608
"""The longest line of an archive, in bytes. A file with a longer line is refused."""
_SIGNATURE = (Scope("", "toolcharter-stores"), "archive", ("sha256",), "signed")
"""The place that the seal of an archive's digest is bound to. A record's sealed secret cannot be used in its stead."""
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each older format version, the function that turns one of its lines into a line of the next version."""


class ArchiveError(ToolcharterError):
    """An archive that cannot be written, or a file that is no complete archive. The message names the file and line."""


class BackupResult(NamedTuple):
    """The result of `backup`."""

    lines: int
    is_signed: bool
    """Whether the archive is signed. It is not if the store has no key."""


def backup(engine: StoreEngine, file: Path, *, replaces: bool = False) -> BackupResult:
    """Write the whole content of a store to *file*, while other processes keep writing to the store.

    Args:
        engine: The store's engine.
        file: It appears once it is complete, and only its owner can read it.
        replaces: Whether an existing file is replaced.

    Raises:
        ArchiveError: The file exists, or cannot be written, or the store holds something that cannot be restored.
        StoreUnavailable: The store cannot be read.
    """
    if file.exists() and not replaces:
        raise ArchiveError(f"{file} exists already. Choose another name, or use --force.")
    new = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as raw:
            written_lines = _write(engine, raw)
            raw.flush()
            os.fsync(raw.fileno())
        new.replace(file) if replaces else os.link(new, file)  # A link never replaces a file created meanwhile.
    except OSError as error:
        raise ArchiveError(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(FileNotFoundError):
            new.unlink()
    return written_lines


def _write(engine: StoreEngine, raw: BinaryIO) -> BackupResult:
    digest, count = hashlib.sha256(), 0
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed, engine.export() as content:
        for line in chain([orjson.dumps({"toolcharter_store": FORM}) + b"\n"], map(_line, content)):
            digest.update(line)
            packed.write(line)
            count += 1
        last: dict[str, Any] = {"lines": count, "sha256": digest.hexdigest()}
        with suppress(StoreUnavailable):  # There is no key.
            last["signed"] = engine.seal(*_SIGNATURE, digest.hexdigest())
        packed.write(orjson.dumps(last) + b"\n")
    return BackupResult(count - 1, "signed" in last)


def _line(each: Exported) -> bytes:
    """Format one line of the archive, and check that `decode_entry` accepts it: another program may have written the store.

    Raises:
        ArchiveError: The line could not be restored.
    """
    try:
        value = encode_entry(each)
        line = orjson.dumps(value) + b"\n"
        decode_entry(value)
    except (TypeError, ValueError) as error:
        raise ArchiveError(f"{_describe_entry(each)} cannot be restored: {error}. Delete it first.") from error
    if len(line) > MAX_LINE:
        raise ArchiveError(f"{_describe_entry(each)} is longer than {MAX_LINE} bytes. Delete it first.")
    return line


def _describe_entry(each: Exported) -> str:
    what = (
        f"record {'/'.join(each.row.key)!r} of the kind {each.kind!r}"
        if isinstance(each, ExportedRow)
        else repr(each.name)
    )
    return f"The {what} of {each.scope.distribution}, tenant {each.scope.tenant!r},"


class Archive:
    """An archive that was read to its end once and found complete. Satisfies `StoreExport`, so it can be read again.

    Raises:
        ArchiveError: The file is no archive, is incomplete, or was written by a newer version.
    """

    def __init__(self, file: Path) -> None:
        self._name = file
        self._raw = _open_archive(file)  # kept open, so that the same file is checked and restored
        self._digest = ""
        self._signed: object = None
        self._line = 0
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
        self._line = 0
        try:
            yield from map(decode_entry, self._values())
        except ValueError as error:
            raise ArchiveError(f"{self._name}: line {self._line}: {error}.") from error
        except (OSError, EOFError, zlib.error) as error:
            raise ArchiveError(f"{self._name} is cut off or damaged after line {self._line}: {error}.") from error

    def _values(self) -> Iterator[dict[str, Any]]:
        """Read the lines between the first and the last, upgraded to the current format."""
        self._raw.seek(0)
        digest, form, number, last = hashlib.sha256(), 0, 0, None
        with gzip.GzipFile(fileobj=self._raw, mode="rb") as packed:
            for number, line in enumerate(iter(lambda: packed.readline(MAX_LINE), b"")):
                self._line = number + 1
                value = orjson.loads(line) if line.endswith(b"\n") else None
                if last is not None or not isinstance(value, dict):
                    raise ValueError("it is no line of an archive")
                if number == 0:
                    form = _format_of(value)
                elif "sha256" in value:
                    last = value
                    continue
                else:
                    yield _upgrade(value, form)
                digest.update(line)
        signed = None if last is None else last.pop("signed", None)
        if last is None or last != {"lines": number, "sha256": digest.hexdigest()}:
            raise ValueError("the archive is cut off, or was changed")
        if self._digest not in {"", digest.hexdigest()}:
            raise ValueError("the archive was changed while it was read")
        self._digest, self._signed = digest.hexdigest(), signed

    def require_signed(self, engine: StoreEngine) -> None:
        """Refuse an archive that none of the keys of *engine* has signed.

        Raises:
            ArchiveError: The message names the option that restores the archive anyway.
        """
        why = "it is not signed"
        if isinstance(self._signed, str):
            try:
                if engine.unseal(*_SIGNATURE, self._signed) == self._digest:
                    return
                why = "its signature belongs to another archive"
            except UnreadableRecord:
                why = "no key of this store has signed it"
            except StoreUnavailable as error:
                why = f"its signature cannot be checked: {error.message}"
        raise ArchiveError(
            f"{self._name}: {why}. Its author could write anything to the store. If you trust it, add --from-elsewhere."
        )


def restore(file: Path, engine: StoreEngine, *, from_elsewhere: bool = False) -> int:
    """Replace a store's whole content by an archive's, completely or not at all.

    Args:
        file: The archive.
        engine: The store's engine.
        from_elsewhere: Whether to accept an archive that no key of the store has signed.

    Returns:
        How many lines were restored.

    Raises:
        ArchiveError: The file is no archive, is incomplete, or is not signed. The store is unchanged.
        StoreUnavailable: The store cannot be written. It is unchanged.
    """
    with Archive(file) as archive:
        if not from_elsewhere:
            archive.require_signed(engine)
        engine.replace_all(archive)
        return archive.count


def copy(source: StoreEngine, target: StoreEngine, *, replaces: bool = False) -> int:
    """Replace the target's whole content by the source's, while other processes keep writing to the source.

    Returns:
        How many rows, items and fencing numbers were copied.

    Raises:
        ArchiveError: The target is not empty, and *replaces* is false.
        StoreUnavailable: One of the stores cannot be used.
    """
    if not replaces:
        with target.export() as there:
            if next(iter(there), None) is not None:
                raise ArchiveError("The target is not empty; --force replaces all of its content.")
    with source.export() as content:
        counted = _Counted(content)
        target.replace_all(counted)
    return counted.count


class _Counted:
    """An export that counts its entries while they are read."""

    def __init__(self, content: StoreExport) -> None:
        self._content = content
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the content open: the caller that opened it closes it."""

    def __iter__(self) -> Iterator[Exported]:
        for each in self._content:
            self.count += 1
            yield each


def sealed_texts(row: ExportedRow) -> Iterator[tuple[str, str]]:
    """Yield the field and the stored, encrypted text of each secret in a row.

    Raises:
        UnreadableRecord: The row is no record, or a secret field does not hold text.
    """
    document = document_of(row)
    for field in row.row.secret:
        value = document.get(field)
        found = {f"{field}/{name}": text for name, text in value.items()} if isinstance(value, dict) else {field: value}
        for place, text in found.items():
            if isinstance(text, str):
                yield place, text
            elif text is not None:
                raise UnreadableRecord(f"The secret field {place!r} of a record of the kind {row.kind!r} is no text.")


def document_of(row: ExportedRow) -> dict[str, Any]:
    """Parse the document of a row.

    Raises:
        UnreadableRecord: It is no JSON object.
    """
    with suppress(orjson.JSONDecodeError):
        document = orjson.loads(row.row.document)
        if isinstance(document, dict):
            return document
    raise UnreadableRecord(f"The record {'/'.join(row.row.key)!r} of the kind {row.kind!r} is no JSON object.")


def _open_archive(file: Path) -> BinaryIO:
    try:
        # Non-blocking: opening a FIFO would wait for a writer.
        raw = os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise ArchiveError(f"{file} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        raw.close()
        raise ArchiveError(f"{file} is no regular file.")
    return raw


def _format_of(value: dict[str, Any]) -> int:
    form = value.get("toolcharter_store")
    if type(form) is not int or form < min([FORM, *UPGRADES]):
        raise ValueError("it is no archive of a store")
    if form > FORM:
        raise ValueError(f"the archive has format {form} of a newer version; this version reads formats up to {FORM}")
    return form


def _upgrade(value: dict[str, Any], form: int) -> dict[str, Any]:
    for older in range(form, FORM):
        value = UPGRADES[older](value)
    return value
