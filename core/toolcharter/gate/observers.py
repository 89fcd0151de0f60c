"""Observers of the ends of bodies: `toolcharter.testing` alone, to see which reasons tests show.

Imports next to nothing: pytest loads it in every project that has toolcharter installed.
"""

from collections.abc import Callable
from typing import Any

Observer = Callable[[str, Any, str], object]
"""Takes the profile's name, the tool's spec, and the reason its body gave; must be quick and raise nothing."""

OBSERVERS: list[Observer] = []
"""The last one counts; read when a toolbox makes the way of a tool's calls. Empty outside tests."""
