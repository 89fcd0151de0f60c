"""`require_public_url`: URLs that people register, such as servers, webhooks and keys, pass the network guard."""

from toolcharter import Denied, NetworkPolicy, ToolError
from toolcharter.hosts import require_public
from toolcharter_service.http.problems import HttpProblem


async def require_public_url(url: str, network: NetworkPolicy | None = None) -> str:
    """Judge a URL that somebody registers: its text, and each address that its name leads to now.

    Whoever requests it later does so through `toolcharter.hosts.open_http`, which judges it again each time.

    Args:
        url: As it was written.
        network: What may be reached; by default public addresses alone.

    Returns:
        The URL in its normal form.

    Raises:
        HttpProblem: 400, with the guard's reason, such as `private_address` or `host_not_found`.
    """
    try:
        return await require_public(url, network or NetworkPolicy())
    except (Denied, ToolError) as error:
        raise HttpProblem(400, error.message or "This URL may not be reached.", error.reason) from error
