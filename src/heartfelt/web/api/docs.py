"""The API's description: OpenAPI for programs, and the same as a page for people that loads nothing from other sites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from heartfelt.web.requests.state import state_of
from heartfelt.web.requests.templates import page_environment

if TYPE_CHECKING:
    from fastapi import FastAPI

_METHODS = ("get", "post", "patch", "put", "delete")
_ABOUT = (
    "Everything the dashboard can do, for programs. Send a token as 'Authorization: Bearer …'; make one in the dashboard"
    " or with 'heartfelt study token DIR --name NAME'. Errors are {problem, fix} with a fitting status."
)


def add_to(app: FastAPI) -> None:
    """Add the description and its page."""
    app.description = _ABOUT
    app.servers = [{"url": app.state.options.prefix or "/"}]
    app.root_path_in_servers = False
    app.add_route("/api/v1/openapi.json", described, methods=["GET"], include_in_schema=False)
    app.add_route("/api/v1/docs", page, methods=["GET"], include_in_schema=False)


async def described(request: Request) -> Response:
    """The OpenAPI description."""
    return JSONResponse(request.app.openapi())


async def page(request: Request) -> Response:
    """The description as a page."""
    schema = request.app.openapi()
    template = page_environment("heartfelt.web.api").get_template("docs.html")
    text = template.render(
        title=schema["info"]["title"],
        about=schema["info"]["description"],
        base=state_of(request).options.prefix,
        parts=_parts(schema),
        models=schema["components"]["schemas"],
        type_of=type_of,
    )
    return HTMLResponse(text)


def _parts(schema: Mapping[str, Any]) -> dict[str, list[dict[str, object]]]:
    out: dict[str, list[dict[str, object]]] = {}
    for path, methods in schema["paths"].items():
        for method in _METHODS:
            if method not in methods:
                continue
            route = methods[method]
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            good: Mapping[str, Any] = next(
                (r for status, r in route["responses"].items() if status.startswith("2")), {}
            )
            out.setdefault(route["tags"][0], []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "words": route.get("description") or route.get("summary", ""),
                    "parameters": route.get("parameters", []),
                    "body": None if body is None else type_of(body),
                    "gives": {kind: type_of(c.get("schema", {})) for kind, c in good.get("content", {}).items()},
                }
            )
    return out


def type_of(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(type_of(alternative) for alternative in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return " | ".join(str(value) for value in schema.get("enum", [schema.get("const")]))
    kind = str(schema.get("type", "anything"))
    if kind == "array":
        inside = schema.get("items") or {}
        return f"list of {type_of(inside)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_of(schema['additionalProperties'])}"
    return f"{kind} ({schema['format']})" if "format" in schema else kind
