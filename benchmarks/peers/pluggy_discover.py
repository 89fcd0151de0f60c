"""Measures how long pluggy takes to discover the same plugins, in seconds: it imports and registers each of them."""

import sys
from time import perf_counter

import pluggy

import toolcharter.gate.build.open  # Imported before, so that pluggy is not charged for what plugins import.
import toolcharter.hookspecs

manager = pluggy.PluginManager("toolcharter")
manager.add_hookspecs(toolcharter.hookspecs)
started = perf_counter()
manager.load_setuptools_entrypoints("pluggy_bench")
taken = perf_counter() - started
assert len(manager.get_plugins()) == int(sys.argv[1])
print(taken)
