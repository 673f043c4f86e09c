"""Parameters for networks that have none yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ir as _ir
from ..._ffi.registry import get_global_func
from ...runtime import ndarray as _nd

__all__ = ["Constant", "Initializer", "Xavier", "create_workload"]


class Initializer:
    """Fills arrays by the names of the parameters they are for."""

    def __call__(self, desc: str, arr: np.ndarray) -> None:
        """Fills `arr`, the array of the parameter named `desc`."""
        for ending, fill in (
            ("weight", self._init_weight),
            ("bias", self._init_bias),
            ("gamma", self._init_gamma),
            ("beta", self._init_beta),
            ("mean", self._init_mean),
            ("var", self._init_var),
        ):
            if desc.endswith(ending):
                fill(desc, arr)
                return
        self._init_default(desc, arr)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        raise NotImplementedError("Must override it")

    def _init_bias(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 0.0

    def _init_gamma(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 1.0

    def _init_beta(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 0.0

    def _init_mean(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 0.0

    def _init_var(self, _: str, arr: np.ndarray) -> None:
        arr[:] = 1.0

    def _init_default(self, name: str, _: np.ndarray) -> None:
        raise ValueError(
            f"Unknown initialization pattern for {name}. Default initialization is limited to "
            '"weight", "bias", "gamma" (1.0), and "beta" (0.0).'
        )


class Constant(Initializer):
    """The same value for every weight."""

    def __init__(self, value: float = 0.0):
        self.value = value

    def _init_weight(self, _: str, arr: np.ndarray) -> None:
        arr[:] = self.value


class Xavier(Initializer):
    """Weights whose spread keeps the size of the values that pass through (Glorot and Bengio, 2010)."""

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3):
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: np.ndarray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D tensors")
        scale = float(np.prod(shape[2:])) if len(shape) > 2 else 1.0
        inputs, outputs = shape[1] * scale, shape[0] * scale
        factors = {"avg": (inputs + outputs) / 2.0, "in": inputs, "out": outputs}
        if self.factor_type not in factors:
            raise ValueError("Incorrect factor type")
        spread = np.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            arr[:] = np.random.uniform(-spread, spread, size=shape)
        else:
            raise ValueError("Unknown random type")


def create_workload(net: Any, initializer: Initializer | None = None, seed: int = 0) -> tuple[_ir.IRModule, Any]:
    """A module of a network, and an array for each of its parameters but "data"."""
    mod = get_global_func("relay._transform.InferType")()(_ir.IRModule.from_expr(net))
    initializer = initializer if initializer is not None else Xavier()
    np.random.seed(seed)
    params = {}
    for param in mod["main"].params:
        if param.name_hint == "data":
            continue
        annotation = param.type_annotation
        array = np.zeros(annotation.concrete_shape, dtype=annotation.dtype)
        initializer(param.name_hint, array)
        params[param.name_hint] = _nd.array(array)
    return mod, params
