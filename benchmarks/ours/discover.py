"""Measures how long it takes to list the installed plugins, in seconds; imports none of them."""

import sys
from time import perf_counter

from toolcharter.loader.scan import find_installed

started = perf_counter()
found = find_installed()
taken = perf_counter() - started
assert sum(name.startswith("bench_") for name in found.tools) == int(sys.argv[1])
print(taken)
