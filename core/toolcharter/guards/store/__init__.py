"""Stores: records of one tenant and one distribution over an engine's rows, checked both ways, secrets sealed between."""
