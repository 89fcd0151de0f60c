"""`python -m toolcharter.cli` is the command `toolcharter`."""

from toolcharter.cli import main

main()
