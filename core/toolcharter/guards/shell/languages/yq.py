"""Expressions of yq: that of Mike Farah, and the one that hands them to jq. What reads files or the environment is named.

Source: yq 4.44, "Operators"; jq 1.7, jq(1).
"""

import re
from typing import Final

_REACHES: Final = re.compile(
    r"\b(?:load(?:_\w+)?|load_?(?:str|xml|base64|props)|(?:str|xml|base64|props)_?load|env|str_?env|env_?subst"
    r"|import|include|modulemeta|input_filename|eval|system|exec|split_doc)\b|\$ENV|\$__prog"
)


def objection(text: str) -> str | None:
    """Why *text* has to be named; None if it computes from the input, and prints."""
    return "is an expression that may read files or the environment" if _REACHES.search(text) else None
