"""Writes the summary of event statistics as one self-contained HTML page: charts are SVG; no scripts, no links.

Everything from the events is escaped: a model can choose the name of a tool that it calls.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from toolcharter.cli import event_stats
from toolcharter.cli.output import escape_controls

WIDTH = 720
"""The width of a chart, in units of its `viewBox`."""
MOST_BARS = 12
_COLUMNS_HEIGHT = 180
_BAR_HEIGHT = 26
_LABEL_WIDTH = 220
_LONGEST_LABEL = 28
_STYLE = """
:root { color-scheme: light dark; --ok: #2f855a; --denied: #c53030; --error: #b7791f; --calls: #3182ce; --line: #8884; --soft: #777; }
@media (prefers-color-scheme: dark) { :root { --ok: #48bb78; --denied: #fc8181; --error: #ecc94b; --calls: #63b3ed; --soft: #aaa; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p.soft, figcaption, .empty { color: var(--soft); }
.numbers { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.2rem 0; }
.numbers div { border: 1px solid var(--line); border-radius: 8px; padding: .5rem 1rem; min-width: 6.5rem; }
.numbers b { display: block; font-size: 1.5rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(460px, 1fr)); gap: 1rem 2rem; }
figure { margin: 0; } svg { width: 100%; height: auto; } svg text { font: 15px system-ui, sans-serif; fill: currentColor; }
.ok { fill: var(--ok); } .denied { fill: var(--denied); } .error { fill: var(--error); } .calls { fill: var(--calls); } .axis { stroke: var(--line); }
.key span::before { content: "\\25A0 "; } .key .ok { color: var(--ok); } .key .denied { color: var(--denied); }
.key .error { color: var(--error); } .key span { margin-right: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .87rem; min-width: 50%; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } td { overflow-wrap: anywhere; }
"""
_HEADINGS = {
    "denials": "Denied calls, by reason, rule and caller",
    "approvals": "Who approved what",
    "errors": "What failed",
    "slowest": "The slowest calls",
    "tools": "Tools",
    "profiles": "Profiles",
    "callers": "Callers",
    "reasons": "Reasons",
}
"""The tables, in the order of the page."""
_LEGEND = (
    '<p class="key"><span class="ok">ok</span><span class="error">error</span><span class="denied">denied</span></p>'
)


def render_page(summary: Mapping[str, Any], files: Sequence[str], top: int) -> str:
    """Return the page as HTML.

    Args:
        summary: The value of `EventStats.summary`.
        files: The files whose events were counted.
        top: The most rows that each table shows.
    """
    when = f"{_escape(summary['first'])} to {_escape(summary['last'])}" if summary["calls"] else "no calls"
    charts = "".join(
        f"<figure><figcaption>{escape(caption)}</figcaption>{chart}</figure>"
        for caption, chart in (
            ("Calls over time", _draw_columns(summary["over_time"], _span_label)),
            ("Latency: calls by upper limit in milliseconds", _draw_columns(summary["histogram"], _border_label)),
            ("Calls by tool", _draw_bars([(row["tool"], row) for row in summary["tools"]])),
            (
                "Denials by reason",
                _draw_bars([(row["reason"], {"denied": row["count"]}) for row in summary["reasons"]]),
            ),
            ("Calls by profile", _draw_bars([(row["profile"], row) for row in summary["profiles"]])),
            ("Calls by caller", _draw_bars([(_caller_label(row), row) for row in summary["callers"]])),
        )
    )
    tables = "".join(
        f"<h2>{heading}</h2>{_render_table(summary[name], top)}" for name, heading in _HEADINGS.items() if summary[name]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width"><title>Events of toolcharter</title>'
        f"<style>{_STYLE}</style></head><body><h1>Events of toolcharter</h1>"
        f'<p class="soft">{when}; {_escape(", ".join(files))}</p>{_render_numbers(summary)}{_LEGEND}'
        f'<div class="charts">{charts}</div>{tables}</body></html>\n'
    )


def _render_numbers(summary: Mapping[str, Any]) -> str:
    outcomes, calls = summary["outcomes"], summary["calls"]
    facts = {"calls": calls, **outcomes, "secrets masked": summary["redactions"]}
    if calls:
        facts["deny rate"] = f"{outcomes.get('denied', 0) / calls:.1%}"
        facts |= {name.replace("_ms", ", ms"): value for name, value in summary["latency"].items()}
    if summary["unreadable_lines"]:
        facts["lines that are not events"] = summary["unreadable_lines"]
    return (
        '<div class="numbers">'
        + "".join(f"<div><b>{_escape(v)}</b>{_escape(k)}</div>" for k, v in facts.items())
        + "</div>"
    )


def _draw_columns(rows: Sequence[Mapping[str, Any]], label_of: Any) -> str:
    """Draw one column for each row, and *label_of* the first, the middle and the last row below them."""
    if not rows:
        return '<p class="empty">none</p>'
    parts = [_outcome_counts(row) for row in rows]
    most = max(sum(heights.values()) for heights in parts) or 1
    step = WIDTH / len(rows)
    drawn = [f'<line class="axis" x1="0" x2="{WIDTH}" y1="{_COLUMNS_HEIGHT}" y2="{_COLUMNS_HEIGHT}"/>']
    for index, heights in enumerate(parts):
        y = float(_COLUMNS_HEIGHT)
        for outcome, count in heights.items():
            height = count / most * (_COLUMNS_HEIGHT - 20)
            y -= height
            title = f"<title>{_escape(label_of(rows[index]))}: {count} {outcome}</title>"
            place = f'x="{index * step + step * 0.05:.1f}" y="{y:.1f}" width="{step * 0.9:.1f}" height="{height:.1f}"'
            drawn.append(f'<rect class="{outcome}" {place}>{title}</rect>')
    drawn.append(f'<text x="0" y="15">{most}</text>')
    for index, anchor in {0: "start", len(rows) // 2: "middle", len(rows) - 1: "end"}.items():
        x = {"start": 0.0, "middle": (index + 0.5) * step, "end": float(WIDTH)}[anchor]
        label = _escape(label_of(rows[index]))
        drawn.append(f'<text x="{x:.1f}" y="{_COLUMNS_HEIGHT + 20}" text-anchor="{anchor}">{label}</text>')
    return _svg(_COLUMNS_HEIGHT + 26, drawn)


def _draw_bars(rows: Sequence[tuple[Any, Mapping[str, Any]]]) -> str:
    """Draw one bar for each row, with its name on the left and its sum on the right."""
    if not rows:
        return '<p class="empty">none</p>'
    most = max(sum(_outcome_counts(row).values()) for _, row in rows) or 1
    drawn: list[str] = []
    for index, (name, row) in enumerate(rows[:MOST_BARS]):
        y, x, parts = index * _BAR_HEIGHT, float(_LABEL_WIDTH), _outcome_counts(row)
        label = str(name) if len(str(name)) <= _LONGEST_LABEL else str(name)[: _LONGEST_LABEL - 1] + "\u2026"
        drawn.append(f'<text x="{_LABEL_WIDTH - 8}" y="{y + 18}" text-anchor="end">{_escape(label)}</text>')
        for outcome, count in parts.items():
            width = count / most * (WIDTH - _LABEL_WIDTH - 90)
            title = f"<title>{_escape(name)}: {count} {outcome}</title>"
            place = f'x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{_BAR_HEIGHT - 6}"'
            drawn.append(f'<rect class="{outcome}" {place}>{title}</rect>')
            x += width
        drawn.append(f'<text x="{x + 6:.1f}" y="{y + 18}">{sum(parts.values())}</text>')
    return _svg(min(len(rows), MOST_BARS) * _BAR_HEIGHT, drawn)


def _svg(height: int, drawn: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img">{"".join(drawn)}</svg>'


def _outcome_counts(row: Mapping[str, Any]) -> dict[str, int]:
    """Count a row's calls by outcome, without the outcomes that no call had."""
    if "count" in row:
        return {"calls": row["count"]}
    denied, errors = row.get("denied", 0), row.get("errors", 0)
    parts = {"ok": row.get("calls", denied) - denied - errors, "error": errors, "denied": denied}
    return {outcome: count for outcome, count in parts.items() if count}


def _render_table(rows: Sequence[Mapping[str, Any]], top: int) -> str:
    columns = list(rows[0])
    numbers = {column for column in columns if isinstance(rows[0][column], int | float)}

    def cells(tag: str, values: Mapping[str, Any]) -> Iterator[str]:
        for column in columns:
            kind = ' class="number"' if column in numbers else ""
            yield f"<{tag}{kind}>{_escape(event_stats.format_cell(column, values[column]))}</{tag}>"

    head = "".join(cells("th", {column: column.replace("_", " ") for column in columns}))
    body = "".join(f"<tr>{''.join(cells('td', row))}</tr>" for row in rows[:top])
    more = f'<p class="soft">{len(rows) - top} more rows</p>' if len(rows) > top else ""
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>{more}'


def _escape(value: Any) -> str:
    return escape(escape_controls(str(value)))


def _caller_label(row: Mapping[str, Any]) -> str:
    return " for ".join(str(row[fact]) for fact in ("agent", "user") if row[fact]) or "(unnamed caller)"


def _span_label(row: Mapping[str, Any]) -> str:
    return datetime.fromisoformat(row["from"]).strftime("%m-%d %H:%M:%S")


def _border_label(row: Mapping[str, Any]) -> str:
    return f"{row['up_to_ms']:g} ms"
