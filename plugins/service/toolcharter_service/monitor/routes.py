"""The routes of the monitor: pages, their live parts, and their forms."""

import json
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from toolcharter_service.auth import Principal
from toolcharter_service.auth.dependency import authenticate
from toolcharter_service.auth.sessions import CSRF_FIELD, cookie_of, csrf_token
from toolcharter_service.http.problems import HttpProblem
from toolcharter_service.monitor.api import Answer, Api
from toolcharter_service.monitor.pages import BY_NAME, page_values, pretty, visible_pages
from toolcharter_service.service import Service

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TYPES = {"htmx.min.js": "text/javascript", "style.css": "text/css"}
Person = Annotated[Principal, Depends(authenticate)]


def routes(service: Service) -> APIRouter:
    """Return the routes below `/monitor`."""
    router, part = APIRouter(tags=["monitor"], include_in_schema=False), _Monitor(service)
    router.add_api_route("/favicon.ico", part.icon, methods=["GET"])
    router.add_api_route("/monitor", part.first, methods=["GET"])
    router.add_api_route("/monitor/static/{name}", part.static, methods=["GET"])
    router.add_api_route("/monitor/{page}", part.page, methods=["GET"])
    router.add_api_route("/monitor/{page}/live", part.live, methods=["GET"])
    router.add_api_route("/monitor/{page}/{act}", part.act, methods=["POST"])
    return router


class _Monitor:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._templates = Environment(
            loader=PackageLoader("toolcharter_service.monitor"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        static = files("toolcharter_service.monitor").joinpath("static")
        self._static = {name: static.joinpath(name).read_bytes() for name in _TYPES}

    async def first(self, request: Request) -> Response:
        """Redirect to the first page that the user may see, or to the login page."""
        try:
            pages = visible_pages(await authenticate(request))
        except HttpProblem:
            return RedirectResponse("/login?next=/monitor", 303)
        return RedirectResponse(f"/monitor/{pages[0].name}" if pages else "/login?failed=no_access", 303)

    async def icon(self) -> Response:
        """Answer the browser's request for an icon: there is none."""
        return Response(status_code=204)

    async def static(self, name: str) -> Response:
        """Return the style sheet or the script. Both are part of this distribution."""
        if name not in self._static:
            raise HttpProblem(404, "There is no such file.", "not_found")
        return Response(self._static[name], media_type=_TYPES[name], headers={"X-Content-Type-Options": "nosniff"})

    async def page(self, page: str, request: Request) -> Response:
        """Show one page."""
        return await self._render(page, request, "page.html")

    async def live(self, page: str, request: Request) -> Response:
        """Show the part of a page that the browser fetches repeatedly."""
        if page not in _LIVE:
            raise HttpProblem(404, "There is no such part.", "not_found")
        return await self._render(page, request, f"{page}_live.html")

    async def act(self, page: str, act: str, request: Request) -> Response:
        """Perform the action of a form, and show the page again with the result."""
        work = _ACTS.get((page, act))
        if work is None:
            raise HttpProblem(404, "There is no such form.", "not_found")
        await authenticate(request)  # A form of another site gets an error, not the login page.
        form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
        try:
            answer = await work(Api(request, form), form)
        except (ValueError, KeyError) as error:
            said, shown, answer = f"The form is not complete: {error}.", "", Answer(400, None)
        else:
            said = answer.problem or _DONE_MESSAGES.get((page, act), "Done.")
            shown = pretty(answer.data) if (page, act) in _SHOWS_RESULT and answer.data is not None else ""
        return await self._render(
            page, request, "page.html", said=said, shown=shown, failed=not answer.ok, status=200 if answer.ok else 400
        )

    async def _render(
        self,
        page: str,
        request: Request,
        template: str,
        *,
        said: str = "",
        shown: str = "",
        failed: bool = False,
        status: int = 200,
    ) -> Response:
        try:
            principal = await authenticate(request)
        except HttpProblem:
            return RedirectResponse(f"/login?next=/monitor/{quote(page, safe='')}", 303)
        pages = visible_pages(principal)
        if page not in BY_NAME or BY_NAME[page] not in pages:
            raise HttpProblem(404, "There is no such page.", "not_found")
        cookie = cookie_of(request.cookies) if principal.means == "session" else ""
        values = await page_values(page, Api(request), request.query_params)
        text = self._templates.get_template(template).render(
            page=BY_NAME[page],
            pages=pages,
            principal=principal,
            may=principal.has,
            csrf_field=CSRF_FIELD,
            csrf_token=csrf_token(cookie) if cookie else "",
            said=said,
            shown=shown,
            failed=failed,
            is_dev=self._service.dev,
            **values,
        )
        return HTMLResponse(text, status, HEADERS)


_LIVE = {"calls", "approvals", "workers"}
Act = Callable[[Api, Mapping[str, str]], Awaitable[Answer]]


async def _invoke_tool(api: Api, form: Mapping[str, str]) -> Answer:
    return await api(
        "POST", "/api/v1/tools/{}/invoke", _parse_object(form.get("arguments", "")), segments=(form["tool"],)
    )


async def _delete_tool(api: Api, form: Mapping[str, str]) -> Answer:
    return await api("DELETE", "/api/v1/tools/{}", segments=(form["tool"],))


async def _answer_approval(api: Api, form: Mapping[str, str]) -> Answer:
    body = {"answer": form["answer"], "digest": form["digest"], "message": form.get("message") or None}
    return await api("POST", "/v1/approvals/{}", body, segments=(form["approval"],))


async def _put_grant(api: Api, form: Mapping[str, str]) -> Answer:
    body: dict[str, Any] = {"tool_deny": _split_words(form.get("tool_deny", ""))}
    if form.get("tool_allow", "").strip():
        body["tool_allow"] = _split_words(form["tool_allow"])
    return await api(
        "PUT", "/v1/mcp/servers/{}/grants/{}/{}", body, segments=(form["server"], form["scope"], form["subject"])
    )


async def _delete_grant(api: Api, form: Mapping[str, str]) -> Answer:
    return await api(
        "DELETE", "/v1/mcp/servers/{}/grants/{}/{}", segments=(form["server"], form["scope"], form["subject"])
    )


async def _review_request(api: Api, form: Mapping[str, str]) -> Answer:
    body = {"approved": form["approved"] == "yes", "note": form.get("note", "")}
    return await api("POST", "/v1/mcp/requests/{}/review", body, segments=(form["request"],))


async def _create_token(api: Api, form: Mapping[str, str]) -> Answer:
    body: dict[str, Any] = {"name": form["name"], "roles": [form["role"]], "days": int(form.get("days") or 30)}
    if form.get("agents", "").strip():
        body["agents"] = _split_words(form["agents"])
    if form.get("user", "").strip():
        body["user"] = form["user"].strip()
    return await api("POST", "/v1/tokens", body)


async def _revoke_token(api: Api, form: Mapping[str, str]) -> Answer:
    return await api("DELETE", "/v1/tokens/{}", segments=(form["token"],))


_ACTS: Mapping[tuple[str, str], Act] = {
    ("tools", "invoke"): _invoke_tool,
    ("tools", "delete"): _delete_tool,
    ("approvals", "answer"): _answer_approval,
    ("grants", "grant"): _put_grant,
    ("grants", "take-back"): _delete_grant,
    ("grants", "review"): _review_request,
    ("tokens", "create"): _create_token,
    ("tokens", "revoke"): _revoke_token,
}
_SHOWS_RESULT = {("tools", "invoke"), ("tokens", "create")}
_DONE_MESSAGES = {
    ("tools", "invoke"): "The tool answers:",
    ("tools", "delete"): "The tool is deleted.",
    ("approvals", "answer"): "The answer is saved.",
    ("tokens", "create"): "The token is only shown now:",
    ("tokens", "revoke"): "The token is revoked.",
}


def _parse_object(text: str) -> dict[str, Any]:
    value = json.loads(text or "{}")
    if not isinstance(value, dict):
        raise ValueError("the arguments are no JSON object")  # noqa: TRY004 - what a form holds is a value
    return value


def _split_words(text: str) -> list[str]:
    return text.replace(",", " ").split()
