"""Makes a first governed call: imports, reads the profile, loads its plugin, calls, writes the events."""

import sys

from toolcharter import build_tools

with build_tools("minimal", workspace=sys.argv[1], events=f"file:{sys.argv[1]}/events.jsonl") as toolbox:
    if toolbox.call("list_files", {"path": "."}).outcome != "ok":
        sys.exit(1)
