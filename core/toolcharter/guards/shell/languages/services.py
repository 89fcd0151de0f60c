"""What clients of servers are given: addresses, repositories, kinds of objects, values."""

import re
from typing import Final

_OWNER_AND_NAME: Final = re.compile(r"=?[\w.-]+/[\w.-]+")
# Neither braces nor brackets, of which curl makes several addresses, nor a user, nor a backslash.
_LOCAL_URL: Final = re.compile(
    r"(?:https?://)?(?:localhost|127\.0\.0\.1)(?::[0-9]{1,5})?(?:[/?][\w./?&=%+:,~;-]*)?", re.ASCII
)


def ansible_value(text: str) -> str | None:
    """Variables on the command line of Ansible: text, but no file of it and no template, whose look-ups run programs.

    None if it stands for itself.

    Source: ansible-core 2.19, "ansible-playbook --help" of `--extra-vars`; "Lookups", `pipe`.
    """
    if "{{" in text or "{%" in text or "!" in text:
        return "may be a template, which can run programs"
    return aws_value(text)


def aws_value(text: str) -> str | None:
    """Values on the command line of aws, az and gcloud: text, or the name of a file or an address that holds it.

    None if it stands for itself.

    Source: AWS CLI 2.27, "Loading a parameter from a file", and for `KEY@=file://...` "Using shorthand syntax"; az 2.45, "az --help" of `@FILE`.
    """
    text = text.removeprefix("=").lstrip()
    if text.startswith(("file://", "fileb://", "http://", "https://", "@")) or "@=" in text:
        return "takes its value from elsewhere"
    return None


def gh_endpoint(text: str) -> str | None:
    """Paths that `gh api` and `glab api` get: of the host's own interface, or an address of another host.

    None for what is read by a plain GET of the host that one is logged in to.

    Source: gh 2.102, `gh api --help`.
    """
    return "may change something, or lie on another host" if text.strip("/") == "graphql" or "://" in text else None


def gh_repository(text: str) -> str | None:
    """Repositories as gh and glab take them: OWNER/REPO, or with a host before them.

    None for a repository of the host that one is logged in to.

    Source: gh 2.102, `gh help reference`, "-R, --repo [HOST/]OWNER/REPO".
    """
    return None if _OWNER_AND_NAME.fullmatch(text) else "may lie on another host"


def kube_resource(text: str) -> str | None:
    """Kinds that `kubectl get` and `kubectl describe` show: everything but secrets.

    None if it names no secrets.
    """
    kinds = (part.partition("/")[0].partition(".")[0].lower() for part in text.split(","))
    return "prints what is secret" if any(kind in {"secret", "secrets"} for kind in kinds) else None


def local_url(text: str) -> str | None:
    """What curl fetches: an address of this machine, by http or https.

    None for an address of this machine.

    Source: curl(1), "URL": other schemes read files (`file:`) or speak other protocols, and braces stand for several addresses.
    """
    return None if _LOCAL_URL.fullmatch(text) else "may lead to another machine, or to a file"
