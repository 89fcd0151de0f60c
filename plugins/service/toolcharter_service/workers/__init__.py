"""Many workers: the bus within one process, the runner `remote` and the command `toolcharter worker`."""
