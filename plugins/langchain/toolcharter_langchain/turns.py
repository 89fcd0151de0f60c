"""Which call of a node gets which answer: LangGraph hands a node its answers in the order in which it asks."""

import threading
from dataclasses import dataclass, field
from typing import Any

from langgraph.config import get_config

MAX_NODES = 10_000
"""How many nodes that have asked are remembered; of a forgotten one, the first call to ask gets the first answer."""
Key = tuple[Any, ...]


@dataclass
class _Turn:
    """One node of a graph, in all its runs: each begins from the beginning, with the answers to earlier ones."""

    asked: list[Key] = field(default_factory=list)
    """The calls that have asked, in that order."""
    refused: set[Key] = field(default_factory=set)
    run: object = None
    """Tells its present run from earlier ones."""
    answered: int = 0
    """How many answers this run has taken."""


class Turns:
    """The calls of a node that ask, one after the other.

    A `ToolNode` makes all calls of a message at once and shows one question. As both could ask, the answer would go to
    whichever comes first when the graph goes on. So a call may not ask while another one waits for its answer.
    """

    def __init__(self) -> None:
        self._turns: dict[Key, _Turn] = {}
        self._lock = threading.Lock()

    def begin(self, key: Key) -> bool:
        """Whether the call *key* may ask now. `end` has to follow once it has its answer.

        Raises:
            KeyError: There is no graph around the call.
            RuntimeError: The same.
        """
        place, run = _here()
        with self._lock:
            turn = self._turns.setdefault(place, _Turn())
            if len(self._turns) > MAX_NODES:
                del self._turns[next(iter(self._turns))]
            if turn.run is not run:
                turn.run, turn.answered = run, 0
            if turn.answered == len(turn.asked) and key not in turn.refused:
                turn.asked.append(key)
            may_ask = turn.asked[turn.answered : turn.answered + 1] == [key]
            if not may_ask:
                turn.refused.add(key)
            return may_ask

    def end(self) -> None:
        """The call that has asked last has its answer."""
        place, run = _here()
        with self._lock:
            turn = self._turns.get(place)
            if turn is not None and turn.run is run:
                turn.answered += 1


TURNS = Turns()
"""One for the process: a node may have the tools of several hosts."""


def _here() -> tuple[Key, object]:
    """The node around the present code, and what is another object in each of its runs."""
    around = get_config()["configurable"]
    # Source: langgraph 1.2, `types.interrupt`, whose counter of questions is in the scratchpad.
    return (around.get("thread_id"), around["checkpoint_ns"]), around["__pregel_scratchpad"]
