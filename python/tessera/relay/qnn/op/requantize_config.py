"""How requantisation computes where its calls do not say so."""

from __future__ import annotations

from typing import Any, ClassVar

from tessera._ffi.registry import get_global_func

__all__ = ["RequantizeConfig", "current_requantize_config", "requantize_config"]


class RequantizeConfig:
    """While it is entered, `qnn.requantize` with rounding or compute_dtype "None" is lowered as this says.

    `rounding` of what is halfway is "UPWARD" or "TONEAREST", `compute_dtype` "int64" or "float32"; "None" leaves it to the target.
    """

    _entered: ClassVar[list[RequantizeConfig]] = []

    def __init__(self, rounding: str = "None", compute_dtype: str = "None") -> None:
        if rounding not in ("None", "UPWARD", "TONEAREST"):
            raise ValueError(f"rounding is UPWARD or TONEAREST, not {rounding!r}")
        if compute_dtype not in ("None", "int64", "float32"):
            raise ValueError(f"compute_dtype is int64 or float32, not {compute_dtype!r}")
        self.rounding = rounding
        self.compute_dtype = compute_dtype

    def __enter__(self) -> RequantizeConfig:
        get_global_func("relay.qnn.enter_requantize_config")(self.rounding, self.compute_dtype)
        self._entered.append(self)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        get_global_func("relay.qnn.exit_requantize_config")()
        self._entered.pop()


def requantize_config(rounding: str = "None", compute_dtype: str = "None") -> RequantizeConfig:
    """How `qnn.requantize` computes inside a `with`: ``with requantize_config(rounding="TONEAREST"): relay.build(...)``."""
    return RequantizeConfig(rounding, compute_dtype)


def current_requantize_config() -> RequantizeConfig:
    """The one that was entered last."""
    return RequantizeConfig._entered[-1] if RequantizeConfig._entered else RequantizeConfig()
