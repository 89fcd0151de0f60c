"""What a view of a workspace is made of: how far it goes, and a path that was analysed for it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from toolcharter.guards.inventory import Inventory
from toolcharter.guards.paths.handles import Root
from toolcharter.guards.paths.hidden import HiddenNames, Twins
from toolcharter.guards.paths.names import Parts
from toolcharter.guards.paths.target import WriteGuard


class Plan(NamedTuple):
    """A path, analysed as text: where to start, what to walk. Says nothing about what lies there."""

    root: Root
    parts: Parts
    encoded: bytes
    names: Parts
    """Where *parts* lead, if no link lies on the way."""
    shown: str
    """The same as results show it."""
    conditions: tuple[bytes, ...]
    """The file is hidden if it holds one of these."""


class Scope(NamedTuple):
    """How far one view goes."""

    inventory: Inventory
    read_roots: tuple[Path, ...]
    protected: tuple[str, ...]
    read_only: tuple[str, ...]
    check: Callable[[], None]
    leave: WriteGuard
    hidden: HiddenNames
    twins: Twins  # of hidden files
