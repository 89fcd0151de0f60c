"""Fuzz the service: requests that schemathesis makes from its OpenAPI document, answered by the real application.

    python scripts/fuzz_service.py                            a million requests; writes tests/fuzz_service.md
    python scripts/fuzz_service.py --requests 2000 --seed 7   writes nothing
    python scripts/fuzz_service.py --minutes 10 --record      ends after so long; the page says how many requests it were

The application runs in this process over a store in memory, in development: who asks holds every role. A finding is an
answer of 500 and above other than 503 as documented, a status that the document does not name for the route, or a body
that is not what the document says. Prints each kind once, and ends with status 1 if there is one.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import checks
from schemathesis.core.result import Ok
from starlette.testclient import TestClient

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.core.guards.store.memory_engine import MemoryEngine  # noqa: E402 - found by the line above
from tests.plugins.service.serving import configured  # noqa: E402 - likewise

from toolcharter import StoreHandle  # noqa: E402 - likewise
from toolcharter_service.http.app import create_app  # noqa: E402 - likewise
from toolcharter_service.service import Service  # noqa: E402 - likewise

REPORT = ROOT / "tests" / "fuzz_service.md"
FULL = 1_000_000
ROUND = 50
"""Requests of one route before the next one's turn."""
STREAMS = {"GET /v1/events"}
"""Routes whose answer never ends."""


class Run:
    """What was asked, and what came of it."""

    def __init__(self, most: int, until: float) -> None:
        self.most, self.until = most, until
        self.statuses: Counter[int] = Counter()
        self.findings: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether enough was asked."""
        return self.statuses.total() >= self.most or time.monotonic() >= self.until

    def ask(self, client: TestClient, case: "schemathesis.Case[Any]") -> None:
        """Ask, and hold the answer against the document."""
        try:
            wanted = case.as_transport_kwargs(base_url="http://127.0.0.1")
            body = wanted.pop("data", None)
            answer = client.request(**wanted, content=body, follow_redirects=False)
        except (ValueError, UnicodeError) as error:  # the client cannot write such a request
            self.findings.setdefault(f"{case.operation.label} not sent {type(error).__name__}", str(error)[:300])
            return
        self.statuses[answer.status_code] += 1
        for check in (checks.not_a_server_error, checks.status_code_conformance, checks.response_schema_conformance):
            try:
                case.validate_response(answer, checks=[check])
            except (AssertionError, BaseExceptionGroup) as error:
                self.findings.setdefault(
                    f"{case.operation.label} {answer.status_code} {check.__name__}", str(error)[:1500]
                )


def fuzz(run: Run, place: Path, number: int) -> None:
    """Ask round after round, a piece of each route's requests at a time, until *run* is over."""
    app = create_app(Service(configured(place), stores=StoreHandle(MemoryEngine), dev=True))
    schema = schemathesis.openapi.from_dict(app.openapi())
    found = [one.ok() for one in schema.get_all_operations() if isinstance(one, Ok)]
    operations = [one for one in found if one.label not in STREAMS]
    with TestClient(
        app, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000), raise_server_exceptions=False
    ) as client:
        pick = random.Random(number)
        while not run.is_over:
            for operation in operations:
                _round(run, client, operation, pick.randrange(2**32))


def _round(run: Run, client: TestClient, operation: Any, number: int) -> None:
    quiet = settings(
        max_examples=max(1, min(ROUND, run.most - run.statuses.total())),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck.__members__.values()],
    )

    @seed(number)
    @quiet
    @given(case=operation.as_strategy())
    def asked(case: "schemathesis.Case[Any]") -> None:
        if not run.is_over:
            run.ask(client, case)

    if not run.is_over:
        asked()


def report(run: Run, number: int, minutes: float) -> str:
    """The page of a run."""
    counted = "\n".join(f"| {status} | {count} |" for status, count in sorted(run.statuses.items()))
    return (
        "# Fuzzed requests of the service\n\nWritten by `make fuzz-service`. Requests that schemathesis makes from the "
        "OpenAPI document, right and wrong ones, are answered by the\nreal application over a store in memory. A finding is "
        "an answer of 500, a status that the document does not name for the\nroute, or a body that is not what it says.\n\n"
        f"{run.statuses.total():,} requests with the seed {number} in {minutes:.0f} minutes; {len(run.findings)} findings.\n\n"
        f"| status | answers |\n|---|---|\n{counted}\n"
    )


def main() -> int:
    """Fuzz as the command line says; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=FULL)
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--record", action="store_true", help="write the page whatever the number of requests")
    given_ = parser.parse_args()
    began = time.monotonic()
    run = Run(given_.requests, began + 60 * given_.minutes)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
        fuzz(run, Path(folder), given_.seed)
    for kind, what in run.findings.items():
        print(f"{kind}\n{what}\n")
    text = report(run, given_.seed, (time.monotonic() - began) / 60)
    print(text.partition("\n\n")[2])
    if given_.record or run.statuses.total() >= FULL:
        REPORT.write_text(text)
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
