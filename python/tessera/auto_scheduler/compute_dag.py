"""The computations that are searched."""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Any

from .._ffi.registry import get_global_func, register_object
from ..ir import Array
from ..runtime.object import Object
from ..target import Target
from ..te import Schedule, Tensor
from . import _ffi_api
from .loop_state import State, StateObject
from .utils import get_const_tuple
from .workload_registry import workload_key_to_tensors

__all__ = ["ComputeDAG", "LayoutRewriteOption", "get_shape_from_rewritten_layout"]


class LayoutRewriteOption(enum.IntEnum):
    """What becomes of constant operands (`layout_free_placeholders`): they stay as they are, a stage lays them out anew, or
    the caller gives them laid out."""

    NO_REWRITE = 0
    INSERT_TRANSFORM_STAGE = 1
    REWRITE_FOR_PRE_TRANSFORMED = 2

    @staticmethod
    def get_target_default(target: Any, in_relay_integration: bool = False) -> LayoutRewriteOption:
        """What fits a target: constants of models are laid out while compiling."""
        target = Target(target) if isinstance(target, str) else target
        device = str(target.attrs.get("device", ""))
        if target.kind.name == "llvm" or device == "mali":
            if in_relay_integration:
                return LayoutRewriteOption.REWRITE_FOR_PRE_TRANSFORMED
            return LayoutRewriteOption.INSERT_TRANSFORM_STAGE
        return LayoutRewriteOption.NO_REWRITE


def _state_object(state: Any) -> StateObject:
    return state if isinstance(state, StateObject) else state.state_object


@register_object("auto_scheduler.ComputeDAG")
class ComputeDAG(Object):
    """Operations from inputs to outputs: from tensors, a schedule, or the key of a registered workload."""

    def __init__(self, compute_or_sche: Any) -> None:
        if isinstance(compute_or_sche, str):
            compute: Any = workload_key_to_tensors(compute_or_sche)
        elif isinstance(compute_or_sche, (list, tuple, Array)):
            for item in compute_or_sche:
                if not isinstance(item, Tensor):
                    raise ValueError("The input of ComputeDAG should be a list of Tensor")
            compute = list(compute_or_sche)
        elif isinstance(compute_or_sche, Schedule):
            compute = compute_or_sche
        else:
            raise ValueError(
                "Invalid compute type: "
                + str(type(compute_or_sche))
                + ". ComputeDAG expects string, list of Tensor, or Schedule"
            )
        self.__init_handle_by_constructor__(_ffi_api.ComputeDAG, compute)

    def get_init_state(self) -> State:
        """The state without any step."""
        return State(self.init_state, self)

    def apply_steps_from_state(
        self, state: Any, layout_rewrite: int = LayoutRewriteOption.NO_REWRITE
    ) -> tuple[Any, Any]:
        """A TE schedule with the steps of a state, and the tensors of its arguments."""
        schedule, tensors = _ffi_api.ComputeDAGApplyStepsFromState(self, _state_object(state), int(layout_rewrite))
        return schedule, list(tensors)

    def print_python_code_from_state(self, state: Any) -> str:
        """The same as a program in Python."""
        return str(_ffi_api.ComputeDAGPrintPythonCodeFromState(self, _state_object(state)))

    def infer_bound_from_state(self, state: Any) -> State:
        """The state with the range of each loop."""
        updated = State(_ffi_api.ComputeDAGInferBoundFromState(self, _state_object(state)), self)
        if isinstance(state, State):  # operations from before a cache go on naming their stages
            updated.stage_id_map = {**state.stage_id_map, **updated.stage_id_map}
        return updated

    def rewrite_layout_from_state(self, state: Any) -> State:
        """The state over placeholders that are laid out as its loops read them."""
        return State(_ffi_api.ComputeDAGRewriteLayoutFromState(self, _state_object(state)), self)

    def workload_key(self) -> str:
        """The operations by a hash, and the shapes of the tensors."""
        text = str(_ffi_api.ComputeDAGPrintDAG(self, True))
        hash_func = get_global_func("auto_scheduler.compute_dag.hash_func", allow_missing=True)
        if hash_func is None:
            key = hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()
        else:
            key = hash_func(text)
        return json.dumps([key] + [list(get_const_tuple(tensor.shape)) for tensor in self.tensors])

    def __str__(self) -> str:
        return str(_ffi_api.ComputeDAGPrintDAG(self, False))

    __repr__ = __str__

    def __getstate__(self) -> dict[str, Any]:
        raise TypeError("a ComputeDAG is not pickled; keep its workload key, or the function that makes its tensors")


def get_shape_from_rewritten_layout(rewritten_layout: str, axis_names: list[str]) -> list[int]:
    """The extent of each axis by a layout text, "16n4c" for n of 16 and c of 4; parts of one axis are multiplied."""
    shape = _ffi_api.GetShapeFromRewrittenLayout(rewritten_layout, list(axis_names))
    return [int(extent) for extent in shape]
