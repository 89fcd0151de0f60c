"""Signs that are special to a shell, and plain characters in a rule."""

import re
from typing import Final

# Not the brackets of `bash:[ -f *`, which are a program's name and its last word.
_SHELL_GLOB: Final = re.compile(r"\[[^\]\[\s]+\]|\?|\{[^{}\s]+,[^{}\s]*\}")


def taken_literally(text: str) -> str | None:
    """What there is to say of the text of a rule that holds one; None if it holds none."""
    found = _SHELL_GLOB.search(text)
    return None if found is None else f"{found.group()!r} in {text!r} means itself: only `*` is special."
