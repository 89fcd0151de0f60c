"""`benchmarks/agentdojo`: its profiles decide what they say, and its page is that of these profiles and this gate."""

import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.rows import each_row

from toolcharter.hosts import Host, open_host

ROOT = Path(__file__).resolve().parent.parent
BENCHMARK = ROOT / "benchmarks" / "agentdojo"
PAGE = BENCHMARK / "results.md"
PYTHON = ROOT / ".venvs" / "agentdojo" / "bin" / "python"
SUITES = ("workspace", "slack", "travel", "banking")
NO_APPROVER = "ask: no extension of the profile answers"
"""The benchmark passes an approver; the profiles name none."""

needs_agentdojo = pytest.mark.skipif(not PYTHON.exists(), reason="needs AgentDojo: make agentdojo")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Host]]:
    workspace = tmp_path_factory.mktemp("workspace")
    opened = {name: open_host(profile_of(name), workspace=workspace, events=lambda _: None) for name in SUITES}
    yield opened
    for host in opened.values():
        host.close()


def profile_of(suite: str) -> Path:
    return BENCHMARK / "profiles" / f"{suite}.yaml"


def check(suite: str, python: Path) -> list[str]:
    """What `profiles --check` warns of, without place and advice."""
    command: list[str | Path] = [python.with_name("toolcharter"), "profiles", "--check", "--json", profile_of(suite)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.findall(r"^Warning: [^ ]+ (.*?)(?:: calls|: the profile does not)", ran.stderr, re.MULTILINE)


@pytest.mark.slow
@each_row(
    ("suite", "names"),
    [
        pytest.param(
            "workspace", ["ask: 'delete_file' can never match", "allow: 'list_files' can never match"], id="workspace"
        ),
        pytest.param("slack", [], id="slack"),
        pytest.param("travel", [], id="travel"),
        pytest.param("banking", ["allow: 'read_file' can never match"], id="banking"),
    ],
)
def test_check_finds_nothing_but_names_of_our_own_tools(suite: str, names: list[str]) -> None:
    """Here the plugin files is installed: for these tools it warns that the profile lists ours not. AgentDojo's are others."""
    assert check(suite, Path(sys.executable)) == [NO_APPROVER, *names]


@pytest.mark.parametrize("suite", SUITES)
def test_every_tool_of_a_suite_has_a_rule_that_names_it(suite: str) -> None:
    """No star covers what a later version of the benchmark adds; a misspelt name would stop the start."""
    profile = yaml.safe_load(profile_of(suite).read_text())
    rules = [
        rule if isinstance(rule, str) else rule["rule"]
        for key in ("deny", "ask", "allow")
        for rule in profile.get(key, [])
    ]

    assert {rule.partition("(")[0] for rule in rules} == set(profile["missing_ok"])


MAIL = {"subject": "Minutes", "body": "See you.", "cc": None, "bcc": None, "attachments": None}
FILE = [{"type": "file", "file_id": "1"}]
EVENT = {"title": "Lunch", "start_time": "", "end_time": "", "description": "", "participants": None, "location": None}
COLLEAGUE, FRIEND, STRANGER = "david.smith@bluesparrowtech.com", "sarah.baker@gmail.com", "someone@example.org"
KNOWN_ACCOUNT, OTHER_ACCOUNT = "GB29NWBK60161331926819", "GB00NWBK00000000000000"
PAYMENT = {"subject": "", "date": "2022-01-01"}

# fmt: off
CALLS = [  # A row each, so that it can be read as one.
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [COLLEAGUE, FRIEND]}, "allow", id="to people she knows"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [COLLEAGUE, STRANGER]}, "ask", id="a stranger among them"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [COLLEAGUE], "cc": [STRANGER]}, "ask", id="a copy"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [COLLEAGUE], "bcc": [COLLEAGUE]}, "deny", id="a hidden copy"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": ["a@luesparrowtech.com"]}, "ask", id="alike: a letter less"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": ["a@bluesparrowtech.com.example.org"]}, "ask", id="alike: more"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [f"{COLLEAGUE}\n{STRANGER}"]}, "ask", id="two in one"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [FRIEND], "attachments": FILE}, "allow", id="a file to a friend"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [STRANGER], "attachments": FILE}, "deny", id="a file leaves"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [FRIEND], "cc": [STRANGER], "attachments": FILE}, "deny", id="by copy"),
    pytest.param("workspace", "send_email", {**MAIL, "recipients": [FRIEND], "body": "HTTPS://x.org"}, "ask", id="a link"),
    pytest.param("workspace", "create_calendar_event", EVENT, "allow", id="an entry of her own"),
    pytest.param("workspace", "create_calendar_event", {**EVENT, "participants": [STRANGER]}, "ask", id="a stranger is invited"),
    pytest.param("workspace", "share_file", {"file_id": "1", "email": COLLEAGUE, "permission": "r"}, "allow", id="shared"),
    pytest.param("workspace", "share_file", {"file_id": "1", "email": COLLEAGUE, "permission": "rw"}, "ask", id="to be changed"),
    pytest.param("workspace", "share_file", {"file_id": "1", "email": STRANGER, "permission": "r"}, "ask", id="to a stranger"),
    pytest.param("workspace", "delete_file", {"file_id": "1"}, "ask", id="a file is deleted"),
    pytest.param("workspace", "delete_email", {"email_id": "1"}, "deny", id="a mail is deleted"),
    pytest.param("workspace", "format_disk", {}, "deny", id="a tool that nobody knows"),
    pytest.param("slack", "get_webpage", {"url": "https://www.our-company.com/about"}, "allow", id="own site"),
    pytest.param("slack", "get_webpage", {"url": "www.eve-blog.com"}, "allow", id="a member's site"),
    pytest.param("slack", "get_webpage", {"url": "www.eve-blog.com/?q=secret"}, "ask", id="with a query"),
    pytest.param("slack", "get_webpage", {"url": "www.eve-blog.com.example.org"}, "ask", id="a site alike"),
    pytest.param("slack", "post_webpage", {"url": "www.our-company.com", "content": ""}, "allow", id="published"),
    pytest.param("slack", "post_webpage", {"url": "www.eve-blog.com", "content": ""}, "deny", id="published elsewhere"),
    pytest.param("slack", "post_webpage", {"url": "www.our-company.com@example.org", "content": ""}, "deny", id="a login"),
    pytest.param("slack", "send_direct_message", {"recipient": "Bob", "body": "Hello"}, "allow", id="a message"),
    pytest.param("slack", "send_direct_message", {"recipient": "Bob", "body": "see www.example.org"}, "ask", id="with a link"),
    pytest.param("slack", "add_user_to_channel", {"user": "Bob", "channel": "random"}, "allow", id="into a channel"),
    pytest.param("slack", "add_user_to_channel", {"user": "Bob", "channel": "private"}, "ask", id="into the private one"),
    pytest.param("slack", "remove_user_from_slack", {"user": "Bob"}, "deny", id="thrown out"),
    pytest.param("travel", "get_hotels_prices", {"hotel_names": ["X"]}, "allow", id="looked up"),
    pytest.param("travel", "reserve_hotel", {"hotel": "X", "start_day": "", "end_day": ""}, "ask", id="booked"),
    pytest.param("travel", "send_email", {**MAIL, "recipients": [FRIEND]}, "ask", id="mail of a traveller"),
    pytest.param("travel", "send_email", {**MAIL, "recipients": [FRIEND], "body": "4000 0000-00000000"}, "deny", id="a card"),
    pytest.param("travel", "send_email", {**MAIL, "recipients": [FRIEND], "body": "call 040 123456"}, "ask", id="no card"),
    pytest.param("travel", "send_email", {**MAIL, "recipients": [FRIEND], "body": "It is C0123456."}, "deny", id="a passport"),
    pytest.param("banking", "send_money", {**PAYMENT, "recipient": KNOWN_ACCOUNT, "amount": 5000}, "allow", id="at the limit"),
    pytest.param("banking", "send_money", {**PAYMENT, "recipient": KNOWN_ACCOUNT, "amount": 5000.01}, "deny", id="one cent more"),
    pytest.param("banking", "send_money", {**PAYMENT, "recipient": KNOWN_ACCOUNT, "amount": 0}, "deny", id="nothing"),
    pytest.param("banking", "send_money", {**PAYMENT, "recipient": KNOWN_ACCOUNT, "amount": "5"}, "deny", id="text for a sum"),
    pytest.param("banking", "send_money", {**PAYMENT, "recipient": OTHER_ACCOUNT, "amount": 1}, "ask", id="a new payee"),
    pytest.param("banking", "update_scheduled_transaction", {"id": 7, "amount": 1200}, "allow", id="a rent goes up"),
    pytest.param("banking", "update_scheduled_transaction", {"id": 7, "amount": 9000}, "deny", id="far up"),
    pytest.param("banking", "update_scheduled_transaction", {"id": 7, "recipient": OTHER_ACCOUNT}, "ask", id="to another"),
    pytest.param("banking", "update_password", {"password": ""}, "ask", id="a password"),
]
# fmt: on


@each_row(("suite", "tool", "args", "expected"), CALLS)
def test_profiles_decide_by_arguments(
    hosts: dict[str, Host], suite: str, tool: str, args: dict[str, Any], expected: str
) -> None:
    """None of these calls is one of AgentDojo's."""
    assert asyncio.run(hosts[suite].adecide(tool, args, kind="custom")).outcome == expected


def test_page_is_of_these_profiles() -> None:
    """Whoever changes a profile runs the benchmark."""
    measured = re.findall(r"^- ([0-9a-f]{16}) profiles/(\w+)\.yaml$", PAGE.read_text(), re.MULTILINE)

    assert measured == [(sha256(profile_of(suite).read_bytes()).hexdigest()[:16], suite) for suite in SUITES]


@pytest.mark.slow
@needs_agentdojo
def test_replay_gives_the_figures_of_the_page(tmp_path: Path) -> None:
    """Every row of three suites, with the gate as it is now; `workspace` takes minutes, and `make agentdojo` runs it."""
    page, suites = tmp_path / "page.md", SUITES[1:]
    chosen = [word for suite in suites for word in ("--suite", suite)]

    ran = subprocess.run([PYTHON, BENCHMARK / "run_agentdojo.py", "--output", page, *chosen], check=False)

    assert ran.returncode == 0
    row = re.compile(rf"^\| (?:{'|'.join(suites)}) \| .*", re.MULTILINE)
    assert row.findall(page.read_text()) == row.findall(PAGE.read_text())


@pytest.mark.slow
@needs_agentdojo
def test_benchmark_is_the_newest_of_the_package() -> None:
    """A later version of the package may bring a later version of the tasks."""
    code = "from agentdojo.task_suite import load_suites; from suites import BENCHMARK; print(*load_suites._SUITES, BENCHMARK)"

    ran = subprocess.run([PYTHON, "-c", code], cwd=BENCHMARK, capture_output=True, text=True, check=True)

    *versions, used = ran.stdout.split()
    assert used == max(versions, key=lambda version: [int(part) for part in version[1:].split(".")])


@pytest.mark.slow
@needs_agentdojo
@each_row(
    ("suite", "old", "new", "fault"),
    [
        pytest.param(
            "banking", "  - get_iban\n", "  - get_ibans\n", "does not name exactly the suite's tools", id="a tool"
        ),
        pytest.param(
            "banking", "SE3550000000054910000003", OTHER_ACCOUNT, "in none of the user's records", id="an account"
        ),
        pytest.param("workspace", FRIEND, STRANGER, "in none of the user's records", id="an address"),
        pytest.param("slack", "eve-blog", "bob-blog", "in none of the user's records", id="a site"),
        pytest.param("banking", "\nask:", "\n# us133000000121212121212\nask:", "is an attacker's word", id="an attack"),
    ],
)
def test_profile_that_is_not_honest_stops_the_run(tmp_path: Path, suite: str, old: str, new: str, fault: str) -> None:
    """What is not from the user's records makes no page."""
    copy = tmp_path / "agentdojo"
    shutil.copytree(BENCHMARK, copy, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    profile = copy / "profiles" / f"{suite}.yaml"
    profile.write_text(profile.read_text().replace(old, new))
    page = tmp_path / "page.md"
    command: list[str | Path] = [PYTHON, copy / "run_agentdojo.py", "--suite", suite, "--output", page]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout, page.exists()) == (1, "", False)
    assert fault in ran.stderr
