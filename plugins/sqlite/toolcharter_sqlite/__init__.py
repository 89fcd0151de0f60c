"""The store `sqlite:`: one file that only this user can open, by default in the user's state folder.

`sqlite:` is the default file; `sqlite:///var/lib/tools/store.sqlite3` names another file. SQLite runs in write-ahead
mode: readers see a snapshot while one process at a time writes. A file or folder that other users can write is refused.
"""

import os
from pathlib import Path
from urllib.parse import unquote

from toolcharter import StoreEngine, hookimpl, lazy, state_path

database = lazy("toolcharter_sqlite.database")
sql = lazy("toolcharter_stores.sql")

FILE = "store.sqlite3"


@hookimpl
def open_store(url: str) -> StoreEngine:
    """Return the engine for `sqlite:` and `sqlite:///absolute/path`.

    Raises:
        ValueError: The URL has another form, or the user has no home.
    """
    engine: StoreEngine = sql.SqlEngine(database.SqliteDatabase(file_of(url)))
    return engine


def file_of(url: str) -> Path:
    """Return the file that *url* names.

    Raises:
        ValueError: The URL names no absolute path, or the user has no home.
    """
    rest = url.removeprefix("sqlite:")
    if not rest:
        folder = state_path("store", os.environ)
        if folder is None:
            raise ValueError("this user has no home: write sqlite:///absolute/path, or set XDG_STATE_HOME")
        return folder / FILE
    path = unquote(rest.removeprefix("//"))
    if not rest.startswith("///") or "?" in rest or "#" in rest or path.endswith("/") or "\0" in path:
        raise ValueError("write sqlite: for the default file, or sqlite:///absolute/path for another file")
    return Path(os.path.normpath(f"/{path.lstrip('/')}"))  # Other tools write four slashes for the same file.
