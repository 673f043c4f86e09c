"""Operators that PyTorch computes inside a model, whose runtime is not there."""

from __future__ import annotations

from typing import Any

__all__ = ["torchop"]


def torchop(script_fn: Any, *params: Any) -> Any:
    """Says that a compiled model cannot call PyTorch."""
    del script_fn, params
    raise NotImplementedError(
        "a compiled model cannot call PyTorch; import the function with the model, or register one of Python's with relay.op.register"
    )
