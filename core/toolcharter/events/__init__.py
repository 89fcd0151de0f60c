"""The events of a call: their contract, their lines, and the sinks that write them."""
