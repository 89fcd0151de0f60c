"""The scrubber: replaces every secret by one fixed mask, in every result and event.

It recognises the tokens of 150 providers by their shape (`tables`), values beside a telling key, which is a key that
names a secret (`password`, `api_key`, `Authorization`), credentials in URLs and cookies, blocks of private keys, and
the secret values of the environment or a store. It also finds them in base64, percent-encoded, or with invisible
characters in between. A value that looks like a name, a call, a type or a placeholder, as in source code, is not
masked. Not covered: a secret in another encoding, or one without a known shape, key or place.
"""

from toolcharter.guards.secrets.engine import add_secrets as add_secrets
from toolcharter.guards.secrets.engine import hints as hints
from toolcharter.guards.secrets.text import MASK as MASK
from toolcharter.guards.secrets.text import scrub_bytes as scrub_bytes
from toolcharter.guards.secrets.text import scrub_line as scrub_line
from toolcharter.guards.secrets.text import scrub_text as scrub_text
from toolcharter.guards.secrets.values import scrub_json as scrub_json
from toolcharter.guards.secrets.values import scrub_value as scrub_value
