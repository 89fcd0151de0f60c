"""YAML files become one `Profile`, each value with its place, all faults at once. Imports no plugin, runs no tool."""
