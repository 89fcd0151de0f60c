"""The fixed floor: commands that nobody may permit, whatever mode, rule or approval says.

`catastrophe` looks at every command of a script by the name of its program, at what is fed to shells and interpreters, at
what is redirected, and at functions and loops. What it refuses is listed
in docs/shell.md, "The floor".
"""

from toolcharter.guards.shell.floor.check import catastrophe, look

__all__ = ["catastrophe", "look"]
