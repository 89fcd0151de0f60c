"""The commands, one module each; the group runs the `command` of a module."""
