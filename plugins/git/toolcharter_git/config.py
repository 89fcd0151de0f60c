"""Make a repository's own configuration harmless. Pure.

A clone, an archive or an earlier step may have written `.git/config`. Each key that starts a program or leads out of
the repository is therefore replaced by name, or the call is refused. Replacements are passed as `GIT_CONFIG_KEY_<n>`
variables: git reads them last, and their names may contain `=`.

Source: git-config(1), the keys whose value is a command, a program, a path or a URL.
"""

from collections.abc import Iterable, Mapping

from toolcharter import GIT_SETTINGS

ADDED: Mapping[str, str] = {
    "color.ui": "false",  # colours are escape sequences that the tool would have to strip
    "core.bigFileThreshold": "32m",  # larger files are compared as a whole, not line by line in memory
    "core.quotePath": "false",  # the tool shows paths as they are
    "diff.autoRefreshIndex": "false",  # a diff would write the index
    "i18n.commitEncoding": "UTF-8",  # the tool writes and reads UTF-8
    "i18n.logOutputEncoding": "UTF-8",
}
"""Settings that this tool needs in addition to the core's, because it parses what git prints.

It passes its worktree to git, so it does not need the additional settings of shell lines.
"""
FIXED: Mapping[str, str] = {**GIT_SETTINGS, **ADDED}

# Git's default pattern for the head of a function. A pattern from the repository could make git use gigabytes of
# memory.
FUNCTION_LINE = "^[A-Za-z_$].*"

# `*` stands for the subsection. Only keys that neither `FIXED` nor the options of a command override are replaced by
# name.
REPLACED: Mapping[str, str] = {
    "credential.*.helper": "",
    "diff.*.funcname": FUNCTION_LINE,
    "diff.*.xfuncname": FUNCTION_LINE,
    "filter.*.clean": "",
    "filter.*.process": "",
    "filter.*.required": "false",
    "filter.*.smudge": "",
    "gpg.*.program": "false",
    "remote.*.promisor": "false",
}

# Without its filter a file would be stored or checked out in the wrong form.
REFUSED_FOR_WRITES = frozenset({"filter.*.clean", "filter.*.process", "filter.*.smudge"})

REFUSED_FOR_PUSH = frozenset(
    {
        "core.gitproxy",
        "remote.*.mirror",
        "remote.*.proxy",
        "remote.*.proxyauthmethod",
        "remote.*.pushurl",
        "remote.*.receivepack",
        "remote.*.uploadpack",
        "remote.*.vcs",
        "ssh.variant",
        "url.*.insteadof",
        "url.*.pushinsteadof",
    }
)
# CI checkouts authenticate by `extraheader`. These keys do not change where a request goes.
HTTP_HARMLESS = frozenset({"extraheader", "postbuffer", "version", "lowspeedlimit", "lowspeedtime"})

# `core.virtualFilesystem` names a program in Microsoft's git.
REFUSED = frozenset(
    {"core.alternaterefscommand", "core.virtualfilesystem", "core.worktree", "include.path", "includeif.*.path"}
)

# Later versions of git may have extensions that lead out of the repository or change what its commands print.
KNOWN_EXTENSIONS = frozenset(
    {"compatobjectformat", "noop", "noop-v1", "objectformat", "partialclone", "preciousobjects", "refstorage"}
    | {"relativeworktrees", "worktreeconfig"}
)

# Sections with programs that are started only by git commands which this tool never runs.
IDLE_SECTIONS = frozenset(
    {"alias", "browser", "diff", "difftool", "guitool", "interactive", "man", "merge", "mergetool", "sendemail"}
    | {"trailer", "pager", "instaweb", "lfs", "gui"}
)
_PROGRAM_ENDINGS = ("cmd", "command", "driver", "helper", "hook", "program")


def parse_listing(listing: bytes) -> list[tuple[str, str]]:
    """Parse the output of `git config --list -z` into keys and values, in order."""
    entries = (entry.partition("\n") for entry in listing.decode(errors="surrogateescape").split("\0") if entry)
    return [(key, value) for key, _, value in entries]


def without_subsection(key: str) -> str:
    """Return *key* in lower case with `*` for its subsection: `remote.*.url`."""
    section, _, rest = key.partition(".")
    subsection, dot, name = rest.rpartition(".")
    return f"{section}.*.{name}".lower() if dot or subsection else f"{section}.{name}".lower()


def find_refused_key(keys: Iterable[str], *, writes: bool, pushes: bool) -> str | None:
    """Return the first of *keys* that cannot be made harmless for the action; None if there is none."""
    return next((key for key in keys if _is_refused(key, writes=writes, pushes=pushes)), None)


def harmless_settings(keys: Iterable[str]) -> dict[str, str]:
    """Return the settings to override, with their values, for a repository that sets *keys*."""
    named = {key: REPLACED[without_subsection(key)] for key in keys if without_subsection(key) in REPLACED}
    return {**FIXED, **named}


def _is_refused(key: str, *, writes: bool, pushes: bool) -> bool:
    form = without_subsection(key)
    if form in REFUSED or _is_unknown_extension(form) or (writes and form in REFUSED_FOR_WRITES):
        return True
    if pushes and (form in REFUSED_FOR_PUSH or _redirects_http(form) or _is_url_remote(key)):
        return True
    return form not in REPLACED and _starts_unknown_program(form)


def _is_unknown_extension(form: str) -> bool:
    section, _, name = form.partition(".")
    return section == "extensions" and name not in KNOWN_EXTENSIONS


def _redirects_http(form: str) -> bool:
    return form.startswith("http.") and form.rpartition(".")[2] not in HTTP_HARMLESS


def _is_url_remote(key: str) -> bool:
    """Git would use a remote whose name is a URL in place of that URL."""
    return key.startswith("remote.") and ":" in key


def _starts_unknown_program(form: str) -> bool:
    section, _, name = form.partition(".")
    known = {key.lower() for key in FIXED}
    return name.endswith(_PROGRAM_ENDINGS) and section not in IDLE_SECTIONS and form not in known
