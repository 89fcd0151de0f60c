"""Finds the origin of code that a shell or an interpreter runs: the network, a decoder, or text of the script itself."""

import re
from collections.abc import Iterator
from itertools import pairwise

from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.deletes import has_option, operands
from toolcharter.guards.shell.floor.word_texts import Arg, decode_escapes, likely_text
from toolcharter.guards.shell.nodes import Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "ash", "fish", "tcsh", "csh", "rbash", "yash", "oksh", "elvish", "xonsh", "nu", "pwsh", "powershell"})  # fmt: skip
INTERPRETERS = frozenset({"python", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "deno", "bun", "tclsh", "wish", "expect", "osascript", "rscript", "r", "julia", "ghci", "irb", "groovy", "guile", "gawk", "elixir", "scala", "jshell", "psql", "mysql", "sqlite3", "gdb", "bc"})  # fmt: skip
_CODE_READERS = INTERPRETERS - {"psql", "mysql", "sqlite3", "gdb", "bc", "gawk"}
# Source: GTFOBins, functions "download" and "reverse-shell"; PayloadsAllTheThings, "Command Injection".
FETCHERS = frozenset({"curl", "wget", "wget2", "fetch", "aria2c", "axel", "lwp-request", "lwp-download", "get", "http", "https", "xh", "httpie", "ftp", "lftp", "ncftpget", "tftp", "sftp", "scp", "rsync", "lynx", "links", "elinks", "w3m", "nc", "ncat", "netcat", "telnet", "socat", "openssl", "dig", "nslookup", "host", "drill", "kdig", "gsutil", "s3cmd", "rclone", "smbclient", "curlie", "hurl", "whois", "finger", "ssh", "bitsadmin", "certutil", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "gh", "aws", "wscat", "websocat", "snarf", "puf", "youtube-dl", "hg", "svn"})  # fmt: skip
DECODERS = frozenset({"base64", "base32", "basenc", "gbase64", "xxd", "uudecode", "openssl", "gunzip", "zcat", "gzip", "bunzip2", "bzcat", "bzip2", "xz", "xzcat", "unxz", "lzma", "unlzma", "zstd", "zstdcat", "lz4", "lz4cat", "brotli", "uncompress", "unzip", "7z", "tr", "rev", "sed", "awk", "gawk", "mawk", "cut", "od", "hexdump", "python", "perl", "ruby", "php", "node", "gpg", "strings", "iconv", "m4", "tac", "fold", "printf", "ascii2uni", "recode", "qprint", "base58", "dd", "jq", "paste", "shuf", "sort", "head", "tail", "ar", "cpio", "steghide", "exiftool", "xor", "bc", "dc"})  # fmt: skip
_NAMES_WITH_DIGIT = frozenset(name for name in FETCHERS | DECODERS | SHELLS if name[-1:].isdigit())
_ESCAPE_SEQUENCE = re.compile(r"\\x[0-9A-Fa-f]|\\[0-7][0-7]")
_LONG_CODE = frozenset({"--eval", "--print", "--run", "--execute"})
_TEXT_PRINTERS = frozenset({"echo", "printf"})
STANDARD_INPUTS = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/dev/fd/3"})
_CODE_LETTERS = {"python": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "php": "rBRE", "lua": "e", "luajit": "e", "bun": "e", "rscript": "e", "r": "e", "julia": "eE", "osascript": "e", "tclsh": "c", "expect": "c", "groovy": "e", "scala": "e", "elixir": "e"}  # fmt: skip
_VALUED_LETTERS = {"python": "WXmQ", "perl": "MmIiFxCDdV", "ruby": "rIiKFEWTx", "php": "dcfSzIt", "node": "rC", "nodejs": "rC", "lua": "l"}  # fmt: skip
# Programs that print settings of a shell for `eval`; their manuals ask for it.
_SETTINGS_PRINTERS = frozenset({"ssh-agent", "gpg-agent", "brew", "direnv", "pyenv", "rbenv", "nodenv", "goenv", "jenv", "plenv", "opam", "minikube", "docker-machine", "conda", "mamba", "micromamba", "starship", "zoxide", "fnm", "dircolors", "register-python-argcomplete", "keychain", "thefuck", "luarocks", "mise", "asdf", "rtx", "pip", "poetry", "hatch", "npm", "kubectl", "gh", "resize", "lesspipe", "pixi", "sheldon", "atuin", "nodeenv", "pkg-config", "vault", "nix", "guix", "stty", "locale", "podman", "rustup", "cs", "fzf", "pdm", "volta"})  # fmt: skip


def without_version(name: str) -> str:
    """The name of an interpreter without its version: `python3.11` is `python`."""
    return name if name in _NAMES_WITH_DIGIT else name.rstrip("0123456789.-") or name


def reads_code(call: Call) -> bool:
    """Whether *call* is a shell or an interpreter that reads its code from its input or from a process substitution."""
    name = without_version(call.name)
    if name in SHELLS:
        return _shell_reads_input(call)
    if name in {"source", "."}:
        return any(arg.text in STANDARD_INPUTS for arg in call.args[:1]) or _is_substituted(call)
    if (
        name not in _CODE_READERS
        or has_code_option(call)
        or call.texts[:1] in {("-m",), ("eval",), ("run",), ("test",)}
    ):
        return False
    return _reads_input(call)


def _shell_reads_input(call: Call) -> bool:
    if has_code_option(call):
        return False
    return has_option(call.args, "s") or _reads_input(call)


def _reads_input(call: Call) -> bool:
    first = next((arg.text for arg in operands(_args_without_values(call))), "-")
    return first in STANDARD_INPUTS or _is_substituted(call)


def _args_without_values(call: Call) -> Iterator[Arg]:
    skip = False
    for arg in call.args:
        if not skip:
            yield arg
        skip = not skip and arg.text in {"-o", "+o", "-O", "+O", "--rcfile", "--init-file", "-W", "-X", "-I", "-r"}


def _is_substituted(call: Call) -> bool:
    """Whether the first operand is a process substitution."""
    for word in call.command.words[1:]:
        if not word.form.startswith("-"):
            return word.form.lstrip('"').startswith("<(")
    return False


def reads_code_from_option(call: Call, options: frozenset[str]) -> bool:
    """Whether the value of one of *options* is the input or a process substitution: `make -f -`, `awk -f <(...)`."""
    return any(
        (before.text in options and (word.text in STANDARD_INPUTS or word.form.startswith("<(")))
        or (word.text or "") in {f"{option}{join}-" for option in options for join in ("", "=")}
        for before, word in pairwise(call.command.words)
    )


def find_taint(calls: Iterator[Call], *, only_network: bool = False) -> str | None:
    """Why code from these commands must not run; None if they only pass on known text."""
    decoder = None
    for call in calls:
        name = without_version(call.name)
        if name in FETCHERS and not _is_local_openssl(call):
            return "runs code from the network"
        if (
            decoder is None
            and not only_network
            and (_ESCAPE_SEQUENCE.search(" ".join(call.texts)) if name in _TEXT_PRINTERS else name in DECODERS)
        ):
            decoder = "runs decoded text as code"
    return decoder


def _is_local_openssl(call: Call) -> bool:
    return call.name == "openssl" and "s_client" not in call.texts


def printed_text(call: Call) -> str | None:
    """The output of `echo` or `printf`; None if it is not known."""
    if call.name not in _TEXT_PRINTERS or not _is_literal(call):
        return None
    texts = list(call.texts)
    if call.name == "printf":
        return _format_printf(texts)
    is_escaped = False
    while texts and texts[0][:1] == "-" and texts[0][1:] and not texts[0][1:].strip("neE"):
        is_escaped = is_escaped or "e" in texts.pop(0)
    said = " ".join(texts)
    return decode_escapes(said) if is_escaped else said


def _format_printf(texts: list[str]) -> str:
    if texts[:1] == ["--"]:
        del texts[:1]
    if not texts:
        return ""
    form, *values = (decode_escapes(text) for text in texts)
    parts = form.replace("%b", "%s").split("%s")
    if len(parts) == 1:
        return form
    found: list[str] = []
    for start in range(0, max(len(values), 1), len(parts) - 1):
        some = values[start : start + len(parts) - 1]
        found += [part + (some[at] if at < len(some) else "") for at, part in enumerate(parts)]
    return "".join(found)


def _is_literal(call: Call) -> bool:
    return all(word.text is not None for word in call.command.words)


def input_texts(call: Call, context: Context) -> Iterator[str]:
    """The texts that a command reads, as far as the script contains them."""
    for redirection in call.command.redirections:
        if redirection.text is not None:
            yield redirection.text
        elif redirection.operator == "<<<" and redirection.target is not None:
            yield likely_text(redirection.target, context.paths.home)
    for feeder in context.feeders(call):
        said = printed_text(feeder)
        if said is not None:
            yield said
        elif feeder.name in {"cat", "tee"}:
            yield from (one.text for one in feeder.command.redirections if one.text is not None)


def print_shell_settings(calls: Iterator[Call]) -> bool:
    """Whether the output of all *calls* is meant for `eval`."""
    found = [call.name for call in calls]
    return bool(found) and all(name in _SETTINGS_PRINTERS for name in found)


def has_code_option(call: Call) -> bool:
    """Whether an option of a shell or an interpreter says that code follows."""
    if any(text.startswith("--") and text.partition("=")[0] in _LONG_CODE for text in call.texts):
        return True
    return _find_code(call) is not None


def code_argument(call: Call) -> Word | None:
    """The code that follows such an option, in the same word or the next one; None if nothing follows."""
    place = _find_code(call)
    if place is None:
        return None
    at, rest = place
    words = call.command.words
    if rest and without_version(call.name) not in SHELLS:
        return Word(words[at].form, rest)
    return next((one for one in words[at + 1 :] if one.text != "--" and not _is_more_options(one, call)), None)


def _is_more_options(word: Word, call: Call) -> bool:
    return without_version(call.name) in SHELLS and (word.text or word.prefix)[:1] in {"-", "+"}


def _find_code(call: Call) -> tuple[int, str] | None:
    """The position of the first option that takes code, and the text behind it in the same word."""
    name = without_version(call.name)
    letters, valued = ("c", "oO") if name in SHELLS else (_CODE_LETTERS.get(name, ""), _VALUED_LETTERS.get(name, ""))
    for at, word in enumerate(call.command.words[1:], 1):
        text = word.text or word.prefix
        if text[:1] != "-" or text[:2] == "--":
            continue
        for place, letter in enumerate(text[1:], 2):
            if letter in letters:
                return at, text[place:]
            if letter in valued:
                break
    return None
