"""A host name that both the tools' process and the browser's process use."""

BLOCKED_HOST = "chromium.invalid"
"""The host for Chromium's own requests; it does not exist. Source: RFC 6761, section 6.4."""
