"""The fixed floor: commands that no mode, rule or approval can permit.

`catastrophe` checks every command of a script by the name of its program, the input of shells and interpreters, redirections,
functions and loops. docs/shell.md, "The floor", lists what it refuses.
"""

from toolcharter.guards.shell.floor.check import catastrophe, check_script

__all__ = ["catastrophe", "check_script"]
