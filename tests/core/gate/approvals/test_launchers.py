"""Programs that run other programs, under every name they are installed by."""

from tests.rows import each_row

from toolcharter.gate.approvals.always_offered import is_launcher


@each_row(
    "program",
    [
        "sh", "bash", "/bin/sh", "python", "python3", "python3.11", "python3.13t", "python2.7-dbg", "PYTHON.EXE",
        "perl5.36", "env", "nice", "nohup", "timeout", "time", "xargs", "setsid", "stdbuf", "sudo", "doas", "su", "ssh",
        "find", "git", "make", "npm", "npx", "yarn", "pnpm", "busybox", "gcc-12", "x86_64-linux-gnu-gcc-12",
        "ld-linux-x86-64.so.2", "R", "node18", ".", "x" * 256,
    ],
)  # fmt: skip
def test_launchers(program) -> None:
    """Interpreters and wrappers, under every name they are installed by."""
    assert is_launcher(program)


@each_row("program", ["ls", "wc", "pytest", "cargo", "ruff", "mypy", "md5sum", "bzip2", "e2fsck", "diff", "sort", "7"])
def test_programs_that_are_none(program) -> None:
    """What does its own work may be allowed for good."""
    assert not is_launcher(program)
