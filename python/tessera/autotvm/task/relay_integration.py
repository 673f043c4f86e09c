"""Tasks of models: the calls that v0.10's templates compute."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from ...ir import IRModule, Op
from ...ir.transform import PassContext
from ...target import Target
from .task import Task, args_to_workload, create, serialize_args
from .workloads import Workload, workloads_of_call

__all__ = ["extract_from_multiple_program", "extract_from_program"]

logger = logging.getLogger("autotvm")


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

    `ops` are the operators that are wanted; all where it is None. Calls that no template computes (other layouts or types, dynamic
    extents) give no task: the built-in rules schedule them.
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
    wanted = _wanted(ops)
    for mod, given in zip(mods, params):
        for call in calls_of(_prepared(mod, given)):
            if wanted is not None and getattr(call.op, "name", None) not in wanted:
                continue
            for name, args in workloads_of_call(call, target):
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
