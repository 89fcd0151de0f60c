"""Stores: keep the records of one tenant and distribution in an engine's rows, validated, with secrets encrypted."""
