"""The tool `message`: sends a file to the current chat, or a message to another chat."""

from collections.abc import Callable, Mapping
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any, NamedTuple, TypedDict

from toolcharter import (
    Ask,
    Call,
    Caller,
    ChannelUrl,
    Denied,
    Message,
    NotDelivered,
    Sender,
    ToolError,
    ToolRuntime,
    ToolSpec,
    scrub_text,
)
from toolcharter_messages.media import MessageParts, read_media, split_media
from toolcharter_messages.policy import Action, ChannelPolicy, MessagePolicy, MessageReason

MAX_REASON = 500


class MessageData(TypedDict):
    """How a message was delivered."""

    status: str
    """`sent`, or `handed_over` if the host delivers the files with the reply."""
    channel: str
    target: str
    media: list[str]


class Route(NamedTuple):
    """Where a message goes."""

    channel: str
    target: str
    channel_policy: ChannelPolicy | None
    """None if the policy has no such channel: then only the host can deliver, with the reply to the current chat."""
    is_own: bool


def resolve_route(policy: MessagePolicy, caller: Caller, channel: str, target: str) -> Route:
    """Return the route of a message for *channel* and *target*, by default to the current chat.

    Raises:
        ToolError: `no_chat`.
    """
    channel, target = channel or caller.channel or "", target or caller.chat or ""
    if not channel or not target:
        raise ToolError("There is no current chat: name `channel` and `target`.", reason=MessageReason.NO_CHAT)
    is_own = (channel, target) == (caller.channel, caller.chat)
    return Route(channel, target, policy.channels.get(channel), is_own)


def build(_workspace: Path, policy: MessagePolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make the tool for one policy."""
    paths = rt.paths.narrowed(protected=policy.protected)

    def message(
        action: Action,
        message: str,
        channel: str = "",
        target: str = "",
        forward: bool = False,  # noqa: FBT001, FBT002 - passed by name
        forward_reason: str = "",
    ) -> str:
        """Send a file to the current chat, or a message to another chat.

        Text for the current chat is your reply: just write it.

        Args:
            action: send.
            message: The text. `MEDIA:path` sends a file of the workspace with it; quote a path with blanks.
            channel: The channel; by default the current channel.
            target: The chat in the channel; by default the current chat.
            forward: True only if the user asked for a message to another chat.
            forward_reason: The user's words that ask for it.
        """
        ctx = rt.start("message", action=action)
        route, parts = resolve_route(policy, rt.caller, channel, target), split_media(message)
        _require_deliverable(route, parts, policy)
        if not route.is_own:
            _require_forward_allowed(route, forward=forward, reason=forward_reason)
        media = read_media(paths, parts.paths, policy)
        ctx.policy_passed()
        named = list(parts.paths)
        data = MessageData(status="sent", channel=route.channel, target=route.target, media=named)
        if route.channel_policy is None:
            data["status"] = "handed_over"
            told = "\n".join(f"MEDIA:{path}" for path in named)
            return ctx.ok("The files are delivered with your reply.", user_text=told, data=data)
        text, _ = scrub_text(parts.text)
        item = Message(route.target, text, _fields(rt.caller, forward_reason), f"{ctx.call_id}-{token_hex(6)}", media)
        try:
            _deliver(rt, route.channel_policy, item)
        except NotDelivered as error:
            return ctx.error(f"It was not delivered: {error}", reason=MessageReason.NOT_DELIVERED, retryable=True)
        said = f"Sent to {route.channel} {route.target}."
        return ctx.ok(said, user_text=None if route.is_own else f"{said} {forward_reason}", data=data)

    return message


def _require_deliverable(route: Route, parts: MessageParts, policy: MessagePolicy) -> None:
    if route.is_own and parts.text:
        what = "You answer this chat already: write the text in your reply. Only MEDIA:path can be sent here."
        raise ToolError(what, reason=MessageReason.TEXT_IS_THE_REPLY)
    if not parts.text and not parts.paths:
        raise ToolError("The message is empty.", reason=MessageReason.NOTHING_TO_SEND)
    if len(parts.text) > policy.max_chars:
        what = f"The text has {len(parts.text)} characters; {policy.max_chars} are allowed."
        raise ToolError(what, reason=MessageReason.MESSAGE_TOO_LONG)


def _require_forward_allowed(route: Route, *, forward: bool, reason: str) -> None:
    """Refuse a message to another chat that the policy does not allow, or that the user has not asked for.

    Raises:
        Denied: `channel_not_allowed`, `target_not_allowed`, `forward_needed`.
    """
    if route.channel_policy is None:
        raise Denied(MessageReason.CHANNEL_NOT_ALLOWED, "The profile does not name this channel.")
    if not route.channel_policy.allows_target(route.target):
        raise Denied(MessageReason.TARGET_NOT_ALLOWED, "The profile does not allow messages to this chat.")
    if not forward or not reason.strip() or len(reason) > MAX_REASON:
        hint = "If the user asked for it, say forward=true and quote their words in forward_reason."
        raise Denied(MessageReason.FORWARD_NEEDED, "The message is for another chat than the current one.", hint=hint)


def _fields(caller: Caller, reason: str) -> Mapping[str, Any]:
    known = {"agent": caller.agent, "user": caller.user, "session": caller.session, "reason": scrub_text(reason)[0]}
    return {name: value for name, value in known.items() if value}


def _deliver(rt: ToolRuntime, channel_policy: ChannelPolicy, item: Message) -> None:
    """Deliver *item* before the deadline of the call.

    Raises:
        NotDelivered: The channel did not deliver it.
    """

    def pause(seconds: float) -> bool:
        if monotonic() + seconds >= rt.deadline:
            return True
        sleep(seconds)
        return False

    sender: Sender[Message] = rt.channel(ChannelUrl(channel_policy.deliver, channel_policy.url))
    try:
        sender.send(item, pause)
    finally:
        sender.close()


def asks(policy: MessagePolicy, call: Call) -> Ask | None:
    """Ask a person about a message to another chat, unless the policy waives it."""
    try:
        route = resolve_route(policy, call.caller, call.args.get("channel") or "", call.args.get("target") or "")
    except ToolError:
        return None  # the tool itself reports the error
    if route.is_own or (
        route.channel_policy is not None
        and route.channel_policy.unattended
        and route.channel_policy.allows_target(route.target)
    ):
        return None
    return Ask(MessageReason.ANOTHER_CHAT, f"A message to {route.target!r} on {route.channel!r}.")


SPEC = ToolSpec(
    "message",
    MessagePolicy,
    build,
    reasons=MessageReason,
    capabilities={"send": {"fs:read", "message:send"}},
    safety="high",
    staged=True,
    isolate=True,  # a server may be slow, and must not block asynchronous callers
    group="messaging",
    output=MessageData,
    asks=asks,
)
