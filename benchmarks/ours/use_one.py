"""Builds a profile that lists one of five hundred plugins; prints how many of them were imported."""

import sys

from toolcharter import build_tools

with build_tools(sys.argv[1], workspace=sys.argv[2], events=print) as toolbox:
    assert list(toolbox) == ["bench_1"]
print(sum(name.startswith("bench_") for name in sys.modules))
