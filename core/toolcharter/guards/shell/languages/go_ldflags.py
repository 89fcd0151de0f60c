"""Values of `go build -ldflags`: the linker's flags, one of which names the program that links.

Source: Go 1.27, `go tool link -help`.
"""

import shlex


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it strips symbols and sets values."""
    try:
        words = iter(shlex.split(text.removeprefix("all=")))
    except ValueError:
        return "is not understood"
    for word in words:
        if word == "-X":
            next(words, None)
        elif word not in {"-s", "-w"} and not word.startswith("-X="):
            return "gives the linker a flag that is not known to be harmless"
    return None
