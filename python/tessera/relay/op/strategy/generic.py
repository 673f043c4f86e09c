"""The strategies and schedules that differ by target, by name."""

from __future__ import annotations

from typing import Any, Callable

from ...._ffi.base import _RUNTIME_ONLY
from ....target import generic_func
from ....target.generic_func import get_native_generic_func, native_function
from ....te import Schedule

# Operators and models are compiled by strategies of these names; the default of each is the operator's own compute.
_STRATEGIES = [
    "all_class_nms",
    "argsort",
    "argwhere",
    "batch_matmul",
    "batch_norm",
    "bitserial_conv2d",
    "bitserial_dense",
    "concatenate",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_NCHWc",
    "conv2d_backward_weight",
    "conv2d_gemm_without_weight_transform",
    "conv2d_transpose",
    "conv2d_winograd_without_weight_transform",
    "conv3d",
    "conv3d_transpose",
    "conv3d_winograd_without_weight_transform",
    "correlation",
    "cumprod",
    "cumsum",
    "deformable_conv2d",
    "dense",
    "dense_pack",
    "depthwise_conv2d_NCHWc",
    "dilation2d",
    "einsum",
    "fast_softmax",
    "get_valid_counts",
    "invert_permutation",
    "log_softmax",
    "matmul",
    "multibox_prior",
    "multibox_transform_loc",
    "multinomial",
    "nms",
    "normal",
    "proposal",
    "roi_align",
    "scatter",
    "scatter_add",
    "scatter_nd",
    "searchsorted",
    "sliding_window",
    "softmax",
    "sort",
    "sparse_add",
    "sparse_conv2d",
    "sparse_dense",
    "sparse_dense_padded",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "stft",
    "threefry_generate",
    "threefry_split",
    "topk",
    "trilu",
    "uniform",
    "unique",
]
_SCHEDULES = [
    "adaptive_pool",
    "bitpack",
    "concatenate",
    "conv2d_gemm_weight_transform",
    "conv2d_winograd_nnpack_weight_transform",
    "conv2d_winograd_weight_transform",
    "conv3d_winograd_weight_transform",
    "injective",
    "lrn",
    "pad",
    "pool",
    "pool_grad",
    "reduce",
    "roi_pool",
    "sparse_transpose",
    "transpose",
]


def _strategy(name: str) -> Callable:
    generic = get_native_generic_func(f"{name}_strategy")

    def function_of_inputs(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        return generic.get_packed_func()(attrs, inputs, out_type, target)

    def function_of_outs(attrs: Any, outs: Any, out_type: Any, target: Any) -> Any:
        return generic.get_packed_func()(attrs, outs, out_type, target)

    function: Callable = function_of_outs if name in _TAKES_OUTS else function_of_inputs
    function.__name__ = function.__qualname__ = f"{name}_strategy"
    function.__doc__ = f"The implementations of {name} for a target, as a relay.op.OpStrategy."
    return native_function(generic, function)


def _schedule(name: str) -> Callable:
    def function(attrs: Any, outs: Any, target: Any) -> Schedule:
        from ....topi import generic

        with target:
            return generic.default_schedule_for(outs)

    function.__name__ = function.__qualname__ = f"schedule_{name}"
    function.__doc__ = f"The schedule of {name.replace('_', ' ')} and what is fused with it."
    return generic_func(function)


__all__ = ["copy_if_identical", "naive_schedule"]

#: Other names of strategies, v0.10's own spelling among them.
_ALIASES = {
    "conv2d_winograd_without_weight_transfrom": "conv2d_winograd_without_weight_transform",
    "conv3d_winograd_without_weight_transfrom": "conv3d_winograd_without_weight_transform",
    "group_conv1d": "conv1d",
}
#: Strategies whose second parameter v0.10 calls `outs`.
_TAKES_OUTS = {"scatter", "scatter_add", "sparse_fill_empty_rows", "sparse_reshape", "stft", "trilu"}


def copy_if_identical(tensor_a: Any, tensor_b: Any) -> Any:
    """The second tensor, as a copy where it is the first: a tensor program reads each input once."""
    if tensor_a != tensor_b:
        return tensor_b
    from .... import te

    return te.compute(tensor_b.shape, lambda *indices: tensor_b(*indices))


def naive_schedule(_: Any, outs: Any, target: Any) -> Schedule:
    """Plain loops; GPUs need threads, so they are rejected."""
    if "gpu" in target.keys:
        raise RuntimeError(
            "Cannot compile for GPU targets if no tuned schedule is found; a schedule has to bind threads."
        )
    from ....topi import generic

    return generic.default_schedule(outs, False)


if not _RUNTIME_ONLY:
    for _name in _STRATEGIES:
        globals()[f"{_name}_strategy"] = _strategy(_name)
    for _name in _SCHEDULES:
        globals()[f"schedule_{_name}"] = _schedule(_name)
    for _name, _target in _ALIASES.items():
        globals()[f"{_name}_strategy"] = globals()[f"{_target}_strategy"]
        __all__ += [f"{_name}_strategy"]
    __all__ += [f"{_name}_strategy" for _name in _STRATEGIES] + [f"schedule_{_name}" for _name in _SCHEDULES]
