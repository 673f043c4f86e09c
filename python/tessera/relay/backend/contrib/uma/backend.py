"""The base class of UMA backends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ....._ffi.registry import get_global_func
from .....ir import IRModule
from .api.codegen import UMACodegen
from .api.lower import UMALower
from .api.partitioner import UMAPartitioner
from .api.utils import PassPhase

__all__ = ["UMABackend"]


class UMABackend(ABC):
    """An accelerator: what it takes, how it changes graphs and loops, and what C is written for it."""

    def __init__(self, merge_compiler_regions: bool = True) -> None:
        self._target_attrs: dict[str, str | bool | int] = {}
        self._relay_to_relay = UMAPartitioner(self.target_name, merge_compiler_regions)
        self._relay_to_tir = UMALower(self.target_name)
        self._tir_to_runtime = UMACodegen(self.target_name)

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The name of the target, and of the code generator."""

    def _register_target_attr(self, name: str, default: str | bool | int | None = "") -> None:
        """An option of the target, of the type of its default."""
        self._target_attrs[name] = "" if default is None else default

    def _register_relay_pass(self, phase: PassPhase, relay_pass: Any) -> None:
        """A pass over the graph, before or after it is partitioned."""
        self._relay_to_relay._relay_passes.append((phase, relay_pass))

    def _register_pattern(self, name: str, pattern: Any, predicate: Callable[..., bool] | None = None) -> None:
        """A pattern of operators that the accelerator takes."""
        self._relay_to_relay.add_pattern(name, pattern, predicate)

    def _register_operator_strategy(self, op: str, strategy: Any, plevel: int | None = 11) -> None:
        """How an operator is computed in functions for the accelerator."""
        self._relay_to_tir._operator_strategies.append((op, strategy, plevel))

    def _register_tir_pass(self, phase: PassPhase, tir_pass: Any) -> None:
        """A pass over loops, after a phase of lowering."""
        self._relay_to_tir._tir_passes.append((phase, tir_pass))

    def _register_codegen(self, fmt: str = "c", **kwargs: Any) -> None:
        """Has C written for the accelerator; `includes()` gives what stands in front of it."""
        self._tir_to_runtime._register_codegen(fmt, **kwargs)

    def register(self) -> None:
        """Makes the target, its patterns, its lowering and its code generator known."""
        registration = get_global_func("relay.backend.contrib.uma.RegisterTarget")
        registration(self.target_name, self._target_attrs)
        self._relay_to_relay.register()
        self._relay_to_tir.register()
        self._tir_to_runtime.register()

    def partition(self, mod: IRModule, params: dict[str, Any] | None = None) -> IRModule:
        """The module with what the accelerator takes in functions of their own."""
        return self._relay_to_relay.partition(mod, params)
