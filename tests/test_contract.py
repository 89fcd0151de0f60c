"""Every installed plugin keeps the contract; whether its reasons are reached is judged when the whole run ends."""

from collections.abc import Iterator
from secrets import token_hex

import pytest

from toolcharter.testing.contract import contract_of


@pytest.fixture(autouse=True, scope="module")
def shared_secret() -> Iterator[None]:
    """What the approver's service proves itself with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("APPROVER_SECRET", token_hex(32))
        yield


TestContract = contract_of(
    policies={
        "remote": [{"workspace": "repo", "bus": "nats://127.0.0.1:4222"}],
        "approver": [{"url": "http://127.0.0.1:8080/ask", "secret_env": "APPROVER_SECRET"}],
        "docker": [{"image": "debian:stable"}],
        "principles": [{"url": "http://127.0.0.1:8080/check"}],
    },
    open_defaults={
        "browser": {
            "allowed_actions": "they look; `click` and `type`, which can act, are not among them",
            "allowed_domains": "as of `web`, below",
        },
        "git": {"allowed_branches": "allow_push is false and allowed_remotes is empty"},
        "cron": {"allowed_actions": "they look at what is the caller's own"},
        "schedule": {"allowed_actions": "they look at what is the caller's own, and end it"},
        "canvas": {
            "allowed_actions": "they show a page that reaches nothing; `eval` and `navigate` are not among them"
        },
        "nodes": {"allowed_actions": "they look at what is the caller's own, and forget it"},
        "skills": {"allow": "a skill is a text that permits nothing; what it leads to is judged as any other call"},
        "memory": {"allowed_actions": "what it writes is the caller's own, bounded, and shown as data ever after"},
        **{
            tool: {"allowed_domains": "only public addresses are reached, and for that a profile lists the tool"}
            for tool in ("web", "http_get", "html_scraper", "capture_screenshot")
        },
    },
)
