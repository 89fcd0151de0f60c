"""The scrubber: one fixed mask for every secret, in front of every result and event.

Known are the tokens of 150 providers by their shape (`tables`), values beside a telling key (`password`,
`api_key`, `Authorization`), credentials in URLs and cookies, blocks of private keys, and the values that the
environment or a store holds; all of them also in base64, percent-encoded, or with characters between that are not
seen. Source code is left alone where a value's shape shows a name, a call, a type or a place to fill in. Not covered:
a secret in another encoding, or without shape, key and place.
"""

from toolcharter.guards.secrets.engine import hints as hints
from toolcharter.guards.secrets.engine import remember as remember
from toolcharter.guards.secrets.text import MASK as MASK
from toolcharter.guards.secrets.text import scrub_bytes as scrub_bytes
from toolcharter.guards.secrets.text import scrub_line as scrub_line
from toolcharter.guards.secrets.text import scrub_text as scrub_text
from toolcharter.guards.secrets.values import scrub_json as scrub_json
from toolcharter.guards.secrets.values import scrub_value as scrub_value
