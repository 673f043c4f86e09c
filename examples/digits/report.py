"""The report of the demo as one HTML file, without scripts or anything from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Sequence

import numpy as np

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }}
table {{ border-collapse: collapse; margin: 1em 0; }}
td, th {{ padding: .2em 1em .2em 0; text-align: left; vertical-align: top; border-bottom: 1px solid #ddd; }}
figure {{ display: inline-block; margin: 0 .7em .7em 0; text-align: center; }}
figure.wrong {{ color: #b00; }}
pre {{ background: #f6f6f6; padding: 1em; overflow-x: auto; font-size: 13px; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def page(title: str, parts: Sequence[str]) -> str:
    """The whole file."""
    return _PAGE.format(title=html.escape(title), body="\n".join(parts))


def heading(text: str) -> str:
    return f"<h2>{html.escape(text)}</h2>"


def paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def table(rows: Sequence[tuple[str, str]]) -> str:
    """Two columns: what, and how much."""
    return (
        "<table>"
        + "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        + "</table>"
    )


def figure(levels: np.ndarray, caption: str, is_right: bool = True) -> str:
    """A picture of levels from 0 to 1 as SVG, 9 points a pixel."""
    rows, columns = levels.shape
    cells = "".join(
        f'<rect x="{x}" y="{y}" width="1.02" height="1.02" fill-opacity="{levels[y, x]:.3f}"/>'
        for y, x in zip(*np.nonzero(levels))
    )
    picture = (
        f'<svg width="{columns * 9}" height="{rows * 9}" viewBox="0 0 {columns} {rows}" style="border:1px solid #ddd">'
        f"{cells}</svg>"
    )
    kind = "" if is_right else ' class="wrong"'
    return f"<figure{kind}>{picture}<figcaption>{html.escape(caption)}</figcaption></figure>"
