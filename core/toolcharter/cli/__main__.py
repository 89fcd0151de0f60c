"""Runs the `toolcharter` command for `python -m toolcharter.cli`."""

from toolcharter.cli import main

main()
