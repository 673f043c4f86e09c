"""Tasks of models: the calls that v0.10's templates for CPUs compute."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...ir import IRModule, Op
from ...ir.transform import PassContext
from ...target import Target
from .task import Task, args_to_workload, create, serialize_args

__all__ = ["extract_from_multiple_program", "extract_from_program", "workloads_of_call"]

logger = logging.getLogger("autotvm")

Workload = tuple[str, tuple[Any, ...]]


def _tensor(type_: Any) -> tuple[str, tuple[int, ...], str]:
    shape = tuple(int(extent) for extent in type_.shape)  # a dynamic one is no int
    return ("TENSOR", shape, str(type_.dtype))


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in values)


def _pads(values: Any) -> tuple[int, ...]:
    pads = _ints(values)
    return pads * 4 if len(pads) == 1 else pads * 2 if len(pads) == 2 else pads


def _conv2d(call: Any, data: Any, weight: Any, out: Any) -> list[Workload]:
    attrs = call.attrs
    layout, groups = str(attrs.data_layout), int(attrs.groups)
    if layout != "NCHW" or str(attrs.kernel_layout) != "OIHW" or data[2] != "float32":
        return []
    common = (_ints(attrs.strides), _pads(attrs.padding), _ints(attrs.dilation))
    out_layout = str(attrs.out_layout) or layout
    args = (data, weight, *common, layout, out_layout, out[2])
    if groups == 1:
        return [("conv2d_NCHWc.x86", args)]
    is_depthwise = groups == data[1][1] == weight[1][0] and weight[1][1] == 1
    return [("depthwise_conv2d_NCHWc.x86", args)] if is_depthwise else []


def _dense(call: Any, data: Any, weight: Any, out: Any) -> list[Workload]:
    del call
    if len(data[1]) != 2 or len(weight[1]) != 2:
        return []
    args = (data, weight, None, out[2])
    return [("dense_nopack.x86", args), ("dense_pack.x86", args)]


def _batch_matmul(call: Any, a: Any, b: Any, out: Any) -> list[Workload]:
    flags = bool(call.attrs.transpose_a), bool(call.attrs.transpose_b)
    return [("batch_matmul.x86", (a, b, out[1], out[2], *flags))]


_BY_OP: dict[str, Callable[..., list[Workload]]] = {
    "nn.conv2d": _conv2d,
    "nn.dense": _dense,
    "nn.batch_matmul": _batch_matmul,
}


def workloads_of_call(call: Any) -> list[Workload]:
    """Names of templates and their arguments for a typed call of an operator; none where no template computes it."""
    make = _BY_OP.get(call.op.name) if isinstance(call.op, Op) else None
    if make is None:
        return []
    try:
        a, b = (_tensor(arg.checked_type) for arg in call.args[:2])
        return make(call, a, b, _tensor(call.checked_type))
    except (TypeError, ValueError, AttributeError):  # dynamic extents
        return []


def _prepared(mod: Any, params: Any) -> IRModule:
    """The model with its constants, before layouts are chosen."""
    from ... import relay

    mod = mod if isinstance(mod, IRModule) else IRModule.from_expr(mod)
    if params:
        mod = IRModule(dict(mod.functions.items()), mod.type_definitions)
        mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    transform: Any = relay.transform
    passes = [
        transform.InferType(),
        transform.SimplifyInference(),
        transform.CanonicalizeOps(),
        transform.FoldConstant(),
        transform.InferType(),
    ]
    with PassContext(opt_level=3):
        for each in passes:
            mod = each(mod)
    return mod


def calls_of(mod: IRModule) -> Iterator[Any]:
    """All calls of operators, in the order in which they are computed."""
    from ... import relay

    found: list[Any] = []
    for function in mod.functions.values():
        if isinstance(function, relay.Function):
            relay.analysis.post_order_visit(
                function, lambda node: found.append(node) if isinstance(node, relay.Call) else None
            )
    return iter(found)


def _wanted(ops: Any) -> set[str] | None:
    if ops is None:
        return None
    return {op.name if isinstance(op, Op) else str(op) for op in (ops if isinstance(ops, Iterable) else [ops])}


def extract_from_program(mod: Any, params: Any, target: Any, target_host: Any = None, ops: Any = None) -> list[Task]:
    """The tasks of a model, each once, in the order of their first calls.

    `ops` are the operators that are wanted; all where it is None. Calls that no template computes (other layouts, other types than
    float32 of convolutions, dynamic extents) give no task: the built-in rules schedule them.
    """
    return extract_from_multiple_program([mod], [params], target, target_host, ops)


def extract_from_multiple_program(
    mods: Any, params: Any, target: Any, target_host: Any = None, ops: Any = None
) -> list[Task]:
    """The tasks of several models, each once."""
    from .topi_integration import TaskExtractEnv

    target, target_host = Target.canon_target_and_host(target, target_host)
    env = TaskExtractEnv.get()
    env.reset(None)
    model_of: dict[Workload, tuple[Any, Any]] = {}
    if target.kind.name == "llvm":
        wanted = _wanted(ops)
        for mod, given in zip(mods, params):
            for call in calls_of(_prepared(mod, given)):
                if wanted is not None and getattr(call.op, "name", None) not in wanted:
                    continue
                for name, args in workloads_of_call(call):
                    env.add_task(name, args)
                    model_of.setdefault(args_to_workload(args, name), (mod, given))
    out: list[Task] = []
    for name, args in env.get_tasks():
        try:
            task = create(name, args=args, target=target, target_host=target_host)
            task._model = model_of.get(task.workload)
            out.append(task)
        except (RuntimeError, ValueError, TypeError) as error:
            logger.warning("no task of %s: %s", args_to_workload(serialize_args(args), name), error)
    return out
