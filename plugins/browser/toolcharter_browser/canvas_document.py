"""The document of a canvas: what is presented, in a frame that reaches nothing. Pure.

The frame has no origin of its own (`sandbox` without `allow-same-origin`), so no cookies and no storage; it opens no windows,
sends no forms and cannot lead the document away. The policy lets nothing be loaded but what the document itself holds.
"""

from html import escape

SOURCES = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "media-src data:; connect-src 'none'; frame-src 'none'; worker-src 'none'; form-action 'none'; base-uri 'none'; "
    "webrtc 'block'"
)
STATIC = "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'"
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    # What only a header may say comes beside what the document says itself.
    "Content-Security-Policy": f"{SOURCES}; frame-ancestors 'none'; sandbox allow-scripts",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), usb=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_DOCUMENT = """<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{sources}">
<meta name="referrer" content="no-referrer"><title>Canvas</title>
<style>html,body,iframe{{margin:0;border:0;width:100%;height:100vh;display:block}}</style></head>
<body><iframe sandbox="{sandbox}" referrerpolicy="no-referrer" srcdoc="{content}"></iframe></body></html>"""


def document(content: str, *, is_static: bool) -> str:
    """*content*, HTML by somebody whom nobody trusts, in a document of ours; *is_static* lets no script run."""
    sandbox, sources = ("", STATIC) if is_static else ("allow-scripts", SOURCES)
    return _DOCUMENT.format(sources=escape(sources), sandbox=sandbox, content=escape(content))
