"""Values of cargo's and rustc's `--target`: a triple, or a file that may name the program that links.

Source: rustc 1.95, "Custom Targets".
"""


def objection(text: str) -> str | None:
    """Why *text* has to be named; None for a triple that the compiler knows."""
    is_file = "/" in text or text.endswith(".json")
    return "is a file that may name the program that links" if is_file else None
