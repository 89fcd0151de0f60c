"""A name that both processes know."""

OWN = "chromium.invalid"
"""Where Chromium is sent with what it asks for of its own accord; leads nowhere. Source: RFC 6761, section 6.4."""
