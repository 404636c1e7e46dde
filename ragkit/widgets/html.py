"""Small pieces of HTML that read well on light and dark pages; all text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from ragkit.plot.style import COLOURS

#: One style sheet for all panels: inherited colours, translucent tints, nothing that assumes a white page.
#: The doubled class outweighs the table styles of Jupyter and nbconvert, which align and stretch cells.
#: Boxes to tick have their own name for a tooltip, so what lies under them is pointed at.
CSS = """<style>
.rk-panel{font-size:13px;line-height:1.4;white-space:normal;color:var(--jp-ui-font-color1,inherit)}
.rk-table.rk-table{border-collapse:collapse;table-layout:auto;font-variant-numeric:tabular-nums;width:100%}
.rk-table.rk-table th,.rk-table.rk-table td{padding:3px 6px;text-align:left;vertical-align:top;border:0;
background:transparent}
.rk-table.rk-table thead th{border-bottom:1px solid currentColor;font-weight:600;vertical-align:bottom;
line-height:1.2}
.rk-table.rk-table .doc{min-width:12em;width:100%;overflow-wrap:anywhere}
.rk-table.rk-table tbody tr{background:transparent}
.rk-table.rk-table tbody tr:nth-child(even){background:rgba(127,127,127,.09)}
.rk-table.rk-table .num{text-align:right;white-space:nowrap}
.rk-table.rk-table .id{opacity:.75;font-size:12px}
.rk-table.rk-table .title{font-weight:600}
.rk-table.rk-table mark{background:rgba(230,159,0,.38);color:inherit;font-weight:600;border-radius:2px;
padding:0 1px}
.rk-table.rk-table th.num{text-align:right;white-space:normal}
.rk-panel:has(>.rk-wide){container-type:inline-size}
@container (max-width:640px){.rk-table.rk-wide{font-size:11px}
.rk-wide.rk-wide th,.rk-wide.rk-wide td{padding:2px}}
.rk-foot{display:flex;flex-wrap:wrap;gap:2px 10px;align-items:center;margin-top:2px}
.rk-bars{display:flex;width:140px;height:12px;background:rgba(127,127,127,.15)}
.rk-bars span{display:block;height:12px}
.rk-key{display:inline-block;width:10px;height:10px;margin:0 4px 0 8px;vertical-align:-1px}
.rk-error{border-left:4px solid #D55E00;padding:4px 8px;background:rgba(213,94,0,.14)}
.rk-warning{border-left:4px solid #E69F00;padding:4px 8px;background:rgba(230,159,0,.14)}
.rk-muted{opacity:.7}
.rk-gone{opacity:.75;font-size:12px;white-space:normal;overflow-wrap:anywhere;max-width:100%;margin-top:4px}
.rk-panel abbr{text-decoration:underline dotted;cursor:help}
.rk-exact.rk-exact{align-items:center}
.rk-exact.rk-exact>.widget-label{width:0;height:0;line-height:0;margin:0;font-size:0}
.rk-exact input{font-variant-numeric:tabular-nums;padding-left:6px;padding-right:4px}
.rk-tip .widget-checkbox input,.rk-tip .widget-checkbox span{pointer-events:none}
.rk-plot{max-width:100%;height:auto;display:block}
.rk-plot text{fill:currentColor}
.rk-code{overflow:auto;max-height:24em;padding:8px;margin:4px 0;background:rgba(127,127,127,.12);
font-family:var(--jp-code-font-family,monospace);font-size:12px;white-space:pre;user-select:text}
.rk-title{font-weight:600;margin:0}
</style>"""

#: Fills of the ledger bars: a pattern beside each colour, so that colour is never alone.
FILLS = (
    COLOURS[0],
    f"repeating-linear-gradient(45deg,{COLOURS[1]} 0 4px,#f7cf7a 4px 6px)",
    f"repeating-linear-gradient(90deg,{COLOURS[2]} 0 3px,#8fd8c3 3px 5px)",
    f"repeating-linear-gradient(-45deg,{COLOURS[3]} 0 3px,#f0b48a 3px 5px)",
    f"repeating-linear-gradient(0deg,{COLOURS[4]} 0 3px,#ecd0e0 3px 5px)",
    f"repeating-linear-gradient(45deg,{COLOURS[5]} 0 3px,#bfe2f7 3px 5px)",
    f"repeating-linear-gradient(90deg,{COLOURS[6]} 0 3px,#cbb68f 3px 5px)",
    f"repeating-linear-gradient(-45deg,{COLOURS[7]} 0 3px,#999999 3px 5px)",
)


def wrap(body: str, css: bool = False) -> str:
    """Put `body` into a panel's block.

    Parameters
    ----------
    body : str
        HTML.
    css : bool, default=False
        Whether to bring the style sheet along; one view of a panel does.

    Returns
    -------
    str
        HTML.
    """
    return f'{CSS if css else ""}<div class="rk-panel">{body}</div>'


def line(text: str, kind: str = "", role: str = "status") -> str:
    """Make one line of plain text that screen readers announce.

    Parameters
    ----------
    text : str
        Plain text, escaped here.
    kind : {"", "error", "warning", "muted"}, default=""
        How it looks.
    role : {"status", "alert"}, default="status"
        How urgently it is read aloud.

    Returns
    -------
    str
        HTML, empty for an empty text.
    """
    style = f' class="rk-{kind}"' if kind else ""
    return wrap(f'<div role="{role}"{style}>{escape(text)}</div>') if text else ""


def table(frame: pd.DataFrame, *, digits: int = 3, caption: str = "", once: Sequence[str] = ()) -> str:
    """Turn a small frame into a table; numbers stand right, text is escaped.

    Parameters
    ----------
    frame : DataFrame
        What to show, without its index.
    digits : int, default=3
        Decimals of floats.
    caption : str, default=""
        Names the table for screen readers.
    once : sequence of str
        Columns that belong together: where a row has in all of them what the row above has, they are blank.

    Returns
    -------
    str
        HTML.
    """
    again = frame[list(once)].eq(frame[list(once)].shift()).all(axis=1) if once else [False] * len(frame)
    blank = [name in once for name in frame.columns]
    numbers = {n for n in frame.columns if _holds_numbers(frame[n])}
    head = "".join(header(str(name), name in numbers) for name in frame.columns)
    rows = (
        f"<tr>{''.join('<td></td>' if same and b else cell(v, digits) for v, b in zip(row, blank))}</tr>"
        for row, same in zip(frame.itertuples(index=False), again)
    )
    return rows_table(head, rows, len(frame.columns), caption)


def _holds_numbers(column: pd.Series) -> bool:
    """Whether all that is there is a number, whatever the column's dtype."""
    if pd.api.types.is_numeric_dtype(column):
        return not pd.api.types.is_bool_dtype(column)
    there = column.dropna()
    return bool(len(there)) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in there)


def header(name: str, right: bool = False) -> str:
    """Make the head of a column; that of numbers stands right, as they do.

    Parameters
    ----------
    name : str
        The column.
    right : bool, default=False
        Whether it holds numbers.

    Returns
    -------
    str
        HTML.
    """
    return f'<th scope="col"{" class=num" if right else ""}>{escape(name)}</th>'


def rows_table(head: str, rows: Iterable[str], width: int, caption: str = "") -> str:
    """Put ready-made rows into a table, or say that there are none.

    Parameters
    ----------
    head : str
        The header cells.
    rows : iterable of str
        The rows.
    width : int
        Number of columns.
    caption : str, default=""
        Names the table for screen readers.

    Returns
    -------
    str
        HTML.
    """
    body = "".join(rows) or f'<tr><td colspan="{width}" class="rk-muted">no results</td></tr>'
    label = f' aria-label="{escape(caption, quote=True)}"' if caption else ""
    wide = " rk-wide" if width > 7 else ""
    return f'<table class="rk-table{wide}"{label}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def cell(value: Any, digits: int = 3) -> str:
    """Make a table cell of one value.

    Parameters
    ----------
    value : object
        A number, a text or nothing.
    digits : int, default=3
        Decimals of floats.

    Returns
    -------
    str
        HTML.
    """
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return '<td class="num rk-muted">–</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if isinstance(value, float):
        return f'<td class="num">{number(value, digits)}</td>'
    if isinstance(value, int) or hasattr(value, "__index__"):
        return f'<td class="num">{int(value)}</td>'
    return f"<td>{escape(str(value))}</td>"


def number(value: float, digits: int = 3) -> str:
    """Write a number with fixed decimals, and never a negative zero.

    Parameters
    ----------
    value : float
        The number.
    digits : int, default=3
        Decimals.

    Returns
    -------
    str
        The text.
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def bars(parts: Mapping[str, float], full: float) -> str:
    """Draw the parts of a score as one stacked bar; the numbers are in its tooltip and its label.

    Parameters
    ----------
    parts : dict of name to float
        Contributions, drawn in this order; negative ones are named and not drawn.
    full : float
        The score that fills the bar.

    Returns
    -------
    str
        HTML.
    """
    words = ", ".join(f"{name} {value:.4f}" for name, value in parts.items())
    spans = "".join(
        f'<span style="width:{max(value, 0.0) / full * 100 if full > 0 else 0:.1f}%;'
        f'background:{FILLS[n % len(FILLS)]}"></span>'
        for n, value in enumerate(parts.values())
    )
    label = escape(words, quote=True)
    return f'<div class="rk-bars" role="img" aria-label="{label}" title="{label}">{spans}</div>'


def key(names: Sequence[str]) -> str:
    """Draw the legend of the ledger bars.

    Parameters
    ----------
    names : sequence of str
        The runs, in the order of the bars.

    Returns
    -------
    str
        HTML.
    """
    return "".join(
        f'<span class="rk-key" style="background:{FILLS[n % len(FILLS)]}"></span>{escape(str(name))}'
        for n, name in enumerate(names)
    )


def code_box(code: str) -> str:
    """Show code in a box with a button that copies it.

    Parameters
    ----------
    code : str
        Python.

    Returns
    -------
    str
        HTML.
    """
    # The kernel has no clipboard; the browser has, on pages served from this machine or over https.
    click = (
        "const t=this.parentNode.querySelector('pre').innerText;const b=this;"
        "navigator.clipboard.writeText(t)"
        ".then(()=>{b.textContent='copied'},()=>{b.textContent='select and copy'})"
    )
    return wrap(
        '<button type="button" class="rk-copy" title="Put this code on the clipboard" '
        f'onclick="{escape(click, quote=True)}">copy code</button>'
        f'<pre class="rk-code" tabindex="0" aria-label="Python code">{escape(code)}</pre>'
    )
