"""BM25: ranks short texts by a query. Source: 004, `skill_search`, with its k1 of 1.2 and b of 0.75."""

import math
import re
from collections import Counter
from collections.abc import Mapping

K1 = 1.2
B = 0.75
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of *text*, without case."""
    return _WORD.findall(text.casefold())


def rank(query: str, texts: Mapping[str, str]) -> list[tuple[str, float]]:
    """Return the keys and scores of the *texts* that contain a word of *query*, best first; equal scores by key."""
    counted = {key: Counter(words(text)) for key, text in texts.items()}
    if not counted:
        return []
    lengths = {key: count.total() for key, count in counted.items()}
    mean = sum(lengths.values()) / len(lengths) or 1.0
    scores = dict.fromkeys(counted, 0.0)
    for word in dict.fromkeys(words(query)):
        holding = [key for key, count in counted.items() if word in count]
        rarity = math.log(1 + (len(counted) - len(holding) + 0.5) / (len(holding) + 0.5))
        for key in holding:
            often = counted[key][word]
            scores[key] += rarity * often * (K1 + 1) / (often + K1 * (1 - B + B * lengths[key] / mean))
    return sorted(((key, score) for key, score in scores.items() if score > 0), key=lambda one: (-one[1], one[0]))
