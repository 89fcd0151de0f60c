"""Writes four events through structlog, set up for speed as its documentation says ("Performance"), with orjson."""

import logging
import os
import tempfile
from pathlib import Path

import orjson
import structlog

folder = tempfile.TemporaryDirectory()
events = Path(folder.name, "events.jsonl")

structlog.configure(
    cache_logger_on_first_use=True,
    wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(serializer=orjson.dumps),
    ],
    logger_factory=structlog.BytesLoggerFactory(file=events.open("ab")),
)
log = structlog.get_logger()
numbers = iter(range(10**12))


def four_events() -> None:
    """Write the events of a denied call, with the same fields as ours."""
    bound = log.bind(
        call_id=f"call-{next(numbers)}",
        parent_id=None,
        session=None,
        agent=None,
        profile="bench",
        profile_digest="0" * 64,
        tool="read",
        action=None,
        plugin="toolcharter-bench",
        args={"path": "src/app.py", "limit": 3},
    )
    verdict = {"reason": "path_outside_workspace", "message": None, "rule": None, "stage": "tool"}
    bound.info("hook.tool.before", seq=next(numbers))
    bound.info("hook.policy.before", seq=next(numbers))
    bound.warning("hook.policy.deny", seq=next(numbers), **verdict)
    bound.warning(
        "hook.tool.after",
        seq=next(numbers),
        status="error",
        outcome="denied",
        **verdict,
        elapsed_ms=0.12,
        output_chars=52,
        truncated=False,
        redactions=0,
        fields={},
    )


def after_batch() -> None:
    """Keep the event file small."""
    os.truncate(events, 0)


OPERATIONS = {"four_events": four_events}
