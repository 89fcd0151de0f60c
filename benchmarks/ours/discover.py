"""How long it takes to list what is installed, in seconds; nothing is imported."""

import sys
from time import perf_counter

from toolcharter.loader.scan import installed

started = perf_counter()
found = installed()
taken = perf_counter() - started
assert sum(name.startswith("bench_") for name in found.tools) == int(sys.argv[1])
print(taken)
