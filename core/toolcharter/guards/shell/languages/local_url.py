"""What curl fetches: an address of this machine, by http or https.

Source: curl(1), "URL": other schemes read files (`file:`) or speak other protocols, and braces stand for several addresses.
"""

import re
from typing import Final

# Neither braces nor brackets, of which curl makes several addresses, nor a user, nor a backslash.
_LOCAL: Final = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?(?:[/?][\w./?&=%+:,~;-]*)?", re.ASCII
)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for an address of this machine."""
    return None if _LOCAL.fullmatch(text) else "may lead to another machine, or to a file"
