"""Stores and buses by their URLs: `open_store` and `open_bus` for hosts, and the engine behind `rt.store`."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.loader.load import Loaded, load_plugins
from toolcharter.loader.scan import Installed
from toolcharter.loader.select import bus_need, store_need

if TYPE_CHECKING:
    from toolcharter.api.bus import Bus
    from toolcharter.api.store_engine import StoreEngine
    from toolcharter.guards.secrets import engine as scrubber
    from toolcharter.guards.store import handle
    from toolcharter.guards.store.handle import StoreHandle
else:
    handle = lazy("toolcharter.guards.store.handle")
    scrubber = lazy("toolcharter.guards.secrets.engine")

DEFAULT_STORE = "sqlite:"
"""The store of those who name none: a file in the user's state folder."""


def open_store(url: str = DEFAULT_STORE, *, migrates: bool = True) -> "StoreHandle":
    """A store for a host: one engine, opened on first use, that many tenants and distributions share.

    `open_store("sqlite:").bound("acme", "acme-service")` is a `Store`.

    Args:
        url: The scheme is the name of a plugin's entry point, and that plugin alone is imported.
        migrates: Whether the first use brings what is stored to the present form; workers that others migrate for
            refuse another form instead.

    Returns:
        A handle, to be closed; a context manager closes it.

    Raises:
        PluginError: No plugin opens it, or the URL cannot be used. The URL itself is not shown.
    """
    place = f"store '{url.partition(':')[0]}:'"
    engine = open_engine(url, place)
    return handle.StoreHandle(lambda: engine, migrates=migrates)


def open_bus(url: str, *, index: Installed | None = None) -> "Bus":
    """The bus behind *url*, such as `nats://127.0.0.1:4222`, or `process:` for one within this process.

    Args:
        url: The scheme is the name of a plugin's entry point, and that plugin alone is imported.
        index: What is installed; by default, what is.

    Returns:
        A bus, to be closed. It connects by itself, and again whenever it was away.

    Raises:
        PluginError: No plugin opens it, or the URL cannot be used. The URL itself is not shown.
    """
    place = f"bus '{url.partition(':')[0]}:'"
    remember_passwords(url)
    return load_plugins({}, others=[bus_need(url, place)], index=index).open_bus(url, place)


def open_engine(
    url: str,
    place: str,
    *,
    workspace: Path | None = None,
    loaded: Loaded | None = None,
    index: Installed | None = None,
) -> "StoreEngine":
    """The engine for *url*; nothing connects yet.

    Args:
        url: Its URL; empty for the store of those who name none.
        place: Where it is written, or who asks for it.
        workspace: Where tools write: no store lies there.
        loaded: Plugins, the store's of *url* among them; by default that one is loaded now.
        index: What is installed; default `installed()`.

    Raises:
        ConfigurationError: No plugin opens it, or it cannot be used. The URL itself is not shown.
    """
    if not url:
        url, place, loaded = DEFAULT_STORE, place or "rt.store", None
    remember_passwords(url)
    if loaded is None:
        loaded = load_plugins({}, others=[store_need(url, place)], index=index)
    engine = loaded.open_store(url, place)
    inside = [path for path in engine.keeps_state_in() if workspace is not None and _concerns(path, workspace)]
    if inside:
        engine.close()
        what = f"{str(inside[0])!r} lies in the workspace, where tools can write."
        raise ConfigurationError([Fault(place, "store", what, "Name a place elsewhere.")])
    return engine


def _concerns(path: Path, workspace: Path) -> bool:
    return any(each.is_relative_to(workspace) for each in (path, path.resolve()))


def remember_passwords(url: str) -> None:
    """Have what is secret of *url* masked wherever it is shown, as it is written and as it is meant."""
    _, mark, rest = url.partition("://")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2]
    if mark and at and password:
        scrubber.remember([password, unquote(password)])
