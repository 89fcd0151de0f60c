"""One registry and one gate behind HTTP for many agents, people and machines."""
