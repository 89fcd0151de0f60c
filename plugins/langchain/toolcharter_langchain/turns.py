"""Assigns answers to the calls of a node. LangGraph hands a node its answers in the order in which the node asks."""

import threading
from dataclasses import dataclass, field
from typing import Any

from langgraph.config import get_config

MAX_NODES = 10_000
"""The maximum number of nodes remembered. In a node that was dropped, the first call to ask gets the first answer."""
Key = tuple[Any, ...]


@dataclass
class _NodeTurn:
    """One node of a graph, in all its runs. Each run starts at the beginning, with the answers to earlier questions."""

    asked: list[Key] = field(default_factory=list)
    """The calls that have asked, in the order of their questions."""
    refused: set[Key] = field(default_factory=set)
    run: object = None
    """Identifies the current run."""
    answered: int = 0
    """How many answers this run has taken."""


class Turns:
    """Lets the calls of a node ask one after the other.

    A `ToolNode` makes all calls of a message at once and shows one question. If two calls could ask, the answer would
    go to the call that comes first when the graph resumes. So a call may not ask while another waits for its answer.
    """

    def __init__(self) -> None:
        self._turns: dict[Key, _NodeTurn] = {}
        self._lock = threading.Lock()

    def try_begin(self, key: Key) -> bool:
        """Return whether the call *key* may ask now. The caller must call `note_answered` once it has the answer.

        Raises:
            KeyError: The call is made outside of a graph.
            RuntimeError: The same.
        """
        node, run = _current_node()
        with self._lock:
            turn = self._turns.setdefault(node, _NodeTurn())
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

    def note_answered(self) -> None:
        """Note that the call that asked last has its answer."""
        node, run = _current_node()
        with self._lock:
            turn = self._turns.get(node)
            if turn is not None and turn.run is run:
                turn.answered += 1


TURNS = Turns()
"""Shared by the whole process, because a node may have the tools of several hosts."""


def _current_node() -> tuple[Key, object]:
    """Return the current node, and an object that differs from run to run."""
    around = get_config()["configurable"]
    # Source: langgraph 1.2, `types.interrupt`, whose counter of questions is in the scratchpad.
    return (around.get("thread_id"), around["checkpoint_ns"]), around["__pregel_scratchpad"]
