"""Small grey pictures in a terminal: half blocks in shades of grey, else shaded blocks, else letters."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

import numpy as np

COLOUR, BLOCKS, LETTERS = "colour", "blocks", "letters"
_SHADES = {BLOCKS: " ░▒▓█", LETTERS: " .:-=+*#%@"}


def style_of(stream: TextIO | None = None) -> str:
    """What a stream can show. Colour is for terminals, and not where NO_COLOR is set."""
    stream = stream or sys.stdout
    try:
        "▀█".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeError, LookupError):
        return LETTERS
    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    return COLOUR if stream.isatty() and not is_plain else BLOCKS


def picture(levels: np.ndarray, style: str) -> list[str]:
    """Lines of 16 columns for a picture of (8, 8) levels from 0 to 1."""
    levels = np.clip(np.asarray(levels, "float64"), 0, 1)
    if style == COLOUR:
        pixels = _enlarged(_enlarged(levels).T).T
        return [_half_blocks(top, bottom) for top, bottom in zip(pixels[::2], pixels[1::2])]
    shades = _SHADES[style]
    return ["".join(shades[round(level * (len(shades) - 1))] * 2 for level in row) for row in levels]


def side_by_side(pictures: Sequence[list[str]], captions: Sequence[str], per_row: int = 5) -> str:
    """Pictures of 16 columns in rows, each with a caption under it."""
    out: list[str] = []
    for start in range(0, len(pictures), per_row):
        row = pictures[start : start + per_row]
        out += ["  " + "  ".join(lines) for lines in zip(*row)]
        out += ["  " + "  ".join(f"{text:^16}" for text in captions[start : start + per_row]).rstrip(), ""]
    return "\n".join(out)


def _enlarged(levels: np.ndarray) -> np.ndarray:
    """Twice as many rows, those between by linear interpolation."""
    rows = len(levels)
    at = np.clip((np.arange(2 * rows) + 0.5) / 2 - 0.5, 0, rows - 1)
    below = np.minimum(at.astype(int) + 1, rows - 1)
    part = (at - at.astype(int))[:, None]
    return levels[at.astype(int)] * (1 - part) + levels[below] * part


def _half_blocks(top: np.ndarray, bottom: np.ndarray) -> str:
    """Two rows of pixels as one line: the upper half of a cell has the text's colour, the lower the background's."""
    grey = [(232 + round(t * 23), 232 + round(b * 23)) for t, b in zip(top, bottom)]
    return "".join(f"\x1b[38;5;{t};48;5;{b}m▀" for t, b in grey) + "\x1b[0m"
