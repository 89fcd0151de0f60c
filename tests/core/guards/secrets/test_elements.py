"""Values in elements, cells and bold letters: what XML, HTML, Markdown and dumps put between a key and its value."""

import hashlib

import pytest
from tests.rows import each_row

from toolcharter.guards.secrets import MASK, scrub_text
from toolcharter.guards.secrets.stream import Stream

VALUE = "hunter" + "22x!" + hashlib.sha256(b"elements").hexdigest()[:12]


def streamed(text: str) -> str:
    """*text* line by line through a stream."""
    stream = Stream()
    pieces = [stream.feed(line) for line in text.encode().splitlines(keepends=True)]
    return (b"".join(pieces) + stream.finish()).decode()


@each_row(
    "text",
    [
        pytest.param('<Password Encrypted="false" xml:lang="en">{}</Password>', id="attributes"),
        pytest.param('<wsse:Password Type="http://x#PasswordText">{}</wsse:Password>', id="soap"),
        pytest.param("<Password>\n  <Value>{}</Value>\n</Password>", id="value-below"),
        pytest.param("<password><![CDATA[{}]]></password>", id="cdata"),
        pytest.param('<string name="api_key" translatable="false">{}</string>', id="android"),
        pytest.param('<data name="ApiSecret" xml:space="preserve"><value>{}</value></data>', id="resx"),
        pytest.param("<key>password</key>\n<string>{}</string>\n", id="plist"),
        pytest.param('<input type="hidden" name="api_key" id="k" value="{}">', id="field"),
        pytest.param('<meta name="api-key" content="{}">', id="meta"),
        pytest.param("<dt>Password</dt><dd>{}</dd>", id="definition"),
        pytest.param("<tr><td>Password</td>\n<td><code>{}</code></td></tr>", id="cells"),
        pytest.param("<b>Password:</b> {}<br>", id="bold"),
        pytest.param("- **Password:** {}\n- **User:** ann\n", id="markdown"),
        pytest.param("**Password**: {}\n", id="markdown-outside"),
        pytest.param('  ["password"]=>\n  string(14) "{}"\n', id="php"),
        pytest.param(".dockerconfigjson: {}\n", id="registry"),
    ],
)
def test_value_of_an_element_is_masked(text: str) -> None:
    """With attributes, in an element of its own, in the next cell, behind bold letters."""
    assert scrub_text(text.format(VALUE)) == (text.format(MASK), 1)
    assert streamed(text.format(VALUE)) == text.format(MASK)


@each_row(
    "text",
    [
        '<xs:element name="password" type="xs:string" minOccurs="1"/>',
        '<Password required="true">String</Password>',
        "<th>Token</th><th>Created 2024</th>",
        "<td>API key</td><td>Create-new-key2</td>",
        "<key>token</key>\n<string>$(TOKEN)</string>",
        '<data name="ErrorPassword" xml:space="preserve"><value>The password needs 8 characters.</value></data>',
        '<input type="password" name="password" placeholder="Password" class="input-lg2">',
        "**Password:** at least 12 characters",
        "* **password** (string) - The password to use",
    ],
)
def test_elements_without_a_secret_stay(text: str) -> None:
    """Types, labels, sentences."""
    assert scrub_text(text) == (text, 0)


@each_row(
    "text",
    [
        pytest.param("export STRIPE_KEY='{}'\nSENTRY_AUTH_TOKEN=\"{}\"\nNODE_ENV=production\n", id="quoted"),
        pytest.param("API_KEY={}\nOTHER_KEY=\nA=1\n", id="empty"),
        pytest.param("api_key = '{}'\naccess_token='{}'\n", id="small"),
        pytest.param(
            '  + variables = {{\n      + "API_TOKEN" = "{}"\n      + "STAGE"     = "prod"\n    }}\n', id="plan"
        ),
        pytest.param('+  "token": "{}"\n+  "name": "x"\n', id="diff"),
        pytest.param("redirect=https%3A%2F%2Fx%3Faccess_token%3D{}%26state%3D1", id="parameter"),
        pytest.param("Set `DB_PASSWORD` to `{}` and restart.", id="sentence"),
    ],
)
def test_what_follows_a_secret_stays(text: str) -> None:
    """The name that the next line assigns is no more of it, nor is the next member of a plan, or the next parameter."""
    value = hashlib.sha256(b"next").hexdigest()[:32] + "G7k"

    assert scrub_text(text.replace("{}", value).replace("{{", "{").replace("}}", "}"))[0] == (
        text.replace("{}", MASK).replace("{{", "{").replace("}}", "}")
    )
