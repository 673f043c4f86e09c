"""Records of AutoTVM for models: configurations of v0.10's templates as plans of the schedule rules.

A configuration of a template says what a plan of a rule says in other words: tile_ow is the columns of a tile, tile_oc its vectors,
tile_k a step. So a record of a convolution decides about the kernel that holds it, with all that is fused into it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..._ffi.registry import get_global_func
from .dispatcher import ApplyGraphBest, ApplyHistoryBest, DispatchContext
from .task import args_to_workload
from .workloads import workloads_of_call

__all__ = ["PlannedKernel", "context_with_records", "planned_kernels", "plans_of_context"]

logger = logging.getLogger("autotvm")

_BLOCKS = re.compile(r"(\d+)([a-z])")


def context_with_records() -> Any:
    """The innermost context that holds records; None where there is none."""
    context = DispatchContext.current
    while context is not None:
        if isinstance(context, ApplyGraphBest):
            return context
        if isinstance(context, ApplyHistoryBest) and (context.best_by_targetkey or context._best_user_defined):
            return context
        context = context._old_ctx
    return None


def _without_blocks(shape: Any, layout: str) -> tuple[str, tuple[int, ...]]:
    """A layout such as NCHW16c, and the shape in it, without their blocks."""
    extents = [int(extent) for extent in shape]
    for count, axis in _BLOCKS.findall(layout):
        primal = re.sub(r"\d+", "", layout)
        extents[primal.index(axis.upper())] *= int(count)
    plain = re.sub(r"\d+[a-z]", "", layout)
    return plain, tuple(extents[: len(plain)])


def _conv2d_workload(call: Any) -> list[tuple[str, Any]]:
    attrs = call.attrs
    data, weight = (arg.checked_type for arg in call.args[:2])
    layout, shape = _without_blocks(data.shape, str(attrs.data_layout))
    kernel_layout, kernel = _without_blocks(weight.shape, str(attrs.kernel_layout))
    if layout != "NCHW" or kernel_layout != "OIHW":
        return []
    name = "conv2d_NCHWc.x86" if int(attrs.groups) == 1 else "depthwise_conv2d_NCHWc.x86"
    args = (
        ("TENSOR", shape, str(data.dtype)),
        ("TENSOR", kernel, str(weight.dtype)),
        tuple(int(each) for each in attrs.strides),
        tuple(int(each) for each in attrs.padding),
        tuple(int(each) for each in attrs.dilation),
        "NCHW",
        "NCHW",
        str(call.checked_type.dtype),
    )
    return [(name, args)]


def _workloads(primitive: Any) -> list[tuple[str, Any]]:
    """Those of the calls inside a kernel."""
    from ... import relay

    out: list[tuple[str, Any]] = []

    def visit(node: Any) -> None:
        if not isinstance(node, relay.Call) or not hasattr(node.op, "name"):
            return
        try:
            is_conv = node.op.name in ("nn.conv2d", "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc")
            out.extend(_conv2d_workload(node) if is_conv else workloads_of_call(node))
        except (TypeError, ValueError, AttributeError):  # dynamic extents, another layout
            return

    relay.analysis.post_order_visit(primitive.body, visit)
    return out


def _value(config: Any, name: str) -> Any:
    entity = config[name]
    return entity.size[-1] if hasattr(entity, "size") else entity.val


def _moves(name: str, config: Any, rule: str, lanes: int) -> dict[str, int]:
    """Knobs of the rule that the configuration decides."""
    if rule == "contraction" and name.endswith("conv2d_NCHWc.x86"):
        out = {"columns": int(_value(config, "tile_ow"))}
        if not name.startswith("depthwise"):
            out["vectors"] = max(1, int(_value(config, "tile_oc")) // lanes)
        return out
    if rule == "matmul" and name in ("dense_pack.x86", "batch_matmul.x86"):
        out = {"rows": int(_value(config, "tile_y")), "step": int(_value(config, "tile_k"))}
        return out if out["step"] >= lanes else {"rows": out["rows"]}
    if rule == "dot" and name == "dense_nopack.x86":
        return {"rows": int(_value(config, "tile_y")), "columns": int(_value(config, "tile_x"))}
    return {}


def _plans(decisions: Any, name: str, config: Any, lanes: int) -> list[Any] | None:
    """The rules' plans with what the configuration says; None where it says nothing."""
    out, is_moved = [], False
    for alternatives in decisions:
        rule, knobs = str(alternatives[0][0]), {str(key): int(value) for key, value in alternatives[0][1].items()}
        moves = {knob: value for knob, value in _moves(name, config, rule, lanes).items() if knob in knobs}
        is_moved = is_moved or bool(moves)
        out.append([rule, {**knobs, **moves}])
    return out if is_moved else None


class PlannedKernel(NamedTuple):
    """A kernel of a model, the task whose record is about it, and the plans that this record means."""

    primitive: Any
    task: tuple[Any, ...]
    plans: list[Any]


def plans_of_context(mod: Any, params: Any, target: Any, context: Any) -> dict[str, list[Any]]:
    """Plans by workload, as PassContext's `kernel.records` takes them, for the kernels of a model that records are about."""
    return {key: kernel.plans for key, kernel in planned_kernels(mod, params, target, context._query_inside).items()}


def planned_kernels(mod: Any, params: Any, target: Any, query: Callable[[Any, Any], Any]) -> dict[str, PlannedKernel]:
    """The kernels of a model that records are about, by workload; `query(target, task's workload)` gives a configuration or None.

    A record that does not fit its kernel is told in the log, and the rule plans that kernel.
    """
    from ... import nd

    tensors = {
        name: value if isinstance(value, nd.NDArray) else nd.array(value) for name, value in (params or {}).items()
    }
    out: dict[str, PlannedKernel] = {}
    for workload, kernel, primitive, decisions, lanes in get_global_func("tune.ModelKernels")(mod, tensors, target):
        for name, args in _workloads(primitive):
            task = args_to_workload(args, name)
            config = query(target, task)
            if config is None or config.is_fallback:
                continue
            plans = _plans(decisions, name, config, int(lanes))
            why = "no rule of the kernel has such knobs"
            if plans is not None:
                why = str(get_global_func("tune.WhyPlansDoNotFit")(primitive, target, plans))
            if not why and plans is not None:
                out[str(workload)] = PlannedKernel(primitive, task, plans)
                break
            logger.info("the record of %s does not fit the kernel %s: %s", name, kernel, why)
    return out
