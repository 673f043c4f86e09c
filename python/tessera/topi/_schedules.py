"""Schedule functions by name: what scripts call, over the TE schedules that fit any program of tensors.

Models are compiled by the core's rules of blocks, which see the whole fused function; these serve programs that ask for
a `te.Schedule`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Sequence
from typing import Any, Callable

from .._ffi.registry import get_global_func
from ..ir import Array
from ..target import Target
from ..te import PlaceholderOp, Schedule, Tensor
from . import nn, search, transform, vision
from ._templates import SOURCES, TEMPLATES

__all__ = [
    "ScheduleFunction",
    "as_list",
    "device_package",
    "from_existing",
    "install",
    "schedule_for",
    "with_optional_config",
]

ScheduleFunction = Callable[..., Schedule]


def as_list(outs: Any) -> list[Tensor]:
    """The outputs of a program, given as one tensor or several."""
    return list(outs) if isinstance(outs, (list, tuple, Array)) else [outs]


def schedule_for(outs: Any, target: Target) -> Schedule:
    """Element-wise stages put into their consumers; the loops of the rest run by the target's threads."""
    return get_global_func("topi.schedule_for")(as_list(outs), target)


def from_existing(sch: Schedule, out: Tensor, target: Target) -> Schedule:
    """Schedules the stage of one tensor and leaves the others."""
    get_global_func("topi.schedule_stage")(sch[out], target)
    return sch


def install(module: dict[str, Any], names: Sequence[str], target: Callable[[], Target]) -> list[str]:
    """Puts functions `schedule_<name>` into a module; gives their names."""
    for name in names:
        function = _make(f"schedule_{name}", target, takes_layout="pool" in name)
        function.__module__ = module["__name__"]
        module[function.__name__] = function
    return [f"schedule_{name}" for name in names]


def device_package(module: dict[str, Any], names: Sequence[str], key: str, otherwise: str) -> list[str]:
    """Makes a module that of a kind of device: schedules by these names, and the computes they are for. Gives all names.

    Schedules are for the current target where that has the key, and for `otherwise` where it has not. v0.10 has computes
    of its own for each kind of device and algorithm (`conv2d_nchw_winograd`); here one of `topi` serves all, but for those
    that the module has itself.
    """

    def target() -> Target:
        current = Target.current(allow_none=True)
        return current if current is not None and key in current.keys else Target(otherwise)

    def schedule_injective_from_existing(sch: Schedule, out: Tensor) -> Schedule:
        """Schedules the stage of one element-wise tensor and leaves the others."""
        return from_existing(sch, out, target())

    module["schedule_injective_from_existing"] = schedule_injective_from_existing
    computes = {name: function for name in names if name not in module and (function := _compute_of(name)) is not None}
    module.update(computes)
    out = ["schedule_injective_from_existing", *install(module, names, target), *computes]
    return list(dict.fromkeys([*out, *_install_templates(module, target)]))


def _compute_of(name: str) -> Any:
    """The function of `topi` that a name stands for, without the algorithm at its end."""
    algorithms = (
        r"_(spatial_pack|winograd|tensorcore|direct|nopack|large_batch|small_batch|default|int8|cudnn|miopen|rocblas"
        r"|cblas|cublas|mkl|dnnl|dsp)$"
    )
    while True:
        for module in (nn, search, transform, vision):
            if callable(getattr(module, name, None)):
                return getattr(module, name)
        name, count = re.subn(algorithms, "", name) if "NCHWc_int8" not in name else (name, 0)
        if not count:  # the weight of NCHWc_int8 has a layout of its own
            return None


def _make(name: str, target: Callable[[], Target], takes_layout: bool) -> Callable:
    what = name[len("schedule_") :].replace("_", " ")
    if takes_layout:

        def function(outs: Any, layout: str = "NCHW") -> Schedule:
            del layout  # loops are run in the order of memory, whatever they mean
            return schedule_for(outs, target())
    else:

        def function(outs: Any) -> Schedule:  # type: ignore[misc]
            return schedule_for(outs, target())

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A schedule for {what} and what is fused with it."
    return function


def _install_templates(module: dict[str, Any], target: Callable[[], Target]) -> list[str]:
    """Puts the functions of `TEMPLATES` into a package of a device. Gives their names."""
    package = module["__name__"].rpartition(".")[2]
    names: list[str] = []
    for parameters, texts in TEMPLATES.get(package, {}).items():
        signature = inspect.signature(eval(f"lambda {parameters}: None"))
        for name in texts.split():
            body = _schedule_body(signature, target) if name.startswith("schedule_") else _compute_body(module, name)
            if body is not None:
                module[name] = _template(name, signature, body)
                module[name].__module__ = module["__name__"]
                names.append(name)
    return names


def _template(name: str, signature: inspect.Signature, body: Callable[[dict[str, Any]], Any]) -> Callable:
    """A function that takes v0.10's parameters, with or without the configuration that comes first there."""
    parameters = list(signature.parameters.values())
    has_config = parameters[0].name in ("cfg", "_", "_cfg")
    plain = signature.replace(parameters=parameters[1:]) if has_config else signature

    def function(*args: Any, **named: Any) -> Any:
        if has_config and (parameters[0].name in named or (args and not _is_operand(args[0]))):
            bound = signature.bind_partial(*args, **named)
            bound.arguments.pop(parameters[0].name)
            bound = plain.bind_partial(**bound.arguments)
        else:
            bound = plain.bind_partial(*args, **named)
        bound.apply_defaults()
        return body({key: value for key, value in bound.arguments.items() if value is not inspect.Parameter.empty})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.replace('_', ' ')}, with the parameters that v0.10 has."
    function.__dict__["__signature__"] = signature
    return function


def with_optional_config(function: Callable) -> Callable:
    """Decorator of `f(cfg, ...)`: callers may leave the configuration out."""

    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        has_config = "cfg" in named or (args and not _is_operand(args[0]))
        return function(*args, **named) if has_config else function(None, *args, **named)

    return wrapper


def _is_operand(value: Any) -> bool:
    """What a function is called with, other than a configuration."""
    return isinstance(value, (Tensor, Schedule, list, tuple, Array))


def _schedule_body(signature: inspect.Signature, target: Callable[[], Target]) -> Callable[[dict[str, Any]], Any]:
    if "outs" in signature.parameters:
        return lambda given: schedule_for(given["outs"], target())

    def in_place(given: dict[str, Any]) -> Schedule:
        """Schedules the stages of the tensors that are given, which a schedule has already."""
        sch = given["s"]
        for value in given.values():
            tensor = value.output(0) if hasattr(value, "output") else value
            if isinstance(tensor, Tensor) and not isinstance(tensor.op, PlaceholderOp):
                from_existing(sch, tensor, target())
        return sch

    return in_place


def _compute_body(module: dict[str, Any], name: str) -> Callable[[dict[str, Any]], Any] | None:
    package = module["__name__"].rpartition(".")[2]
    source, words = SOURCES.get(f"{name}@{package}") or SOURCES.get(name) or (name, "")
    compute = module.get(name) if source == "own" else _compute_of(source)
    if compute is None:
        return None

    def body(given: dict[str, Any]) -> Any:
        if not words:
            return compute(*given.values())
        values = []
        for word in words.split():
            values.append(
                {"True": True, "None": None}.get(word[1:])
                if word[1:] in ("True", "None")
                else int(word[1:])
                if word.startswith("=")
                else given.get(word)
            )
        return compute(*values)

    return body
