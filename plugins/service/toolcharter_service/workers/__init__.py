"""Several workers: the bus, the runner `remote` and the command `toolcharter worker`."""
