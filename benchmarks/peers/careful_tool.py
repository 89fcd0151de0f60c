"""LangChain as a careful user has it today: with good libraries for what it lacks, put together by hand.

Four events through structlog, set up for speed as its documentation says; an allow list by `fnmatch`; the path by
`realpath`; a rate limit by `limits`; secrets by `re`. It opens no file and guarantees no write-ahead.
"""

import logging
import os
import re
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter
from uuid import uuid4

import orjson
import structlog
from langchain_core.tools import StructuredTool
from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

folder = tempfile.TemporaryDirectory()
root = os.path.realpath(folder.name)
Path(root, "src").mkdir()
Path(root, "src/app.py").write_text("x" * 200)
events = Path(root, "events.jsonl")

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
allowed = ("read", "list_*", "git:status", "git:log")
denied = ("*:push", "exec*", "read_secret*")
limiter = MovingWindowRateLimiter(MemoryStorage())
rate = parse("1000000 per hour")
secrets = re.compile(
    r"sk-[A-Za-z0-9-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}"
    r"|(?i:(?:api[_-]?key|token|secret|password|bearer|authorization)[\"']?\s*[:=]\s*[\"']?\S{8,})"
)


def read(path: str, limit: int = 10) -> str:  # noqa: ARG001 - the same tool everywhere
    """Read a file."""
    return "x" * 200


tool = StructuredTool.from_function(read)


def governed(name: str, args: dict) -> str:
    """Make one call with all checks."""
    started = perf_counter()
    bound = log.bind(call_id=uuid4().hex, tool=name, session=None, agent=None, args=args)
    bound.info("hook.tool.before")
    if any(fnmatchcase(name, glob) for glob in denied) or not any(fnmatchcase(name, glob) for glob in allowed):
        raise PermissionError(name)
    target = os.path.realpath(f"{root}/{args['path']}")
    if os.path.commonpath([target, root]) != root:
        raise PermissionError(args["path"])
    bound.info("hook.policy.before")
    if not limiter.hit(rate, name):
        raise PermissionError("rate")
    bound.info("hook.policy.after")
    text = secrets.sub("[REDACTED]", tool.invoke(args))
    bound.info("hook.tool.after", outcome="ok", elapsed_ms=(perf_counter() - started) * 1000, output_chars=len(text))
    return text


def call() -> None:
    """Make one call."""
    governed("read", {"path": "src/app.py", "limit": 3})


def after_batch() -> None:
    """Keep the event file small."""
    os.truncate(events, 0)


OPERATIONS = {"call": call}
