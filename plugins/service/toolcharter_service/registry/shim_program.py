"""The program of a shim: makes one call through the service or `toolcharter call`, and prints the tool's JSON.

Each shim contains this text and sets `SHIM`. It only needs Python's standard library.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path
from typing import Any

MAX_BYTES = 64_000_000
TIMEOUT_S = 150
USAGE, FAILED = 2, 1
OK, BAD_REQUEST = 200, 400
MAX_STATUS = 255


class UsageError(Exception):
    """The command line is invalid."""


def read_words(words: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    """Parse the arguments in *words*: `--name value`, `--name=value`, `--flag`, or `--args JSON` for all at once."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not name:
            raise UsageError(f"{word!r} is no option; write --name value")
        if name == "args" and "args" not in properties:
            given = json.loads(value if has_value else _next(rest, word))
            if not isinstance(given, dict):
                raise UsageError("--args takes a JSON object")
            found.update(given)
            continue
        if name not in properties:
            raise UsageError(f"there is no option --{name}; there are {', '.join('--' + one for one in properties)}")
        kind = properties[name].get("type")
        if not has_value and (kind == "boolean" or name == "stdin"):
            found[name] = True if kind == "boolean" else sys.stdin.read()
            continue
        text = value if has_value else _next(rest, word)
        if kind == "array" and name in found:
            found[name] = [*found[name], *_list(text)]
        else:
            found[name] = _list(text) if kind == "array" else _value(name, kind, text)
    return found


def _next(rest: list[str], option: str) -> str:
    if not rest:
        raise UsageError(f"{option} needs a value")
    return rest.pop(0)


def _list(text: str) -> list[Any]:
    """Parse a JSON array; any other text becomes a list of one text."""
    try:
        found = json.loads(text)
    except ValueError:
        return [text]
    return found if isinstance(found, list) else [text]


def _value(name: str, kind: Any, text: str) -> Any:
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        if kind in ("integer", "number", "boolean", "object"):
            raise UsageError(f"--{name}: {text!r} is no JSON of type {kind}") from None
        return text


def ask_service(shim: dict[str, Any], args: dict[str, Any]) -> int:
    """Invoke the tool over HTTP, without a proxy or redirects, so that only the service gets the token."""
    parts = urllib.parse.urlsplit(shim["url"])
    token = read_token(dict(os.environ))
    is_loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if token and parts.scheme != "https" and not is_loopback:
        raise UsageError("a token is only sent over https, or to this machine")
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if agent := os.environ.get("TOOLCHARTER_AGENT"):
        headers["X-Agent-ID"] = agent
    path = f"{parts.path.rstrip('/')}/api/v1/tools/{urllib.parse.quote(shim['tool'], safe='')}/invoke"
    try:
        connection.request("POST", path, json.dumps(args).encode(), headers)
        answer = connection.getresponse()
        body = answer.read(MAX_BYTES + 1)
    except OSError as error:
        sys.stderr.write(f"the service cannot be reached: {error}\n")
        return FAILED
    finally:
        connection.close()
    if len(body) > MAX_BYTES:
        sys.stderr.write("the answer is too large\n")
        return FAILED
    text = body.decode(errors="replace").rstrip("\n") + "\n"
    if answer.status != OK:
        sys.stderr.write(text)
        return USAGE if answer.status == BAD_REQUEST else FAILED
    sys.stdout.write(text)
    return status_of(text)


def status_of(text: str) -> int:
    """Return the `exit_code` in the tool's JSON as the exit status; 0 if it has none."""
    try:
        found = json.loads(text)
    except ValueError:
        return 0
    code = found.get("exit_code") if isinstance(found, dict) else None
    return 0 if not isinstance(code, int) else code if 0 <= code <= MAX_STATUS else FAILED


def ask_profile(shim: dict[str, Any], args: dict[str, Any]) -> int:
    """Make the call in a separate process, `toolcharter call --json`."""
    program = shutil.which("toolcharter")
    if program is None:
        raise UsageError("the program toolcharter is not installed here")
    argv = [program, "call", shim["tool"], "--profile", shim["profile"], "--workspace", shim["workspace"]]
    done = subprocess.run(  # noqa: S603 - toolcharter's own program, without a shell
        [*argv, "--json", "--args", json.dumps({**shim["fixed"], **renamed(args, shim["arguments"])})],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        return done.returncode or FAILED
    if found.get("outcome") != "ok" and found.get("reason") != "nonzero_exit":
        told = {"error": found.get("message") or found.get("text"), "reason": found.get("reason")}
        sys.stderr.write(json.dumps({**told, "call_id": found.get("call_id")}) + "\n")
        return FAILED
    data = found.get("data")
    text = json.dumps({"output": found.get("text")} if data is None else data) + "\n"
    sys.stdout.write(text)
    return status_of(text)


def renamed(args: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return *args* with the tool's own names."""
    return {names.get(name, name): value for name, value in args.items()}


def read_token(environ: dict[str, str]) -> str:
    """Return the token from `TOOLCHARTER_TOKEN` or the file named by `TOOLCHARTER_TOKEN_FILE`; empty without both."""
    if token := environ.get("TOOLCHARTER_TOKEN", "").strip():
        return token
    path = environ.get("TOOLCHARTER_TOKEN_FILE")
    if not path:
        return ""
    return Path(path).read_text(encoding="utf-8").strip()


def main(shim: dict[str, Any], words: list[str]) -> int:
    """Make one call. Return the exit status: 0 or that of the tool's program, 1 for a failure, 2 for invalid usage."""
    if words in (["--help"], ["-h"]):
        options = "\n".join(f"  --{name} {one.get('type', 'JSON')}" for name, one in shim["properties"].items())
        sys.stdout.write(f"{shim['description']}\n\n{options}\n  --args JSON\n")
        return 0
    try:
        args = read_words(words, shim["properties"])
        if "text" in shim["required"] and "text" not in args and not sys.stdin.isatty():
            args["text"] = sys.stdin.read()
        return ask_service(shim, args) if shim.get("url") else ask_profile(shim, args)
    except (UsageError, ValueError, OSError) as error:
        sys.stderr.write(f"{shim['tool']}: {error}\n")
        return USAGE
