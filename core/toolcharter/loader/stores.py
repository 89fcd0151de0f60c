"""Opens stores and buses by their URLs: `open_store` and `open_bus` for hosts, and the engine behind `rt.store`."""

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.loader.load import LoadedPlugins, load_plugins
from toolcharter.loader.scan import InstalledPlugins
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
"""The default store: a file in the user's state folder."""


def open_store(url: str = DEFAULT_STORE, *, migrates: bool = True) -> "StoreHandle":
    """Open a store for a host: one engine, opened on first use, that many tenants and distributions share.

    `open_store("sqlite:").bound("acme", "acme-service")` is a `Store`.

    Args:
        url: The scheme is the name of a plugin's entry point. Only that plugin is imported.
        migrates: Whether the first use migrates the stored records to the current form. A worker that leaves migration
            to another process passes False; its store then refuses records of another form.

    Returns:
        A handle, to be closed; a context manager closes it.

    Raises:
        PluginError: No plugin opens it, or the URL cannot be used. The URL itself is not shown.
    """
    place = f"store '{url.partition(':')[0]}:'"
    engine = open_engine(url, place)
    return handle.StoreHandle(lambda: engine, migrates=migrates)


def open_bus(url: str, *, index: InstalledPlugins | None = None) -> "Bus":
    """Open the bus behind *url*, such as `nats://127.0.0.1:4222`, or `process:` for a bus within this process.

    Args:
        url: The scheme is the name of a plugin's entry point. Only that plugin is imported.
        index: The installed plugins; default `find_installed()`.

    Returns:
        A bus, to be closed. It connects by itself, and reconnects after each interruption.

    Raises:
        PluginError: No plugin opens it, or the URL cannot be used. The URL itself is not shown.
    """
    place = f"bus '{url.partition(':')[0]}:'"
    register_password(url)
    return load_plugins({}, others=[bus_need(url, place)], index=index).open_bus(url, place)


def open_engine(
    url: str,
    place: str,
    *,
    workspace: Path | None = None,
    loaded: LoadedPlugins | None = None,
    index: InstalledPlugins | None = None,
) -> "StoreEngine":
    """Open the engine for *url*, without connecting.

    Args:
        url: Its URL; empty for the default store.
        place: The place of the URL, or the name of the caller that asks for the store.
        workspace: The folder that tools write to. The store must not keep its state there.
        loaded: Loaded plugins, including the one for *url*; by default that plugin is loaded now.
        index: The installed plugins; default `find_installed()`.

    Raises:
        ConfigurationError: No plugin opens it, or it cannot be used. The URL itself is not shown.
    """
    if not url:
        url, place, loaded = DEFAULT_STORE, place or "rt.store", None
    register_password(url)
    if loaded is None:
        loaded = load_plugins({}, others=[store_need(url, place)], index=index)
    engine = loaded.open_store(url, place)
    inside = [path for path in engine.keeps_state_in() if workspace is not None and _lies_in(path, workspace)]
    if inside:
        engine.close()
        what = f"{str(inside[0])!r} lies in the workspace, where tools can write."
        raise ConfigurationError([Fault(place, "store", what, "Name a place outside the workspace.")])
    return engine


def _lies_in(path: Path, workspace: Path) -> bool:
    return any(each.is_relative_to(workspace) for each in (path, path.resolve()))


def register_password(url: str) -> None:
    """Register the password of *url* to be masked wherever it is shown, both as it is written and decoded."""
    _, mark, rest = url.partition("://")
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2]
    if mark and at and password:
        scrubber.add_secrets([password, unquote(password)])
