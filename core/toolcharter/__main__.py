"""`python -m toolcharter` is the command `toolcharter`."""

from toolcharter.cli import main

main()
