"""The values and protocols that plugins, hooks and the gate share. Nothing here does I/O, but in a store that it is given."""
