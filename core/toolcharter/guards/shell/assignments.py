"""Finds harmless assignments: those that only change how output looks, or set a variable that only the line itself uses."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from toolcharter.guards.shell.nodes import Assignment, Word

# With an encoding other than UTF-8 or ASCII, a shell would decode the bytes of a script in another way than the parser.
_LOCALE: Final = re.compile(r"C|POSIX|(?:C|[a-z]{2}_[A-Z]{2})\.(?:UTF-8|utf8)")
_SWITCH: Final = re.compile(r"[01]?")
_SIZE: Final = re.compile(r"[0-9]{1,4}")
# Neither a slash nor a leading dot or colon: libraries look up zones and terminals as files below system folders.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,31}")
# A zone of a region, `America/New_York`: no part of it begins with a dot.
_ZONE: Final = re.compile(rf"{_NAME.pattern}|[A-Z][A-Za-z]+(?:/[A-Z][A-Za-z0-9_+-]{{1,31}}){{1,2}}")
# Programs take an empty name for "no pager"; `cat` shows what it reads.
_NO_PAGER: Final = re.compile("(?:cat)?")
_TRUTH: Final = re.compile(r"[01]?|true|false")
_LEVEL: Final = re.compile(r"(?i:trace|debug|info|warn|warning|error|off)")
_CATEGORIES: Final = "ALL COLLATE CTYPE MESSAGES MONETARY NUMERIC TIME".split()

HARMLESS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        **{f"LC_{category}": _LOCALE for category in _CATEGORIES},
        "LANG": _LOCALE,
        "TZ": _ZONE,
        "TERM": _NAME,
        "COLUMNS": _SIZE,
        "LINES": _SIZE,
        "NO_COLOR": _SWITCH,
        "FORCE_COLOR": re.compile(r"[0-3]?"),
        "CLICOLOR": _SWITCH,
        "CARGO_TERM_COLOR": re.compile("auto|always|never"),
        "CI": _TRUTH,
        "DEBUG": _SWITCH,
        "VERBOSE": _SWITCH,
        "LOG_LEVEL": _LEVEL,
        "RUST_LOG": _LEVEL,
        "RUST_BACKTRACE": re.compile("[01]|full"),
        "NODE_ENV": re.compile("development|production|test"),
        "DOCKER_BUILDKIT": _SWITCH,
        "BUILDKIT_PROGRESS": re.compile("auto|plain|tty|quiet"),
        "CGO_ENABLED": _SWITCH,
        "GOOS": re.compile("darwin|freebsd|js|linux|windows"),
        "GOARCH": re.compile("386|amd64|arm|arm64|riscv64|wasm"),
        "TF_IN_AUTOMATION": _TRUTH,
        "NEXT_TELEMETRY_DISABLED": _SWITCH,
        "DO_NOT_TRACK": _SWITCH,
        "GIT_OPTIONAL_LOCKS": _SWITCH,
        "GIT_TERMINAL_PROMPT": _SWITCH,
        **dict.fromkeys(("PAGER", "GIT_PAGER", "GH_PAGER", "AWS_PAGER", "SYSTEMD_PAGER", "PSQL_PAGER"), _NO_PAGER),
        "PYTHONDONTWRITEBYTECODE": re.compile("1"),
        "PYTHONUNBUFFERED": re.compile("1"),
    }
)
"""Variables that no rule has to mention, each with the values for which that holds."""

# Names that only the line uses: they mean nothing to a shell, and no program reads them from its environment.
_LINE_VARIABLE: Final = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED: Final = re.compile(
    r"(?:npm|pnpm|yarn|rvm|bash|ld|git)_.*|.*_proxy|histchars|auto_resume|ifs|(?:cd|f|mail|man|module_)?path"
)
_LINE_CAPITALS: Final = frozenset(
    """A AFTER APP B BASE BASE_DIR BEFORE BRANCH C CHANGED COMMIT CONTAINER COUNT CURRENT DEST DIR DIRS DST DURATION ELAPSED END
    ERRORS EXIT_CODE F FAIL FAILED FILE FILES FOUND HASH I IMAGE KEY LAST LATEST LINE LIMIT LOG_FILE LOGFILE MAX MIN MODIFIED MODULE MODULES
    MSG N NAME NAMES NEW NEXT NOW NUM OLD OUT OUT_DIR OUTPUT PASS PASSED PATTERN PERCENT PID PKG PKGS POD PR PREV PROJECT_DIR RC REPO
    RESULT RESULTS ROOT ROOT_DIR SCRIPT_DIR SERVICE SERVICES SHA SIZE SRC SRC_DIR STAGED START STATUS SUM TESTS TIMESTAMP TODAY TOTAL TS
    VALUE VERSION X Y""".split()
)


def is_line_variable(name: str) -> bool:
    """Whether *name* is a variable that only the line which sets it uses."""
    if name in _LINE_CAPITALS:
        return True
    return _LINE_VARIABLE.fullmatch(name) is not None and _RESERVED.fullmatch(name) is None


def exports_harmless(words: Sequence[Word]) -> bool:
    """Whether *words* are `export` with assignments that no rule would have to mention before a command, either."""
    given = [(word.text or "").partition("=") for word in words[1:]]
    return bool(given) and all(
        equals and assignment_violation(Assignment(name, Word(value, value, prefix=value), f"{name}={value}")) is None
        for name, equals, value in given
    )


def assignment_violation(assignment: Assignment) -> str | None:
    """Why a rule has to mention *assignment*, which precedes a command; None if it is harmless."""
    harmless = HARMLESS.get(assignment.name)
    value = assignment.value.text
    # `NAME+=value` and `NAME[0]=value` have the same name.
    if harmless is None or value is None or assignment.form != f"{assignment.name}={value}":
        return "changes the environment of a program"
    return None if harmless.fullmatch(value) else "gives a value that is not known to be harmless"
