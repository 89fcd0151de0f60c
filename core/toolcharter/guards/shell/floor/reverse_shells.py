"""Reverse shells: commands that give a remote host a shell on this machine."""

import re

from toolcharter.guards.shell.floor.context import REMOTE_SHELL, Call, Context
from toolcharter.guards.shell.floor.data_sources import INTERPRETERS, SHELLS, reads_code, without_version
from toolcharter.guards.shell.programs.launchers import LAUNCHERS, Launcher, words_after_options

WHY = REMOTE_SHELL
_HELP = frozenset({"-V", "-v", "-h", "--help", "--version", "help", "version"})
_THIS_MACHINE = (["localhost"], ["127.0.0.1"], ["::1"])
_NETCATS = frozenset(
    {"nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "pwncat", "powercat", "cryptcat", "sbd", "dbd"}
)
_TALKERS = _NETCATS | {"telnet", "socat", "openssl", "rlogin", "websocat", "wscat", "chisel"}
_NETWORK_ADDRESSES = ("tcp", "udp", "openssl", "ssl", "sctp", "socks", "proxy", "dccp", "vsock", "unix-", "abstract-")
_RUNNING_ADDRESSES = ("exec:", "system:", "shell:")
# Options of the netcats that take a value, so that the rest of a cluster behind them is no option.
_VALUED = "pwsiqoxXbBgGIMOTPVmd"
# A cluster of options without values, and `R`.
_FORWARDS = re.compile(r"-[46AaCfGgKkMNnqsTtVvXxYy]*R")
_INTERACTIVE = re.compile(r"-[a-z]*i[a-z]*")


def check_netcat(call: Call, context: Context) -> str | None:
    """`nc -e`, `nc -c`, `ncat --exec`, and netcat between the ends of a shell."""
    for text in call.texts:
        if text.startswith("--"):
            name = text[2:].partition("=")[0]
            if len(name) > 1 and any(full.startswith(name) for full in ("exec", "sh-exec", "lua-exec")):
                return WHY
        elif text[:1] == "-" and (_starts_program(call, text[1:]) or _may_start_shell(call, text[1:])):
            return WHY
    return check_shell_feeders(call, context)


def _starts_program(call: Call, cluster: str) -> bool:
    for letter in cluster:
        if letter == "e":
            return True
        if letter == "c":
            # For OpenBSD's nc `-c` is TLS; for the others it takes the command to run.
            return any(_is_shell(text) or " " in text for text in call.texts)
        if letter in _VALUED:
            return False
    return False


def _may_start_shell(call: Call, cluster: str) -> bool:
    """Whether a variant of netcat might start a shell because of the cluster: `-lvpe 4444 /bin/sh`."""
    return cluster.isalpha() and "e" in cluster and any(map(_is_shell, call.texts))


def _is_shell(text: str) -> bool:
    name = text.rpartition("/")[2].removesuffix(".exe")
    return name in SHELLS or without_version(name) in INTERPRETERS


def check_shell_feeders(call: Call, context: Context) -> str | None:
    """A program that talks to a remote host and reads the output of a shell."""
    if call.name == "openssl" and "s_client" not in call.texts:
        return None
    return WHY if any(_is_interactive_shell(feeder) for feeder in context.feeders(call)) else None


def _is_interactive_shell(call: Call) -> bool:
    """Whether a shell reads its commands from its input."""
    if call.name in SHELLS and any(_INTERACTIVE.fullmatch(text) for text in call.texts):
        return True
    return (
        reads_code(call)
        and (without_version(call.name) in SHELLS)
        and not any(one.text is not None for one in call.command.redirections)
    )


def check_socat(call: Call, context: Context) -> str | None:
    """`socat` that joins a program to the network."""
    lowered = [text.lower() for text in call.texts]
    runs = any(text.startswith(_RUNNING_ADDRESSES) for text in lowered)
    if runs and any(text.startswith(_NETWORK_ADDRESSES) for text in lowered):
        return WHY
    return check_shell_feeders(call, context)


def check_network_feeders(call: Call, context: Context) -> str | None:
    """A shell that is fed by a program that talks to a remote host."""
    for feeder in context.feeders(call):
        if feeder.name in _TALKERS and (feeder.name != "openssl" or "s_client" in feeder.texts):
            return WHY
    return None


def check_port_forwarding(call: Call, _context: Context) -> str | None:
    """`ssh -R 8080:localhost:22 host`: users of the remote host reach a service of this machine."""
    words = call.command.words
    valued = LAUNCHERS["ssh"].valued | (frozenset({"-M"}) if call.name == "autossh" else frozenset())
    options = words[1 : len(words) - len(words_after_options(words, Launcher(valued)))]
    texts = [word.text or word.prefix for word in options]
    for at, text in enumerate(texts):
        if at and texts[at - 1] in valued - {"-o"}:
            continue
        setting = text if at and texts[at - 1] == "-o" else text.removeprefix("-o") if text[:2] == "-o" else ""
        if setting.lstrip().lower().startswith("remoteforward") or _FORWARDS.match(text):
            return "opens this machine to a remote host"
    return None


def check_remote_display(call: Call, _context: Context) -> str | None:
    """`xterm -display 203.0.113.7:1`."""
    shown = [
        after for before, after in zip(call.texts, call.texts[1:], strict=False) if before in {"-display", "--display"}
    ]
    return WHY if any(host.partition(":")[0] not in {"", "localhost", "unix"} for host in shown) else None


def check_shared_terminal(call: Call, _context: Context) -> str | None:
    """`tmate`, `upterm host`, `ttyd bash`, `websocat ws-l:0.0.0.0:80 sh-c:bash`: a terminal for whoever connects."""
    if _HELP & {*call.texts}:
        return None
    if call.name == "websocat":
        is_run = any(text.startswith(("exec:", "cmd:", "sh-c:")) for text in call.texts)
        return WHY if is_run else None
    is_whole = call.name == "tmate" or (call.name == "upterm" and "host" in call.texts)
    return WHY if is_whole or any(map(_is_shell, call.texts)) else None


def check_zsh_sockets(call: Call, _context: Context) -> str | None:
    """`zmodload zsh/net/tcp`, `ztcp`: connections of zsh itself."""
    return WHY if call.name == "ztcp" or any(text.startswith("zsh/net") for text in call.texts) else None


def is_socket(path: str) -> bool:
    """Whether bash opens a connection in place of a file; in `/dev//203.0.113.7/80` the middle is an unknown text."""
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return True
    parts = path.split("/")
    return len(parts) == 5 and parts[1] == "dev" and parts[2] in {"", "\x1a"}  # noqa: PLR2004 - "", "dev", protocol, host, port


def is_local_socket(path: str) -> bool:
    """Whether the host of such a path is this one: `/dev/tcp/127.0.0.1/22`."""
    return path.split("/")[3:4] in _THIS_MACHINE
