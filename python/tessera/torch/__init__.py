"""PyTorch's compiler with Tessera behind it: ``torch.compile(model, backend="tessera")``.

Importing this module registers the backend; where the package is installed, PyTorch finds it by its entry point and nothing
needs to be imported. Options are given as `torch.compile(..., options={...})`; `Options` lists them.
"""

from __future__ import annotations

try:
    import torch as _torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "tessera.torch needs PyTorch 2.4 or later, which is not installed: pip install torch", name="torch"
    ) from None

from ._backend import Options, backend, register
from ._fallback import RunsByPyTorch

__all__ = ["Options", "RunsByPyTorch", "backend"]

register()
