"""The data of a view of a workspace: its scope, and the paths that were analysed for it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths.handles import Root
from toolcharter.guards.paths.hidden import HardLinkDetector, HiddenNames
from toolcharter.guards.paths.names import Parts
from toolcharter.guards.paths.target import WriteGuard


class PathPlan(NamedTuple):
    """A path, analysed as text: where to start and what to walk. It says nothing about the file itself."""

    root: Root
    parts: Parts
    encoded: bytes
    names: Parts
    """Where *parts* lead if no link lies on the way."""
    shown: str
    """The path of `names` as results show it."""
    conditions: tuple[bytes, ...]
    """The texts that hide the file if it contains one of them."""


class Scope(NamedTuple):
    """The rules of one view: which paths it may read and change."""

    inventory: Inventory
    read_roots: tuple[Path, ...]
    protected: tuple[str, ...]
    read_only: tuple[str, ...]
    check: Callable[[], None]
    write_guard: WriteGuard
    hidden: HiddenNames
    hard_links: HardLinkDetector  # of hidden files
