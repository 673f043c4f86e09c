"""Composite functions compiled by tensor expressions: a code generator made of one function for each composite.

@lower_composite("mine.dense_relu")
def dense_relu(call, inputs): return topi.nn.relu(topi.nn.dense(*inputs))

tvm.register_func("relay.ext.mine", relay_to_runtime(tvm.target.Target("llvm")))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import te
from ....driver import build
from ...expr import Call
from ...function import Function

__all__ = ["lower_composite", "relay_to_runtime"]

_LOWERINGS: dict[str, Callable[..., Any]] = {}


def lower_composite(comp_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function (call, tensors of the parameters) -> tensor the way a composite of that name is computed."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _LOWERINGS[comp_name] = function
        return function

    return register


def relay_to_runtime(target: Any) -> Callable[[Function], Any]:
    """A code generator for functions that each call one composite, compiled for the target."""

    def generate(function: Function) -> Any:
        call = function.body
        if not isinstance(call, Call) or not isinstance(call.op, Function) or "Composite" not in call.op.attrs:
            raise ValueError(
                "a function for relay_to_runtime is one call of a composite function; leave MergeCompilerRegions out"
            )
        name = str(call.op.attrs["Composite"])
        if name not in _LOWERINGS:
            raise ValueError(f"nothing computes {name}; there are {', '.join(sorted(_LOWERINGS)) or 'none'}")
        kinds = [(param.checked_type, param.name_hint) for param in function.params]
        by_param = dict(zip(function.params, (te.placeholder(kind.shape, kind.dtype, name) for kind, name in kinds)))
        output = _LOWERINGS[name](call.op.body, [by_param[arg] for arg in call.args])
        program = te.create_prim_func([*by_param.values(), output])
        return build(program, target=target, name=str(function.attrs["global_symbol"]))

    return generate
