"""Events of tools as messages of NATS, and a bus of JetStream."""
