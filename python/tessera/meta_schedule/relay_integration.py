"""Tasks of models."""

from __future__ import annotations

from typing import Any

from ..autotvm.measure.models import Model
from ..runtime.ndarray import NDArray, array
from ..target import Target
from .extracted_task import ExtractedTask

__all__ = ["extract_task_from_relay", "is_meta_schedule_dispatch_enabled", "is_meta_schedule_enabled"]


def extract_task_from_relay(
    mod: Any,
    target: str | Target,
    params: dict[str, Any] | None = None,
    *,
    opt_level: int = 3,
    pass_config: dict[str, Any] | None = None,
    disabled_pass: list[str] | None = None,
    tir_converter: str = "default",
) -> list[ExtractedTask]:
    """The fused functions of a model, each once, with how often it occurs."""
    from .. import relay
    from ..ir import IRModule
    from ..ir.transform import PassContext
    from . import _ffi_api

    if tir_converter not in ("default", "allow_extern"):
        raise ValueError(f'tir_converter is "default" or "allow_extern", not "{tir_converter}"')
    if isinstance(mod, relay.Function):
        mod = IRModule.from_expr(mod)
    if not isinstance(target, Target):
        target = Target(target)
    config = {"relay.backend.use_meta_schedule": True} if pass_config is None else dict(pass_config)
    bound = {name: value if isinstance(value, NDArray) else array(value) for name, value in (params or {}).items()}
    with target, PassContext(opt_level=opt_level, config=config, disabled_pass=disabled_pass):
        found = _ffi_api.ExtractTasks(mod, target, bound)
    tasks = [
        ExtractedTask(str(name), task, of, list(programs), int(weight)) for name, task, of, programs, weight in found
    ]
    model = Model(mod, params, target)
    for each in tasks:
        each._model = model
    return tasks


def is_meta_schedule_enabled() -> bool:
    """True where relay.build uses the database entered by `with`."""
    from ..ir.transform import PassContext

    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule", False))


def is_meta_schedule_dispatch_enabled() -> bool:
    """True where programs of blocks are asked for in the database only, and operators keep their layouts."""
    from ..ir.transform import PassContext

    return bool(PassContext.current().config.get("relay.backend.use_meta_schedule_dispatch", False))
