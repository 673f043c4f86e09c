"""Ratios of models or operators as bars, in one HTML file with an SVG for each family and number of threads."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

COLOURS = ["#2b6cb0", "#dd6b20", "#805ad5", "#38a169", "#718096"]
BAR, GAP, HEIGHT, LEFT, BELOW = 14, 18, 260, 44, 110  # pixels
HIGHEST = 2.0  # of the axis; longer bars are cut and carry their number


def bars(rows: Sequence[dict[str, Any]], peers: Sequence[str], names: Mapping[str, str], title: str) -> str:
    """One group of bars a model, one bar a peer: the peer's time over ours."""
    group = BAR * len(peers) + GAP
    width = LEFT + group * len(rows) + GAP
    parts = [f'<svg width="{width}" height="{HEIGHT + BELOW + 30}" font-family="sans-serif" font-size="11">']
    parts.append(f'<text x="{LEFT}" y="14" font-size="14">{html.escape(title)}</text>')

    def y_of(ratio: float) -> float:
        return 30 + HEIGHT * (1 - min(ratio, HIGHEST) / HIGHEST)

    for step in range(5):
        ratio = HIGHEST * step / 4
        colour = "#c53030" if ratio == 1 else "#e2e8f0"
        parts.append(f'<line x1="{LEFT}" x2="{width}" y1="{y_of(ratio)}" y2="{y_of(ratio)}" stroke="{colour}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y_of(ratio) + 4}" text-anchor="end">{ratio:.1f}</text>')
    for i, row in enumerate(rows):
        left = LEFT + GAP / 2 + i * group
        for j, peer in enumerate(peers):
            if peer not in row["seconds"]:
                continue
            ratio = row["seconds"][peer] / row["seconds"]["tessera"]
            top, x = y_of(ratio), left + j * BAR
            parts.append(
                f'<rect x="{x}" y="{top}" width="{BAR - 2}" height="{30 + HEIGHT - top}" fill="{COLOURS[j]}">'
                f"<title>{html.escape(row['model'])}: {ratio:.2f} of {html.escape(names[peer])}</title></rect>"
            )
            parts.append(
                f'<text x="{x + BAR / 2 - 1}" y="{top - 3}" font-size="8" text-anchor="middle">{ratio:.2f}</text>'
            )
        x, y = left + (group - GAP) / 2, 30 + HEIGHT + 12
        parts.append(
            f'<text x="{x}" y="{y}" text-anchor="end" transform="rotate(-40 {x} {y})">{html.escape(row["model"])}</text>'
        )
    for j, peer in enumerate(peers):
        x, y = LEFT + 140 * j, HEIGHT + BELOW + 20
        parts.append(f'<rect x="{x}" y="{y - 10}" width="10" height="10" fill="{COLOURS[j]}"/>')
        parts.append(f'<text x="{x + 14}" y="{y}">{html.escape(names[peer])}</text>')
    return "\n".join([*parts, "</svg>"])


def write_chart(path: Path, results: Sequence[dict[str, Any]], names: Mapping[str, str]) -> None:
    """`results` as bench/models.py and bench/ops.py have them; `names` of the peers by their keys."""
    charts = []
    groups = dict.fromkeys((row["threads"], row.get("family", "")) for row in results)
    for threads, family in sorted(groups, key=lambda group: group[0]):
        rows = [row for row in results if row["threads"] == threads and row.get("family", "") == family]
        peers = [peer for peer in names if any(peer in row["seconds"] for row in rows)]
        title = f"{threads} thread{'s' * (threads > 1)}: speed of Tessera relative to each (above 1: faster)"
        title = f"{family}, {title}" if family else title
        charts.append(bars(rows, peers, names, title))
    body = "\n<hr>\n".join(charts)
    path.write_text(f'<!doctype html>\n<meta charset="utf-8">\n<title>Speed</title>\n{body}\n')
