"""`python -m toolcharter.cli` is the command `toolcharter`."""

from toolcharter.cli import main

if __name__ == "__main__":
    main()
