"""Check references, branches, tags, remotes, dates and paths before they are passed to git. Pure."""

import re
from importlib import import_module

DEFAULT_REF_PATTERN = r"[A-Za-z0-9_./~^:@+,=#%-]+"
MAX_NAME_CHARS = 255

# Refused whatever `ref_pattern` is: options, index entries and message searches (`:...`), exclusions (`^x`), and
# characters of git's operators that would hide a path from the tool's checks.
_REF = re.compile(r"(?![-:^])[^\s{}*?\[\\\x00-\x1f\x7f-\x9f]{1,255}", re.DOTALL)
_DEFAULT_REF = re.compile(DEFAULT_REF_PATTERN)
# Stricter than git-check-ref-format(1): ASCII, and no component begins with a dash or a dot.
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=#%-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.+=#%-]*)*")
_REMOTE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_SINCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 :+.,/_-]*")
_HTTPS = re.compile(r"https://(?![-@])[^\s/]+/\S+")
_USER_AND_HOST = r"(?!-)[A-Za-z0-9_.-]+@(?!-)[A-Za-z0-9.-]+"
_SSH = re.compile(rf"ssh://(?:{_USER_AND_HOST}|(?!-)[A-Za-z0-9.-]+)(?::[0-9]+)?/\S+|{_USER_AND_HOST}:(?![-:])\S+")
_FILE = re.compile(r"file:///\S+")


def matches(pattern: str, text: str) -> bool:
    """Return whether the whole of *text* matches *pattern*, in time linear in its length.

    Raises:
        ValueError: *pattern* is not an RE2 pattern.
    """
    re2 = import_module("re2")  # on first use: few profiles have patterns of their own
    options = re2.Options()
    options.log_errors = False  # RE2 would log them to standard error, between the events
    try:
        return re2.compile(pattern, options).fullmatch(text) is not None
    except re2.error as error:
        raise ValueError(f"{pattern!r} is not an RE2 pattern: {error}") from error


def is_ref(text: str, pattern: str) -> bool:
    """Return whether *text* may name a revision, or a file in a revision (`REVISION:path`)."""
    if not _REF.fullmatch(text) or "@{" in text:
        return False
    return _DEFAULT_REF.fullmatch(text) is not None if pattern == DEFAULT_REF_PATTERN else matches(pattern, text)


def is_branch_name(text: str) -> bool:
    """Return whether *text* may name a branch or a tag.

    Source: git-check-ref-format(1).
    """
    if len(text) > MAX_NAME_CHARS or not _BRANCH.fullmatch(text) or text == "HEAD" or ".." in text:
        return False
    return not any(part.endswith((".", ".lock")) for part in text.split("/"))


def is_remote_name(text: str) -> bool:
    """Return whether *text* may be the name of a remote, and not a URL, a path or an option."""
    return _REMOTE.fullmatch(text) is not None and ".." not in text


def is_since(text: str) -> bool:
    """Return whether *text* may be a date: `2024-01-31 12:00`, `2 weeks ago`, `last monday`."""
    return _SINCE.fullmatch(text) is not None


def protocol_of(url: str) -> str | None:
    """Return `https`, `ssh` or `file`; None for a URL that is not clearly one of them, such as `ext::sh -c ...`."""
    for protocol, form in (("https", _HTTPS), ("ssh", _SSH), ("file", _FILE)):
        if form.fullmatch(url) and "::" not in url:
            return protocol
    return None


def split_path(path: str) -> list[str] | None:
    """Return the components of a relative path with `/`; None if *path* is empty, absolute, too long or holds a NUL."""
    if not path or path.startswith("/") or "\0" in path or len(path) > 4096:  # noqa: PLR2004 - PATH_MAX
        return None
    return [part for part in path.split("/") if part not in ("", ".")]


def parent_folders(path: str) -> list[str]:
    """Return the folders above *path*: `a` and `a/b` for `a/b/c`."""
    parts = path.rstrip("/").split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def representable(path: str) -> str:
    """Return *path* as text that JSON can carry: bytes that are not UTF-8 become U+FFFD."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def quote_unprintable(path: str) -> str:
    """Return *path* for one line of text: quoted if it holds control characters."""
    return path if path.isprintable() else repr(path)
