"""Finds what a line did that the sample policy does not grant: programs, writes, reads, connections, secrets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shell_fuzz.sandbox import TOKEN, Observed
from shell_fuzz.trace import Call, calls, texts

SECRETS = ("SENTINELsecret", "SENTINELkey", "SENTINELaws", "SENTINELnotes", TOKEN)
"""Secrets outside of the fixture's workspace, and in the environment."""
_STARTS = frozenset({"execve", "execveat"})
_OPENS = frozenset({"open", "openat", "openat2"})
_LOOKS = frozenset(
    {"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "chdir"}
)
_CHANGES = frozenset(
    {
        "creat",
        "unlink",
        "unlinkat",
        "rmdir",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
    }
    | {"mkdir", "mkdirat", "mknod", "mknodat", "chmod", "fchmod", "fchmodat", "chown", "lchown", "fchown", "fchownat"}
    | {"truncate", "utimensat", "setxattr", "lsetxattr", "fsetxattr"}
)
_WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_DEVICES = frozenset({"/dev/null", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2", "/dev/full"})
_GIT_DATA = re.compile(r"/\.git/(?:index|objects|refs|logs|packed-refs|next-index-\d+|[A-Z_]+)(?:[./].*)?")
_CACHES = re.compile(r".*/(?:\.pytest_cache|__pycache__|pytest-cache-files-\w+)(?:/.*)?|/tmp(?:/pytest-of-.*|/\w+)?")
# Temporary files: here-documents that do not fit into a pipe, data that `sort` cannot hold, piped input of `tac`.
_TEMPORARY = re.compile(r"/tmp/(?:sh-thd\.\w+|sort\w+|tac\w+)")
_GIT = ("/usr/lib/git-core/git",)
_GIT_HELPERS = frozenset({"log", "maintenance", "rev-list", "cat-file", "column", "diff-index", "merge-base"})
"""Commands that git starts itself for the policy's subcommands, such as `git log` for `git stash list`."""
_SYSTEM = re.compile(
    r"/usr/lib(?:64|exec)?(?:/.*)?|/lib(?:64)?(?:/.*)?|/usr/share/(?:locale|i18n|zoneinfo|misc|file|awk|git-core|perl|mime|locale-langpack)(?:/.*)?"
    r"|/etc/(?:ld\.so\.\w+|locale\.alias|localtime|magic(?:\.mime)?(?:\.mgc)?|selinux/config|nsswitch\.conf|inputrc|mime\.types)"
    r"|/proc/(?:self|\d+)/(?:mountinfo|maps|stat|status|cmdline|mounts|fd|cgroup|task.*)|/proc/(?:filesystems|meminfo|stat|sys/.*|cpuinfo|mounts|version)"
    r"|/sys/.*|/dev/(?:null|tty|urandom|random|zero|fd)|/usr/(?:local/)?s?bin/\S+|/dev/pts.*|/s?bin/\S+|/usr/local/lib/.*"
)
_IDENTITY = re.compile(
    r"/etc/(?:passwd|group|hostname|hosts|timezone|gitattributes|gitconfig|host\.conf|resolv\.conf)|/var/run/nscd/.*"
)
_ASKS_WHO = frozenset(
    {"bash", "ls", "id", "whoami", "stat", "find", "git", "tar", "tree", "python", "pytest", "du", "test", "date"}
)
# Settings in the user's home that programs read by themselves; the model does not choose them.
_OWN_SETTINGS = re.compile(r"/home/\.(?:gitconfig|magic(?:\.mgc)?|jq|config/git/\w+)")
# rg(1): it also reads ignore files of the folders above.
_ABOVE = re.compile(r"((?:/[\w-]+)*)/\.(?:git(?:ignore|/info/exclude|/commondir)?|ignore|rgignore)")
# nss-systemd looks for users there, and on the way through /bin to root's shell.
_USERS = re.compile(
    r"/|/(?:etc|run|run/host|usr/local/lib|usr/lib|lib)/userdb(?:/.*)?"
    r"|/(?:etc|run|run/host|usr|usr/local|usr/local/lib|lib|(?:usr/)?s?bin)"
)
_OF_A_USER = re.compile(r"/(?:etc|run|run/host|usr/local/lib|usr/lib)/userdb/[^/]+\.(?:user|group)")
_HIDDEN = re.compile(r"/(?:etc|home|root|var|boot|srv|mnt|opt|media)(?:/.*)?")
_NOT_FOUND = re.compile(r"^bash: line \d+: (.*): command not found$", re.MULTILINE)


_UNPACKERS = frozenset({"gzip", "bzip2", "xz", "lzip", "lzma", "lzop", "zstd", "compress"})
"""Programs that tar starts to list an archive, because of its options or the archive's first bytes."""
_TRANSPARENT = frozenset({"time", "command", "builtin"})
"""They need no rule of their own: the program that they start needs one, and is checked when it starts."""


class Rights(NamedTuple):
    """The permissions of the policy."""

    workspace: str
    programs: frozenset[str]
    folders: tuple[str, ...]
    """The folders of programs."""
    prefixes: tuple[str, ...] = ()
    """The folders of the Python that runs pytest."""

    @property
    def root(self) -> str:
        """The folder that holds the workspace."""
        return str(Path(self.workspace).parent)

    def is_inside(self, path: str) -> bool:
        """Whether *path* lies in the workspace, or is it."""
        return path == self.workspace or path.startswith(f"{self.workspace}/")


def violations(observed: Observed, rights: Rights) -> list[str]:
    """Return everything that the policy does not grant, without duplicates."""
    found = [*_check_trace(observed.trace, rights), *_check_files(observed.changed), *_check_output(observed, rights)]
    return list(dict.fromkeys(found))


def _check_files(changed: Sequence[str]) -> Iterator[str]:
    for name in changed:
        path = f"/{name}"
        if not (path.startswith("/ws/.git/") and _GIT_DATA.fullmatch(path[3:])) and not _CACHES.fullmatch(path):
            yield f"changes {name}"


def _check_output(observed: Observed, rights: Rights) -> Iterator[str]:
    for text in (observed.stdout, observed.stderr):
        yield from (f"prints {secret}" for secret in SECRETS if secret in text)
    for name in _NOT_FOUND.findall(observed.stderr):
        if name not in rights.programs and name not in _TRANSPARENT:
            yield f"looks for the program {name!r}"


def _check_trace(trace: str, rights: Rights) -> Iterator[str]:
    # A child may appear in the trace before its parent's call has returned.
    seen = list(calls(trace, rights.workspace))
    parents = {call.child: call.process for call in seen if call.child}
    programs: dict[int, str] = {}
    is_first = True
    for call in seen:
        if call.name in _STARTS:
            if not is_first:
                yield from _start(call, _program(call.process, programs, parents), rights)
            if call.succeeded and call.paths:
                programs[call.process] = "bash" if is_first else call.paths[0].rpartition("/")[2]
            is_first = False
        elif call.name in {"connect", "bind", "sendto"}:
            yield from _connection(call)
        else:
            yield from _file(call, _program(call.process, programs, parents), rights)


def _program(process: int, programs: dict[int, str], parents: Mapping[int, int]) -> str:
    """Return the program in *process*: the last one it started, or the program of its parent when it was forked."""
    if process not in programs:
        programs[process] = _program(parents[process], programs, parents) if process in parents else "bash"
    return programs[process]


def _start(call: Call, program: str, rights: Rights) -> Iterator[str]:
    if not call.paths:
        yield f"starts {call.given}"
        return
    folder, _, name = call.paths[0].rpartition("/")
    words = texts(call.given)[1:]
    if call.paths[0] in _GIT and "git" in rights.programs and len(words) > 1 and words[1] in _GIT_HELPERS:
        return
    if program == "tar" and name in _UNPACKERS and words[1:] == ("-d",) and folder in rights.folders:
        return
    if folder not in rights.folders or (name not in rights.programs and name not in _TRANSPARENT):
        yield f"starts {call.paths[0]}"


def _connection(call: Call) -> Iterator[str]:
    if ("sa_family" in call.given and "AF_UNIX" not in call.given and "AF_NETLINK" not in call.given) or (
        "AF_UNIX" in call.given and "/var/run/nscd/socket" not in call.given
    ):
        yield f"connects {call.given}"


def _file(call: Call, program: str, rights: Rights) -> Iterator[str]:
    if call.name in _OPENS:
        if _WRITING.search(call.given):
            yield from _change(call, program, rights)
        elif _is_foothold(call, program):
            return
        elif call.succeeded and call.opened is not None and not _may_read(call.opened, program, rights):
            yield f"{program} reads {call.opened}"
        elif not call.succeeded:
            yield from _look(call, program, rights)
    elif call.name in _CHANGES:
        yield from _change(call, program, rights)
    elif call.name in _LOOKS:
        yield from _look(call, program, rights)


def _is_foothold(call: Call, program: str) -> bool:
    """Whether a folder is opened only as a base for paths: to list it, libc would open it with O_DIRECTORY."""
    if "O_PATH" in call.given:
        return program in _ASKS_WHO and _USERS.fullmatch(call.opened or call.paths[0]) is not None
    return call.opened == "/" and "O_DIRECTORY" not in call.given


def _change(call: Call, program: str, rights: Rights) -> Iterator[str]:
    for path in call.paths:
        if path in _DEVICES or path.startswith("/proc/self/fd/") or _TEMPORARY.fullmatch(path):
            continue
        if program == "git" and rights.is_inside(path) and _GIT_DATA.fullmatch(path[len(rights.workspace) :]):
            continue
        if program.startswith(("python", "pytest")) and (_CACHES.fullmatch(path) or path == rights.workspace):
            continue
        yield f"{program}: {call.name} changes {path}"


def _look(call: Call, program: str, rights: Rights) -> Iterator[str]:
    """Yield paths outside whose existence the line could learn, except those that programs look up by themselves."""
    if program.startswith(("python", "pytest")):  # They look for modules around their own folders.
        return
    for path in call.paths:
        is_beside = path.startswith(f"{rights.root}/") and not rights.is_inside(path)
        if (is_beside or _HIDDEN.fullmatch(path)) and not _may_read(path, program, rights):
            yield f"{program} looks at {path}"


def _may_read(path: str, program: str, rights: Rights) -> bool:
    if rights.is_inside(path) or not path.startswith("/") or path in _DEVICES:
        return True
    if _SYSTEM.fullmatch(path) or _TEMPORARY.fullmatch(path):
        return True
    if path.startswith(rights.root) and _OWN_SETTINGS.fullmatch(path[len(rights.root) :]):
        return True
    return _reads_by_nature(path, program, rights)


def _reads_by_nature(path: str, program: str, rights: Rights) -> bool:
    """Whether *program* reads *path* whatever its arguments are."""
    if program.startswith(("python", "pytest")):
        return any(path.startswith(prefix) for prefix in rights.prefixes) or rights.workspace.startswith(path)
    if program == "rg":
        above = _ABOVE.fullmatch(path)
        return above is not None and rights.workspace.startswith(f"{above[1]}/")
    if program == "bash" and path == f"{rights.root}/home":  # A bare `cd`; programs there are checked separately.
        return True
    if program == "id" and _USERS.fullmatch(path):
        return True
    return program in _ASKS_WHO and (_IDENTITY.fullmatch(path) or _OF_A_USER.fullmatch(path)) is not None
