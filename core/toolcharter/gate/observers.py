"""Observers of the reasons that bodies give. Only `toolcharter.testing` uses them, to see which reasons tests cover.

Imports next to nothing, because pytest loads it in every project that has toolcharter installed.
"""

from collections.abc import Callable
from typing import Any

Observer = Callable[[str, Any, str], object]
"""Takes the profile's name, the tool's spec, and the reason its body gave; must be quick and raise nothing."""

OBSERVERS: list[Observer] = []
"""Only the last observer is notified. Read when a toolbox makes the pipeline of a tool. Empty outside tests."""
