"""The events of a call: their contract, the lines they become, and the sinks they go to."""
