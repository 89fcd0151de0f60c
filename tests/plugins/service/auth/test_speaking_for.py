"""For whom a request speaks: headers fill what the principal leaves open, and never more."""

import pytest
from fastapi import Request
from tests.rows import each_row

from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.speaking_for import SpeakingFor, speaking_for
from toolcharter_service.http.problems import HttpProblem

ONE, BOTH, ANY = {"reviewer"}, {"reviewer", "coder"}, {"*"}


def spoken(
    headers: list[tuple[str, str]],
    agents: set[str],
    *,
    bound: set[str] | None = None,
    projects: set[str] | None = None,
    named: str | None = None,
) -> SpeakingFor:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    bounds = [None if names is None else frozenset(names) for names in (bound, projects)]
    principal = Principal("acme", "bot", frozenset({Role.CALLER}), bounds[0], projects=bounds[1])
    return speaking_for(Request({"type": "http", "headers": raw}), principal, agents, named)


@each_row(
    ("headers", "agents", "bound", "agent"),
    [
        pytest.param([], ONE, None, "reviewer", id="the tenant's only one"),
        pytest.param([], BOTH, {"coder"}, "coder", id="the token's only one"),
        pytest.param([], ANY, None, None, id="any, and none named"),
        pytest.param([], ANY, {"helper"}, "helper", id="any, and the token has one"),
        pytest.param([("X-Agent-ID", "coder")], BOTH, None, "coder", id="named"),
        pytest.param([("X-Agent-ID", "coder")], BOTH, BOTH, "coder", id="named among the token's"),
        pytest.param([("X-Agent-ID", "")], ONE, None, "reviewer", id="an empty header is none"),
        pytest.param([("X-Agent-ID", "other")], ANY, None, "other", id="any"),
    ],
)
def test_the_agent_is_the_one_that_may_be_meant(
    headers: list[tuple[str, str]], agents: set[str], bound: set[str] | None, agent: str | None
) -> None:
    """What the header names, or the only one that there is."""
    assert spoken(headers, agents, bound=bound) == (agent, None)


@each_row(
    ("headers", "agents", "bound", "named", "problem"),
    [
        pytest.param([], BOTH, None, None, (400, "agent_required"), id="two"),
        pytest.param([], BOTH, BOTH, None, (400, "agent_required"), id="two of the token"),
        pytest.param([], BOTH, set(), None, (400, "agent_required"), id="a token of none"),
        pytest.param([("X-Agent-ID", "coder")], BOTH, ONE, None, (403, "agent_not_allowed"), id="not the token's"),
        pytest.param([("X-Agent-ID", "ghost")], BOTH, ONE, None, (403, "agent_not_allowed"), id="nobody's"),
        pytest.param([("X-Agent-ID", "ghost")], BOTH, None, None, (404, "unknown_agent"), id="unknown"),
        pytest.param([("X-Agent-ID", "*")], ANY, None, None, (404, "unknown_agent"), id="the star is no name"),
        pytest.param([("X-Agent-ID", "../x")], ANY, None, None, (404, "unknown_agent"), id="a path is no name"),
        pytest.param([("X-Agent-ID", "coder")] * 2, BOTH, None, None, (400, "invalid_request"), id="twice"),
        pytest.param([("X-Agent-ID", "c\xf6der")], BOTH, None, None, (400, "invalid_request"), id="letters"),
        pytest.param([("X-Agent-ID", "a" * 201)], ANY, None, None, (400, "invalid_request"), id="long"),
        pytest.param([("X-Agent-ID", "coder")], BOTH, None, "reviewer", (400, "invalid_request"), id="two names"),
        pytest.param([], BOTH, ONE, "coder", (403, "agent_not_allowed"), id="the body names another"),
    ],
)
def test_an_agent_that_may_not_be_meant_is_refused(
    headers: list[tuple[str, str]],
    agents: set[str],
    bound: set[str] | None,
    named: str | None,
    problem: tuple[int, str],
) -> None:
    """A header gives nothing that the token does not have, and does not tell which agents there are."""
    with pytest.raises(HttpProblem) as raised:
        spoken(headers, agents, bound=bound, named=named)

    assert (raised.value.status, raised.value.reason) == problem


@each_row(
    ("header", "bound", "project"),
    [
        ([], None, None),
        ([("X-Project-ID", "apollo")], None, "apollo"),
        ([], {"apollo"}, "apollo"),
        ([], {"apollo", "gemini"}, None),
        ([("X-Project-ID", "gemini")], {"apollo", "gemini"}, "gemini"),
    ],
)
def test_the_project_is_the_one_that_may_be_meant(
    header: list[tuple[str, str]], bound: set[str] | None, project: str | None
) -> None:
    """What the header names, or the token's only one."""
    assert spoken(header, ONE, projects=bound) == ("reviewer", project)


def test_a_project_that_is_not_the_tokens_is_refused() -> None:
    """As an agent is."""
    with pytest.raises(HttpProblem) as raised:
        spoken([("X-Project-ID", "gemini")], ONE, projects={"apollo"})

    assert (raised.value.status, raised.value.reason) == (403, "project_not_allowed")
