"""The tool `image`: makes a picture from a prompt, as a file in the workspace."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict
from urllib.parse import quote

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_media import providers
from toolcharter_media.kinds import parse_picture
from toolcharter_media.policy import ImagePolicy, MediaReason, PictureProvider
from toolcharter_media.providers import Failure, ProviderProtocol, Request
from toolcharter_media.spending import SessionBudget

TOOL = "image"
_BASE64 = 4 / 3
Ratio = Literal["1:1", "3:4", "4:3", "9:16", "16:9"]


class ImageData(TypedDict):
    """The structured result."""

    path: str
    provider: str
    model: str
    mime_type: str
    bytes: int
    width: int
    height: int
    cost: float
    failed: list[Failure]
    """The providers that were asked before and failed, with the reasons."""


def build(workspace: Path, policy: ImagePolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Make the tool for one policy."""

    def image(prompt: str, aspect_ratio: Ratio = "1:1") -> str:
        """Generate an image: make a file in the workspace, whose path follows `MEDIA:` in the result.

        Args:
            prompt: What the image should show.
            aspect_ratio: Width to height; a provider without such a size uses the nearest.
        """
        ctx = rt.start(TOOL, aspect_ratio=aspect_ratio)
        order = providers.order_providers(policy.providers, "")
        providers.require_text(prompt, policy)
        budget, name = SessionBudget(rt, TOOL, policy), providers.new_file_name(policy, TOOL)
        budget.require_left(min(one.price(len(prompt)) for one in order))
        providers.require_writable(rt, name, "png")
        ctx.policy_passed()
        budget.charge_call()
        request = partial(_request, prompt, aspect_ratio)
        protocol = ProviderProtocol(partial(providers.post_json, rt, policy, request), _content, parse_picture)
        made = providers.ask_in_order(rt, policy, budget, order, len(prompt), protocol)
        path = providers.write_file(rt, name, made.kind.suffix, made.content)
        data = ImageData(
            path=path,
            provider=made.provider.name,
            model=made.provider.model or made.provider.known.model,
            mime_type=made.kind.mime_type,
            bytes=len(made.content),
            width=made.kind.width,
            height=made.kind.height,
            cost=made.cost,
            failed=made.failures,
        )
        return ctx.ok(_result_text(data), data=data)

    return image


def _request(prompt: str, ratio: Ratio, provider: PictureProvider, key: str) -> Request:
    """Make the request to the provider.

    Source: OpenAI, "Create image"; Gemini API, "Image generation", `generateContent`; OpenRouter, "Image generation".
    """
    model = provider.model or provider.known.model
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    if provider.name == "gemini":
        settings = {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": ratio}}
        body = {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "generationConfig": settings}
        path = f"/models/{quote(model, safe='')}:generateContent"
        return Request(path, body, {"x-goog-api-key": key} if key else {}, _BASE64)
    if provider.name == "openrouter":
        said = [{"role": "user", "content": prompt}]
        wanted = {"modalities": ["image", "text"], "image_config": {"aspect_ratio": ratio}}
        return Request("/chat/completions", {"model": model, "messages": said, **wanted}, bearer, _BASE64)
    given = {"model": model, "prompt": prompt, "n": 1, "size": _size(ratio, model)}
    if model.startswith("dall-e"):  # other models always answer so, and reject the parameter
        given["response_format"] = "b64_json"
    return Request("/images/generations", given, bearer, _BASE64)


def _size(ratio: Ratio, model: str) -> str:
    """Return the nearest size that OpenAI's models offer."""
    long = 1792 if model.startswith("dall-e-3") else 1536
    width, height = (int(side) for side in ratio.split(":"))
    return "1024x1024" if width == height else f"{long}x1024" if width > height else f"1024x{long}"


def _content(provider: PictureProvider, body: bytes) -> bytes:
    answer: Any = json.loads(body)
    if provider.name == "gemini":
        parts = answer["candidates"][0]["content"]["parts"]
        pictures = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
        return providers.decode_base64(pictures[0])
    if provider.name == "openrouter":
        url: str = answer["choices"][0]["message"]["images"][0]["image_url"]["url"]
        head, _, data = url.partition(";base64,")
        if not head.startswith("data:image/"):
            raise ValueError("no data URL")
        return providers.decode_base64(data)
    return providers.decode_base64(answer["data"][0]["b64_json"])


def _result_text(data: ImageData) -> str:
    text = f"Made a picture with {data['provider']}: {data['width']} x {data['height']} pixels, {data['bytes']} bytes."
    others = f"\nOther providers failed before: {providers.format_failures(data['failed'])}." if data["failed"] else ""
    return f"{text}{others}\n{providers.format_media_line(data['path'])}"


SPEC = ToolSpec(
    TOOL,
    ImagePolicy,
    build,
    reasons=MediaReason,
    capabilities={"fs:write", "net:write"},
    safety="medium",
    staged=True,
    isolate=True,  # as in `tts`
    group="media",
    output=ImageData,
)
