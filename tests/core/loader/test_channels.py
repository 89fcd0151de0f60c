"""Channels of notifications: found by the name of an entry point, opened for a URL, and told where they are asked for."""

import pytest

from toolcharter.errors import PluginError

SECRET = "hunter" + "2"
URL = f"https://amy:{SECRET}@h/{SECRET}"
ASKED = {"wire": "p.yaml:5:3"}
OPENS = """
    class Wire:
        def __init__(self, url):
            self.url = url

        def connect(self):
            raise NotDelivered("nobody listens")

    @hookimpl
    def open_channel(url):
        return Wire(url)
"""
OF_AN_OBJECT = """
    class WirePolicy(ExtensionPolicy):
        pass

    class Wire:
        def __init__(self, workspace, policy):
            self.workspace = workspace

        @hookimpl
        def open_channel(self, url):
            self.url = url
            return self

        def connect(self):
            raise NotDelivered("nobody listens")

    @hookimpl
    def register_extensions():
        return [ExtensionSpec("wire", WirePolicy, Wire)]
"""
BOTH = f"""{OPENS}
    @hookimpl
    def check_call(call):
        return Deny("never")
"""


def test_a_channel_is_found_by_its_name(site, load) -> None:
    """Its plugin is loaded and part of the digest; each URL has a channel of its own."""
    site.extension("acme-wire", "wire", source=OPENS)
    loaded = load(channels=ASKED)

    first, second = (loaded.open_channel("wire", url, "p.yaml:5:3") for url in ("a:", "b:"))

    assert [first.url, second.url] == ["a:", "b:"]
    assert loaded.distributions == {"acme-wire": "1.0"}


def test_the_object_of_an_extension_may_open_channels(site, load, tmp_path) -> None:
    """As it may open sinks: where its settings stand in the profile."""
    site.extension("acme-wire", "wire", source=OF_AN_OBJECT)
    loaded = load(extensions=ASKED, channels=ASKED)

    built = loaded.build_extensions(tmp_path, {"wire": loaded.extension_specs["wire"].spec.policy()})

    assert loaded.with_channels(ASKED, None) is loaded
    assert dict(loaded.channels) == {}
    assert built.open_channel("wire", "a:", "").url == "a:"


def test_channels_that_a_ceiling_asks_for_later(site, index, load, tmp_path) -> None:
    """Their plugins join those that are loaded, with all their hooks; what is there already is not loaded again."""
    site.extension("acme-wire", "wire", source=BOTH)
    before = load()

    loaded = before.with_channels(ASKED, index())
    again = before.with_channels(ASKED, index())

    assert loaded.open_channel("wire", "a:", "").url == "a:"
    assert (before.distributions, loaded.distributions) == ({}, {"acme-wire": "1.0"})
    assert [check.plugin for check in loaded.build_extensions(tmp_path, {}).checks] == ["acme-wire:acme_wire"]
    assert loaded.with_channels(ASKED, index()) is loaded
    assert [check.plugin for check in again.checks] == ["acme-wire:acme_wire"]


def _message(load, **needs) -> str:
    with pytest.raises(PluginError) as raised:
        load(**needs)
    return str(raised.value)


def test_the_webhook_names_its_distribution(load) -> None:
    """With the place of the entry that asks for it."""
    assert _message(load, channels={"webhook": "p.yaml:4:5"}) == (
        "p.yaml:4:5: notify.deliver: no installed plugin provides a channel named 'webhook'.\n"
        "Install the distribution toolcharter-webhook, or write `deliver: log`."
    )


def test_a_channel_that_nobody_knows(site, load) -> None:
    """The installed names are told."""
    site.extension("acme-wire", "wire", source=OPENS)

    assert _message(load, channels={"wir": "p.yaml:4:5"}) == (
        "p.yaml:4:5: notify.deliver: no installed plugin provides a channel named 'wir'.\n"
        "Did you mean 'wire'? Installed extensions: 'wire'."
    )


def test_two_plugins_for_one_channel(site, load) -> None:
    """Nothing chooses between them."""
    site.extension("acme-wire", "wire", source=OPENS)
    site.extension("other-wire", "wire", source=OPENS)

    assert _message(load, channels=ASKED).startswith(
        "p.yaml:5:3: notify.deliver: the channel 'wire' is claimed 2 times, by acme-wire 1.0, other-wire 1.0.\n"
    )


def test_a_plugin_that_opens_no_channel(site, load) -> None:
    """A sink of the same name is no channel, and nothing takes its place."""
    site.extension("acme-wire", "wire", source="@hookimpl\ndef open_sink(url): ...\n")

    assert _message(load, channels=ASKED) == (
        "p.yaml:5:3: notify.deliver: acme_wire of acme-wire 1.0 implements no hook open_channel, "
        "so it delivers no notification.\n"
        "List 'wire' under extensions if its object does, or write `deliver: log`."
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise ValueError('no host')", "notify.url: no host.\nCorrect the URL."),
        ("raise ValueError('no host in ' + url)", "notify.url: no host in (the URL).\nCorrect the URL."),
        (
            "raise OSError(url)",
            (
                "notify.url: the hook open_channel of acme-wire 1.0 raised OSError: (the URL)\n"
                "Correct the URL, or install another version."
            ),
        ),
        (
            "return None",
            (
                "notify.deliver: the hook open_channel of acme-wire 1.0 returned NoneType, which has no connect.\n"
                "The plugin's author has to fix it."
            ),
        ),
    ],
    ids=["refuses", "quotes the URL", "raises", "no channel"],
)
def test_a_channel_that_does_not_open_stops_the_start(site, load, body: str, message: str) -> None:
    """With the place of its entry, and without the URL: it may hold a password."""
    site.extension("acme-wire", "wire", source=f"@hookimpl\ndef open_channel(url):\n    {body}\n")
    loaded = load(channels=ASKED)

    with pytest.raises(PluginError) as raised:
        loaded.open_channel("wire", URL, "p.yaml:5:3")

    assert str(raised.value) == f"p.yaml:5:3: {message}"


def test_a_channel_that_was_not_asked_for_is_not_opened(load) -> None:
    """Only the names at loading have an opener."""
    with pytest.raises(PluginError) as raised:
        load().open_channel("wire", URL, "p.yaml:5:3")

    assert str(raised.value) == (
        "p.yaml:5:3: notify.deliver: no loaded plugin opens the channel 'wire'.\n"
        "Install the plugin that has an entry point 'wire' and implements open_channel, or write `deliver: log`."
    )
