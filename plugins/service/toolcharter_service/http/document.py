"""`complete_document`: what every route may answer, said in the OpenAPI document of each."""

from typing import Any

from fastapi import FastAPI

from toolcharter_service.http.problems import Problem

BEFORE_ROUTES = {
    400: "A header, the path or the body cannot be read.",
    403: "The host is not served, the origin is another one, or this is for others.",
    408: "The body did not come in time.",
    413: "The body is too large.",
    415: "The body is of another type.",
    431: "A header is too long.",
}
"""What a request is answered with before a route sees it, whichever that is."""
_PROBLEM = f"#/components/schemas/{Problem.__name__}"
_FIRST_ERROR = 400


def complete_document(app: FastAPI) -> None:
    """Have the document of *app* say the refusals that all routes share, and no form of errors that nobody sends."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        for methods in document["paths"].values():
            for operation in methods.values():
                _complete(operation["responses"])
        for unused in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(unused, None)
        return document

    vars(app)["openapi"] = openapi


def _complete(responses: dict[str, Any]) -> None:
    problem = {"application/json": {"schema": {"$ref": _PROBLEM}}}
    if "HTTPValidationError" in str(responses.get("422")):
        del responses["422"]  # Ours are 400.
    for status, text in BEFORE_ROUTES.items():
        responses.setdefault(str(status), {"description": text, "content": problem})
    for code, response in responses.items():
        schemas = [one.get("schema") for one in response.get("content", {}).values()]
        if int(code) >= _FIRST_ERROR and schemas == [{"$ref": _PROBLEM}]:
            response["content"] = problem  # Also of a route that answers with a page.
