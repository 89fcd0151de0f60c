"""Sessions that call tools, as the gate would let them."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from toolcharter.api.call import Call, Caller, Deny
from toolcharter.guards.session import ActiveSessionGuards
from toolcharter.profile.settings import SessionGuards

IDS = count()


def call_of(tool, args=None, capabilities=None, kind="builtin"):
    args = args or {}
    return Call(
        tool=tool,
        action=args.get("action"),
        args=args,
        caller=Caller(session="s"),
        call_id=str(next(IDS)),
        parent_id=None,
        profile="p",
        workspace=Path("/ws"),
        kind=kind,
        capabilities=capabilities,
        safety="low",
    )


def by_name(rule) -> Callable[[Call], bool]:
    """Match as `tool` and `tool:action` do; what rules match is `toolcharter.policy`'s business."""
    tool, _, action = rule.text.partition(":")
    return lambda call: call.tool == tool and action in {"", call.action}


class Agent:
    """One session that takes the gate's steps for each call, and tells what came back."""

    def __init__(self, memory, key):
        self.memory = memory
        self.key = key

    def begin(self, tool, *, effects=False, **args):
        """The call if it entered, else the denial, which `before` and `entered` must agree on."""
        call = call_of(tool, args)
        foretold = self.memory.before(self.key, call)
        denial = self.memory.entered(self.key, call, has_effects=effects)
        assert denial == (foretold if isinstance(foretold, Deny) else None)
        return denial or call

    def end(self, call, outcome="ok", text="done"):
        return self.memory.after(self.key, call, outcome, text)

    def __call__(self, tool, *, outcome="ok", text="done", effects=False, **args):
        """The notes of a whole call, or the denial."""
        begun = self.begin(tool, effects=effects, **args)
        return begun if isinstance(begun, Deny) else self.end(begun, outcome, text)

    def dry(self, tool, **args):
        return self.memory.before(self.key, call_of(tool, args))


@pytest.fixture
def make_call():
    return call_of


@pytest.fixture
def make_memory():
    def make(*, identify=lambda _: None, max_sessions=8, **settings):
        return ActiveSessionGuards(
            SessionGuards(**settings), matcher=by_name, identify=identify, max_sessions=max_sessions
        )

    return make


@pytest.fixture
def make_agent(make_memory):
    def make(key="s", **settings):
        return Agent(make_memory(**settings), key)

    return make


@pytest.fixture
def agent_of():
    """Another session of a memory that there is already."""
    return Agent
