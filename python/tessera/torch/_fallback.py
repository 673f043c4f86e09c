"""What is said when a part of a model is left to PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Iterable


class RunsByPyTorch(UserWarning):
    """A graph, or a part of one, is not compiled: PyTorch runs it, with the same results."""


_MAX_REASONS = 5


def warn_of(what: str, reasons: Iterable[str]) -> None:
    """One warning with the distinct reasons, the first few of them."""
    distinct = list(dict.fromkeys(reasons))
    listed = "; ".join(distinct[:_MAX_REASONS])
    more = f"; and {len(distinct) - _MAX_REASONS} more" if len(distinct) > _MAX_REASONS else ""
    warnings.warn(f"{what} runs by PyTorch: {listed}{more}", RunsByPyTorch, stacklevel=2)
