"""The values and protocols that plugins, hooks and the gate share. None of them does I/O, except in a given store."""
