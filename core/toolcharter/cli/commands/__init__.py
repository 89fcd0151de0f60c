"""The commands, one module each; `command` is what the group runs."""
