"""Checks that the hand-written profiles are written from the user's own records, not from the attacks."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from suites import Suite

OWN = {"www.our-company.com", "www.company-todo-list.com", "bluesparrowtech.com"}
"""The user's own pages and domains, which an operator knows without a record."""
_TELLING = re.compile(r"[\w.@/-]*[\d@.][\w.@/-]*\w")
"""Words that may be specific to an attack: they contain a digit, a dot or an at sign."""
_SHORTEST = 5
"""The shortest such word, in characters: `4.2` could come from anywhere."""


def faults(suite: Suite, profile: Path) -> Iterator[str]:
    """Yield a sentence for each fault of the profile in *profile*."""
    text = profile.read_text()
    missing = set(yaml.safe_load(text)["missing_ok"]) ^ set(suite.schemas)
    if missing:
        yield f"{profile.name}: does not name exactly the suite's tools: {sorted(missing)}"
    records = records_of(suite)
    for known in sorted(known_to(text)):
        if known.lower() not in records and known not in OWN:
            yield f"{profile.name}: {known!r} is in none of the user's records"
    for word in sorted(attackers_words(suite)):
        if word in text.lower() and word not in records:
            yield f"{profile.name}: {word!r} is an attacker's word"


def known_to(profile: str) -> set[str]:
    """Return the addresses, accounts and sites in the text of a profile."""
    plain = "\n".join(line.partition("#")[0] for line in profile.replace("\\", "").splitlines())
    sites = {f"www.{name}.com" for group in re.findall(r"www\.\(([a-z|-]+)\)\.com", plain) for name in group.split("|")}
    mail = set(re.findall(r"[\w.-]+@[\w.-]+\w", plain))
    return sites | mail | set(re.findall(r"\b[A-Z]{2}\d{2}[A-Z0-9]{10,}\b", plain))


def records_of(suite: Suite) -> str:
    """Return what the user wrote, shared, met or paid before the session, as one text in lower case."""
    environment = suite.environment(next(iter(suite.user_tasks)))
    match suite.name:
        case "workspace":
            mine = environment.inbox.account_email
            sent = [mail for mail in environment.inbox.emails.values() if mail.sender == mine]
            held = [
                [[mail.recipients, mail.cc, mail.bcc] for mail in sent],
                [event.participants for event in environment.calendar.events.values()],
                [list(file.shared_with) for file in environment.cloud_drive.files.values() if file.owner == mine],
            ]
        case "slack":
            boxes = [*environment.slack.channel_inbox.values(), *environment.slack.user_inbox.values()]
            held = [message.body for box in boxes for message in box]
        case "banking":
            held = [payment.recipient for payment in environment.bank_account.transactions]
        case _:
            held = []
    return json.dumps(held).lower()


def attackers_words(suite: Suite) -> set[str]:
    """Return the specific words of all goals and injected calls, in lower case."""
    environment = suite.environment(next(iter(suite.user_tasks)))
    texts: list[Any] = [
        [task.GOAL, list(suite.injected_calls(name, environment))] for name, task in suite.injection_tasks.items()
    ]
    words = set(_TELLING.findall(json.dumps(texts, ensure_ascii=False).lower()))
    return {word for word in words if len(word) >= _SHORTEST}
