"""The document of a canvas: its content in a frame that cannot reach the network. Pure.

The frame has an opaque origin (`sandbox` without `allow-same-origin`), so it has no cookies and no storage. It cannot
open windows, send forms or navigate the document. The content security policy permits only resources inside the
document.
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
    # The header repeats the document's policy and adds the directives that only a header may have.
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
    """Wrap *content*, untrusted HTML, in a document with a sandboxed frame; with *is_static*, no script can run."""
    sandbox, sources = ("", STATIC) if is_static else ("allow-scripts", SOURCES)
    return _DOCUMENT.format(sources=escape(sources), sandbox=sandbox, content=escape(content))
