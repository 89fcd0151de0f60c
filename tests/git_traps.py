"""Hostile repositories, one or more for each git setting that toolcharter replaces, and what shows that git was caught."""

import os
import pty
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

PATH = "/usr/local/bin:/usr/bin:/bin"
PEOPLE = {
    f"GIT_{who}_{what}": f"ada@{what}.example".lower() for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
PLAIN_ENVIRONMENT = {
    "PATH": PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    **PEOPLE,
}
SECRET = "hunter2"
COMMIT = "commit --allow-empty -m b"


class TrapRepository:
    """A repository of one commit in `ws`, a program that leaves a trace, and what lies outside."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "ws"
        self.trace = root / "trace"
        self.evil = root / "evil.sh"
        self.evil.write_text(f'#!/bin/sh\necho "$0" >> {self.trace}\nexit 1\n')
        self.evil.chmod(0o755)
        self.outside = root / "outside"
        self.outside.write_text(SECRET + "\n")
        self.workspace.mkdir()
        self.git("init", "--quiet", "-b", "main")
        (self.workspace / "a").write_text("a\n")
        self.git("add", "a")
        self.git("commit", "--quiet", "-m", "a")

    def git(self, *words: str, cwd: Path | None = None, stdin: str = "") -> str:
        """Plain git, as the owner uses it."""
        ran = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *words],
            cwd=cwd or self.workspace,
            env=PLAIN_ENVIRONMENT,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    def hook(self, name: str) -> None:
        """Put a hook where git looks for it by itself."""
        folder = self.workspace / ".git/hooks"
        folder.mkdir(exist_ok=True)
        shutil.copy(self.evil, folder / name)

    def submodule(self) -> Path:
        """Add one with a commit of its own and then another one that is only there; give its folder."""
        inner = self.root / "inner"
        inner.mkdir()
        self.git("init", "--quiet", "-b", "main", cwd=inner)
        (inner / "b").write_text("needle\n")
        self.git("add", "b", cwd=inner)
        self.git("commit", "--quiet", "-m", "b", cwd=inner)
        self.git("submodule", "--quiet", "add", str(inner), "sub")
        self.git("commit", "--quiet", "-m", "sub")
        sub = self.workspace / "sub"
        (sub / "b").write_text("needle\nmore\n")
        self.git("commit", "--quiet", "-a", "-m", "more", cwd=sub)
        return sub

    def remote(self) -> Path:
        """Add a bare repository as `origin`."""
        bare = self.root / "bare.git"
        self.git("init", "--quiet", "--bare", "-b", "main", str(bare))
        self.git("remote", "add", "origin", str(bare))
        return bare


class CommandRun(NamedTuple):
    """What a command did."""

    place: TrapRepository
    status: int
    text: str


def ran_program(ran: CommandRun) -> bool:
    """Whether the repository's program ran."""
    return ran.place.trace.exists()


def prints(words: str) -> Callable[[CommandRun], bool]:
    """Whether git printed *words*."""
    return lambda ran: words in ran.text


def failed(ran: CommandRun) -> bool:
    """Whether git gave up."""
    return ran.status != 0


def succeeded(ran: CommandRun) -> bool:
    """Whether git did it."""
    return ran.status == 0


class Trap(NamedTuple):
    """What a repository holds, the command that springs it, and how the danger shows."""

    settings: dict[str, str]
    command: str
    is_sprung: Callable[[CommandRun], bool] = ran_program
    arrange: Callable[[TrapRepository], object] = lambda _: None
    stdin: str = ""
    terminal: bool = False


def _signed(kind: str) -> Callable[[TrapRepository], object]:
    """Make the last commit one that bears a signature of *kind*, which no program has made."""

    def arrange(place: TrapRepository) -> None:
        signature = f"gpgsig -----BEGIN {kind}-----\n \n AAAA\n -----END {kind}-----"
        text = place.git("cat-file", "commit", "HEAD")
        head, _, message = text.partition("\n\n")
        made = place.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{head}\n{signature}\n\n{message}\n")
        place.git("update-ref", "HEAD", made)

    return arrange


def _needs_gc(place: TrapRepository) -> None:
    """Two packs, where the repository's settings allow one; the hook shows that git is about to join them."""
    place.git("repack", "-q")
    place.git("commit", "--quiet", "--allow-empty", "-m", "more")
    place.git("repack", "-q")
    place.hook("pre-auto-gc")


def _hostile_submodule(*settings: str) -> Callable[[TrapRepository], object]:
    def arrange(place: TrapRepository) -> None:
        sub = place.submodule()
        for key in settings:
            place.git("config", key, str(place.evil), cwd=sub)

    return arrange


def _submodule_to_fetch(place: TrapRepository) -> None:
    sub = place.submodule()
    place.git("config", "remote.origin.url", "ssh://127.0.0.1:1/x", cwd=sub)
    place.git("config", "core.sshCommand", str(place.evil), cwd=sub)
    bare = place.remote()
    place.git("push", "--quiet", "origin", "main")
    assert bare.is_dir()


def _submodule_to_push(place: TrapRepository) -> None:
    place.submodule()
    place.git("add", "sub")
    place.git("commit", "--quiet", "-m", "newer sub")
    place.git("checkout", "--quiet", "--detach", cwd=place.root / "inner")
    place.remote()


def _submodule_was_pushed(ran: CommandRun) -> bool:
    place = ran.place
    return place.git("rev-parse", "main", cwd=place.root / "inner") == place.git(
        "rev-parse", "main", cwd=place.workspace / "sub"
    )


def _signing_remote(place: TrapRepository) -> None:
    place.git("config", "receive.certNonceSeed", "seed", cwd=place.remote())


def _tagged(place: TrapRepository) -> None:
    place.remote()
    place.git("tag", "-m", "v1", "v1")


def _tag_was_pushed(ran: CommandRun) -> bool:
    return "v1" in ran.place.git("tag", "--list", cwd=ran.place.root / "bare.git")


def _own_hook(place: TrapRepository) -> None:
    place.hook("post-commit")


def _hooks_elsewhere(place: TrapRepository) -> None:
    (place.root / "hooks").mkdir()
    shutil.copy(place.evil, place.root / "hooks/post-commit")


def _wrote(name: str, words: bytes) -> Callable[[CommandRun], bool]:
    return lambda ran: words in (ran.place.workspace / ".git" / name).read_bytes()


def _message_holds_secret(ran: CommandRun) -> bool:
    return SECRET in ran.place.git("log", "-1", "--format=%B")


def _text(content: str) -> Callable[[TrapRepository], object]:
    return lambda place: place.outside.write_text(content)


def _change(place: TrapRepository) -> None:
    (place.workspace / "a").write_text("b\n")


def _adds(name: str) -> str:
    return f"update-index --add --cacheinfo 100644,78981922613b2afb6025042ff6bd878ac1994e85,{name}"


def _grow(place: TrapRepository) -> None:
    (place.workspace / "a").write_text("line\n" * 10_000)


def _has_templates(ran: CommandRun) -> bool:
    return (ran.place.workspace / "inner/.git/description").exists()


def _bare_below(place: TrapRepository) -> None:
    place.git("clone", "--quiet", "--bare", ".", "evil.git")


def _umlaut(place: TrapRepository) -> None:
    (place.workspace / "\u00e4").touch()
    place.git("commit", "--quiet", "--allow-empty", "-m", "\u00e4")


def _touch(place: TrapRepository) -> None:
    """Give a file another time, for which the index has no use yet."""
    os.utime(place.workspace / "a", (1, 1))
    shutil.copy(place.workspace / ".git/index", place.root / "index")


def _index_was_written(ran: CommandRun) -> bool:
    return (ran.place.root / "index").read_bytes() != (ran.place.workspace / ".git/index").read_bytes()


def _commit_names_encoding(ran: CommandRun) -> bool:
    return "encoding latin1" in ran.place.git("cat-file", "commit", "HEAD")


def spring_trap(place: TrapRepository, trap: Trap, environment: Mapping[str, str]) -> CommandRun:
    """Arrange *trap*, and run its command with *environment*."""
    trap.arrange(place)
    names = {"evil": place.evil, "outside": place.outside, "root": place.root}
    for key, value in trap.settings.items():
        place.git("config", key, value.format(**names))
    argv = ["git", *trap.command.format(**names).split()]
    given = {**PLAIN_ENVIRONMENT, **environment}
    if trap.terminal:
        return CommandRun(place, *_in_terminal(argv, place.workspace, given))
    ran = subprocess.run(
        argv, cwd=place.workspace, env=given, input=trap.stdin.encode(), capture_output=True, check=False
    )
    return CommandRun(place, ran.returncode, (ran.stdout + ran.stderr).decode(errors="replace"))


def _in_terminal(argv: list[str], folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    try:
        ran = subprocess.run(argv, cwd=folder, env=environment, stdout=theirs, stderr=theirs, check=False)
    finally:
        os.close(theirs)
        os.close(ours)
    return ran.returncode, ""


ASK = "protocol=https\nhost=example.com\n\n"
PUSH = "push origin main"
GPG = "log -1 --format=%G?"
TRAPS: Mapping[str, list[Trap]] = {
    "commit.gpgSign": [Trap({"commit.gpgSign": "true", "gpg.program": "{evil}"}, COMMIT)],
    "commit.template": [
        Trap(
            {"commit.template": "{outside}"},
            "commit --allow-empty --allow-empty-message --no-edit",
            _message_holds_secret,
        )
    ],
    "core.askPass": [Trap({"core.askPass": "{evil}"}, "credential fill", stdin=ASK)],
    "core.attributesFile": [
        Trap({"core.attributesFile": "{outside}"}, "check-attr -a a", prints("outer"), _text("* outer\n"))
    ],
    "core.editor": [Trap({"core.editor": "{evil}"}, "commit --allow-empty")],
    "core.excludesFile": [Trap({"core.excludesFile": "{outside}"}, f"check-ignore -v {SECRET}", prints("outside:1"))],
    "core.fsmonitor": [Trap({"core.fsmonitor": "{evil}"}, "status")],
    "core.hooksPath": [
        Trap({"core.hooksPath": "{root}/hooks"}, COMMIT, arrange=_hooks_elsewhere),
        Trap({}, COMMIT, arrange=_own_hook),
    ],
    "core.pager": [Trap({"core.pager": "{evil}"}, "log", terminal=True)],
    "core.protectHFS": [Trap({"core.protectHFS": "false"}, _adds(".g\u200cit/config"), succeeded)],
    "core.protectNTFS": [Trap({"core.protectNTFS": "false"}, _adds("git~1/config"), succeeded)],
    "core.sshCommand": [Trap({"core.sshCommand": "{evil}"}, "ls-remote ssh://127.0.0.1:1/x")],
    "core.untrackedCache": [Trap({"core.untrackedCache": "true"}, "update-index --refresh", _wrote("index", b"UNTR"))],
    "credential.helper": [
        Trap({"credential.helper": "!{evil}"}, "credential fill", stdin=ASK),
        Trap({"credential.https://example.com.helper": "!{evil}"}, "credential fill", stdin=ASK),
    ],
    "diff.orderFile": [Trap({"diff.orderFile": "{root}/none"}, "diff", failed, _change)],
    "diff.submodule": [
        Trap({"diff.submodule": "diff"}, "diff --ignore-submodules=dirty", arrange=_hostile_submodule("diff.external"))
    ],
    "fetch.recurseSubmodules": [Trap({"fetch.recurseSubmodules": "true"}, "fetch origin", arrange=_submodule_to_fetch)],
    "gc.auto": [Trap({"gc.autoPackLimit": "1"}, "gc --auto", arrange=_needs_gc)],
    "gpg.openpgp.program": [Trap({"gpg.openpgp.program": "{evil}"}, GPG, arrange=_signed("PGP SIGNATURE"))],
    "gpg.program": [Trap({"gpg.program": "{evil}"}, GPG, arrange=_signed("PGP SIGNATURE"))],
    "gpg.ssh.defaultKeyCommand": [
        Trap({"gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": "{evil}"}, "commit --allow-empty -S -m b")
    ],
    "gpg.ssh.program": [
        Trap(
            {"gpg.format": "ssh", "gpg.ssh.program": "{evil}", "user.signingKey": "key::ssh-ed25519 AAAA"},
            "commit --allow-empty -S -m b",
        )
    ],
    "gpg.x509.program": [Trap({"gpg.x509.program": "{evil}"}, GPG, arrange=_signed("SIGNED MESSAGE"))],
    "log.showSignature": [
        Trap({"log.showSignature": "true", "gpg.program": "{evil}"}, "log", arrange=_signed("PGP SIGNATURE"))
    ],
    "mailmap.file": [
        Trap(
            {"mailmap.file": "{outside}"},
            "log -1 --format=%aN",
            prints("Outer"),
            _text("Outer <ada@email.example>\n"),
        )
    ],
    "maintenance.auto": [Trap({"gc.autoPackLimit": "1", "gc.autoDetach": "false"}, COMMIT, arrange=_needs_gc)],
    "protocol.ext.allow": [Trap({"protocol.ext.allow": "always"}, "ls-remote ext::{evil}")],
    "push.followTags": [Trap({"push.followTags": "true"}, PUSH, _tag_was_pushed, _tagged)],
    "push.gpgSign": [Trap({"push.gpgSign": "true", "gpg.program": "{evil}"}, PUSH, arrange=_signing_remote)],
    "push.negotiate": [
        Trap(
            {"push.negotiate": "true", "protocol.version": "0"},
            PUSH,
            prints("push negotiation failed"),
            TrapRepository.remote,
        )
    ],
    "push.pushOption": [Trap({"push.pushOption": "merge_request.create"}, PUSH, failed, TrapRepository.remote)],
    "push.recurseSubmodules": [
        Trap({"push.recurseSubmodules": "on-demand"}, PUSH, _submodule_was_pushed, _submodule_to_push)
    ],
    "sequence.editor": [Trap({"sequence.editor": "{evil}"}, "rebase -i --root")],
    "status.submoduleSummary": [
        Trap({"status.submoduleSummary": "true"}, "status", prints("Submodules changed"), TrapRepository.submodule)
    ],
    "submodule.recurse": [
        Trap({"submodule.recurse": "true"}, "grep needle", prints("needle"), TrapRepository.submodule)
    ],
    "tag.gpgSign": [Trap({"tag.gpgSign": "true", "gpg.program": "{evil}"}, "tag -m v1 v1")],
}
SHELL_TRAPS: Mapping[str, list[Trap]] = {
    "diff.ignoreSubmodules": [Trap({}, "status", arrange=_hostile_submodule("core.fsmonitor"))],
    "init.templateDir": [Trap({}, "init inner", _has_templates)],
    "safe.bareRepository": [Trap({}, "-C evil.git log", succeeded, _bare_below)],
}
TOOL_TRAPS: Mapping[str, list[Trap]] = {
    "color.ui": [Trap({"color.ui": "always"}, "diff", prints("\x1b["), _change)],
    "core.bigFileThreshold": [Trap({"core.bigFileThreshold": "1"}, "diff", prints("Binary files"), _grow)],
    "core.quotePath": [Trap({"core.quotePath": "true"}, "ls-files --others", prints("\\303"), _umlaut)],
    "diff.autoRefreshIndex": [Trap({"diff.autoRefreshIndex": "true"}, "diff", _index_was_written, _touch)],
    "i18n.commitEncoding": [Trap({"i18n.commitEncoding": "latin1"}, COMMIT, _commit_names_encoding)],
    "i18n.logOutputEncoding": [Trap({"i18n.logOutputEncoding": "latin1"}, "log", prints("\ufffd"), _umlaut)],
}
