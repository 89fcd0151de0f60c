"""The fixed floor: commands that nobody may permit, whatever mode, rule or approval says.

`catastrophe` looks at every command of a script by the name of its program, at what is fed to shells and interpreters, at
what is redirected, and at functions and loops. Source: source 004, section 4, "Deny Patterns", by kind, not by letters.
"""

from toolcharter.guards.shell.floor.look import catastrophe, look

__all__ = ["catastrophe", "look"]
