"""Which programs run other programs or code: interpreters, wrappers, build tools."""

import re
from functools import cache
from pathlib import Path

# python3.11, python3.13t, gcc-12, python2.7-dbg: a name, its version, and a letter or two of its build.
_VERSION = re.compile(r"[-.]?[0-9][0-9.]*[a-z]{0,2}\Z")
_MAX_NAME = 255
"""No file has a longer name."""


def is_launcher(program: str) -> bool:
    """Whether *program* is known to run other programs or code.

    Args:
        program: As written: `python3.11`, `/usr/bin/env`, `x86_64-linux-gnu-gcc-12`. One of its parts between hyphens
            suffices, so that the many names of one program need not be listed.
    """
    name = program.rpartition("/")[2].lower().removesuffix(".exe")
    parts = (name, *name.split("-"))
    return len(name) > _MAX_NAME or any(
        part in _launchers() or _VERSION.sub("", part) in _launchers() for part in parts
    )


@cache
def _launchers() -> frozenset[str]:
    lines = Path(__file__).with_name("launchers.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split())
