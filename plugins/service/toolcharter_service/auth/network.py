"""`require_public_url`: checks URLs that people register, such as servers and webhooks, against the network guard."""

from toolcharter import Denied, NetworkPolicy, ToolError
from toolcharter.hosts import require_public
from toolcharter_service.http.problems import HttpProblem


async def require_public_url(url: str, network: NetworkPolicy | None = None) -> str:
    """Check a URL that a person registers: its text, and each address that its host name resolves to now.

    Later requests to it have to use `toolcharter.hosts.open_http`, which checks it again each time.

    Args:
        url: As the person wrote it.
        network: The network policy; by default only public addresses may be reached.

    Returns:
        The normalised URL.

    Raises:
        HttpProblem: 400, with the guard's reason, such as `private_address` or `host_not_found`.
    """
    try:
        return await require_public(url, network or NetworkPolicy())
    except (Denied, ToolError) as error:
        raise HttpProblem(400, error.message or "This URL may not be reached.", error.reason) from error
