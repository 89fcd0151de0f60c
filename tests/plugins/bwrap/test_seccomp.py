"""The filter for system calls: what it holds, as a real kernel sees it."""

import errno
import platform
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.plugins.bwrap.conftest import job
from tests.rows import each_row

from toolcharter import Denied, Ended
from toolcharter_bwrap.runner import BwrapRunner
from toolcharter_bwrap.seccomp import MACHINES, seccomp_filter

ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
MACHINE = MACHINES["x86_64"]
X86 = 0xC000_003E
EPERM, ENOSYS, EAFNOSUPPORT = errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT


def judged(program: bytes, number: int, *args: int, architecture: int = X86) -> int:
    """What the filter says of a call, by the rules of the kernel's machine: an errno, 0, or KILL."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *args, *[0] * (6 - len(args)))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, loaded = 0, 0
    while True:
        kind, if_true, if_false, value = code[at]
        at += 1
        if kind == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif kind == 0x06:
            return value if value == KILL else (0 if value == ALLOW else value & 0xFFFF)
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[kind]
            at += if_true if holds else if_false


@each_row(
    ("number", "args", "answer"),
    [
        pytest.param(0, (), 0, id="read"),
        pytest.param(469, (), 0, id="the last that is known"),
        pytest.param(470, (), ENOSYS, id="one that is not"),
        pytest.param(0x4000_0000, (), ENOSYS, id="x32"),
        pytest.param(435, (), ENOSYS, id="clone3"),
        pytest.param(101, (), EPERM, id="ptrace"),
        pytest.param(165, (), EPERM, id="mount"),
        pytest.param(425, (), EPERM, id="io_uring_setup"),
        pytest.param(56, (0x0100_0011,), 0, id="fork"),
        pytest.param(56, (0x003D_0F00,), 0, id="a thread"),
        pytest.param(56, (0x1000_0011,), EPERM, id="clone with a user namespace"),
        pytest.param(56, (0x0002_0000,), EPERM, id="clone with a mount namespace"),
        pytest.param(272, (0x400,), 0, id="unshare of files"),
        pytest.param(272, (0x4000_0000,), EPERM, id="unshare of the network"),
        pytest.param(16, (0, 0x5413), 0, id="the size of a terminal"),
        pytest.param(16, (0, 0x5412), EPERM, id="TIOCSTI"),
        pytest.param(16, (0, 0xFFFF_FFFF_0000_5412), EPERM, id="TIOCSTI, with bits that the kernel drops"),
        pytest.param(16, (0, 0x541C), EPERM, id="TIOCLINUX"),
        pytest.param(135, (0xFFFF_FFFF,), 0, id="what personality"),
        pytest.param(135, (0,), 0, id="the usual personality"),
        pytest.param(135, (0x40000,), EPERM, id="another personality"),
        pytest.param(90, (0, 0o755), 0, id="a mode"),
        pytest.param(90, (0, 0o4755), EPERM, id="the rights of the owner"),
        pytest.param(91, (0, 0o2755), EPERM, id="the rights of the group"),
        pytest.param(268, (0, 0, 0o4755), EPERM, id="beneath a folder"),
        pytest.param(452, (0, 0, 0o4755), EPERM, id="beneath a folder, the newer way"),
        pytest.param(2, (0, 0o101, 0o644), 0, id="a new file"),
        pytest.param(2, (0, 0, 0o4755), 0, id="no new file, and a mode that does not count"),
        pytest.param(2, (0, 0o101, 0o4755), EPERM, id="a new file with the rights of the owner"),
        pytest.param(2, (0, 0o101, 0o2755), EPERM, id="a new file with the rights of the group"),
        pytest.param(257, (0, 0, 0o102, 0o644), 0, id="a new file beneath a folder"),
        pytest.param(257, (0, 0, 0o2, 0o6755), 0, id="none beneath a folder"),
        pytest.param(257, (0, 0, 0o102, 0o4755), EPERM, id="one with the rights of the owner"),
        pytest.param(257, (0, 0, 0o20200002, 0o4755), EPERM, id="one without a name"),
        pytest.param(85, (0, 0o644), 0, id="creat"),
        pytest.param(85, (0, 0o4755), EPERM, id="creat with the rights of the owner"),
        pytest.param(133, (0, 0o104755), EPERM, id="mknod with the rights of the owner"),
        pytest.param(259, (0, 0, 0o102755), EPERM, id="mknodat with the rights of the group"),
        pytest.param(437, (), ENOSYS, id="openat2"),
        pytest.param(41, (2, 1, 0), 0, id="an internet socket"),
        pytest.param(41, (10, 2, 0), 0, id="one of version 6"),
        pytest.param(41, (16, 3, 0), 0, id="a socket for routes"),
        pytest.param(41, (16, 3, 9), errno.EPROTONOSUPPORT, id="one for audit"),
        pytest.param(41, (17, 3, 0), EAFNOSUPPORT, id="one for packets"),
        pytest.param(41, (40, 1, 0), EAFNOSUPPORT, id="one to the hypervisor"),
    ],
)
@each_row("network", [False, True])
def test_what_a_call_is_answered(number: int, args: tuple[int, ...], answer: int, *, network: bool) -> None:
    """Ordinary calls pass; those of escapes and those unknown do not."""
    assert judged(seccomp_filter(MACHINE, network=network), number, *args) == answer


@pytest.mark.parametrize(("network", "answer"), [(False, 0), (True, EAFNOSUPPORT)])
def test_a_unix_socket_is_for_a_network_of_ones_own(network: bool, answer: int) -> None:  # noqa: FBT001 - a table
    """In the host's network abstract names would lead to the host's daemons."""
    assert judged(seccomp_filter(MACHINE, network=network), 41, 1, 1, 0) == answer


def test_another_architecture_is_killed() -> None:
    """Its numbers mean other calls."""
    assert judged(seccomp_filter(MACHINE, network=False), 0, architecture=0x4000_0003) == KILL


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_every_machine_has_a_filter_that_the_kernel_takes(name: str) -> None:
    """At most 4096 instructions (BPF_MAXINSNS), every number once, and each call denied."""
    machine = MACHINES[name]
    program = seccomp_filter(machine, network=False)

    assert len(program) // 8 < 4096
    assert len(set(machine.denied.values())) == len(machine.denied)
    answers = {judged(program, number, architecture=machine.architecture) for number in machine.denied.values()}
    assert answers == {EPERM}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="headers of another processor")
def test_the_numbers_are_those_of_the_system() -> None:
    """Where headers are installed."""
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("no headers")
    lines = (line.split() for line in header.read_text().splitlines() if line.startswith("#define __NR_"))
    numbers = {name.removeprefix("__NR_"): int(number) for _, name, number in lines}

    assert {name: numbers.get(name, number) for name, number in MACHINE.denied.items()} == MACHINE.denied
    machine_modes = [numbers[name] for name in ("chmod", "fchmod", "fchmodat", "creat", "mknod", "mknodat")]
    special = ("clone", "unshare", "ioctl", "socket", "personality", "clone3", "openat2")
    assert set(machine_modes) <= set(MACHINE.modes)
    assert {numbers[name] for name in ("open", "openat")} == set(MACHINE.opens)
    assert {name: numbers[name] for name in special} == {name: getattr(MACHINE, name) for name in special}


ATTEMPTS = """
import ctypes, fcntl, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(*args) == -1 else 0
print(call({unshare}, 0x10000000), call({ptrace}, 0, 0, 0, 0), call(435, 0, 0), call(425, 1, 0), call(9999))
"""


@pytest.mark.needs_program("bwrap", package="bubblewrap")
def test_the_kernel_takes_the_filter(runner: BwrapRunner) -> None:
    """And does what it says."""
    machine = MACHINES[platform.machine()]
    script = ATTEMPTS.format(unshare=machine.unshare, ptrace=machine.denied["ptrace"])

    ended: Ended = runner.run(job("/usr/bin/python3", "-c", script))

    assert ended.stdout.split() == [str(each).encode() for each in (EPERM, EPERM, ENOSYS, EPERM, ENOSYS)]


def test_without_a_filter_nothing_runs(
    open_runner: Callable[..., BwrapRunner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A processor that we know nothing of has no sandbox."""
    monkeypatch.setattr(platform, "machine", lambda: "m68k")

    with pytest.raises(Denied, match="no seccomp filter for the processor 'm68k'") as caught:
        open_runner().run(job("true"))

    assert caught.value.reason == "sandbox_unavailable"
