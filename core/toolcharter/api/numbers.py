"""Numbers at the border: what is not finite compares as no limit does, and becomes null in JSON."""

import math
from collections.abc import Mapping
from typing import Any


def require_finite(value: Any) -> None:
    """Refuse *value* if a number in it is not finite; containers are looked through.

    Raises:
        ValueError: It says where: `limits.0: nan is no finite number`.
    """
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        place, found = stack.pop()
        if isinstance(found, float):
            if not math.isfinite(found):
                raise ValueError(f"{place}: {found} is no finite number".removeprefix(": "))
        elif isinstance(found, Mapping):
            stack += [(f"{place}.{key}".removeprefix("."), item) for key, item in found.items()]
        elif isinstance(found, list | tuple | set | frozenset):
            stack += [(f"{place}.{number}".removeprefix("."), item) for number, item in enumerate(found)]
