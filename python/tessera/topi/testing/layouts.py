"""Tensors of one layout as those of another."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

SPACE = {1: "W", 2: "HW", 3: "DHW"}


def parts_of(layout: str) -> list[tuple[str, int | None]]:
    """[("N", None), ("C", None), ("c", 8)] of "NC8c"."""
    return [(letter, int(size) if size else None) for size, letter in re.findall(r"(\d*)([A-Za-z])", layout)]


def spatial_axes(layout: str) -> list[int]:
    """Where D, H and W stand, in that order."""
    letters = [letter for letter, _ in parts_of(layout)]
    return [letters.index(letter) for letter in "DHW" if letter in letters]


def to_plain(x: np.ndarray, layout: str, plain: str) -> np.ndarray:
    """`x` with one dimension for each letter of `plain`, split dimensions merged."""
    letters = [letter for letter, _ in parts_of(layout)]
    order: list[int] = []
    shape = []
    for primal in plain:
        axes = [i for i, letter in enumerate(letters) if letter == primal]
        axes += [i for i, letter in enumerate(letters) if letter == primal.lower()]
        order += axes
        shape.append(int(np.prod([x.shape[i] for i in axes])))
    return x.transpose(order).reshape(shape)


def from_plain(x: np.ndarray, plain: str, layout: str) -> np.ndarray:
    """The way back; extents that a split does not divide are padded with zeros."""
    parts = parts_of(layout)
    sizes = {letter.upper(): size for letter, size in parts if size}
    x = np.pad(x, [(0, -n % sizes.get(letter, 1)) for letter, n in zip(plain, x.shape)])
    shape: list[int] = []
    names: list[str] = []
    for letter, extent in zip(plain, x.shape):
        if letter in sizes:
            shape += [extent // sizes[letter], sizes[letter]]
            names += [letter, letter.lower()]
        else:
            shape.append(extent)
            names.append(letter)
    return x.reshape(shape).transpose([names.index(letter) for letter, _ in parts])


def per_axis(value: Any, count: int) -> list[int]:
    """One number for each of `count` axes, of one number or a list."""
    values = [int(v) for v in value] if hasattr(value, "__len__") else [int(value)]
    return values * count if len(values) == 1 else values
