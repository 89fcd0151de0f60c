"""`complete_document`: adds the errors that all routes share to the OpenAPI document."""

from typing import Any

from fastapi import FastAPI

from toolcharter_service.http.problems import PROBLEM_CONTENT, Problem

BEFORE_ROUTES = {
    400: "A header, the path or the body cannot be read.",
    403: "The host is not served, the origin is not allowed, or the principal may not do this.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The body is of another type.",
    431: "A header is too long.",
}
"""The errors that the middleware may return before a request reaches any route."""
_FIRST_ERROR = 400


def complete_document(app: FastAPI) -> None:
    """Add the errors that all routes share to the document of *app*, and remove FastAPI's own, which are never sent."""
    made = app.openapi
    schema = Problem.model_json_schema()

    def openapi() -> dict[str, Any]:
        document = made()
        schemas = document["components"]["schemas"]
        for methods in document["paths"].values():
            for operation in methods.values():
                _complete(operation["responses"])
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        document["components"]["schemas"] = dict(sorted({**schemas, Problem.__name__: schema}.items()))
        return document

    vars(app)["openapi"] = openapi


def _complete(responses: dict[str, Any]) -> None:
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]  # This service answers 400.
    for status, text in BEFORE_ROUTES.items():
        responses.setdefault(str(status), {"description": text, "content": PROBLEM_CONTENT})
    for code, response in responses.items():
        content = response.get("content", {}).values()
        if int(code) >= _FIRST_ERROR and [*content] == [*PROBLEM_CONTENT.values()]:
            response["content"] = PROBLEM_CONTENT  # Also for a route that returns a page.
