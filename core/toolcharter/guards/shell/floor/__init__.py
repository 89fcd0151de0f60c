"""The fixed floor: commands that no mode, rule or approval can permit.

`catastrophe` looks at every command of a script by the name of its program, at what is fed to shells and interpreters, at
what is redirected, and at functions and loops. What it refuses is listed
in docs/shell.md, "The floor".
"""

from toolcharter.guards.shell.floor.check import catastrophe, look

__all__ = ["catastrophe", "look"]
