"""Symbols of MXNet, and what Tessera and MXNet answer for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import Case, Pairs

Value = np.ndarray


def tensor(*shape: int, seed: int = 0, low: float = -1, high: float = 1) -> Value:
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype("float32")


def floats(values: Any) -> Value:
    return np.array(values, "float32")


def evaluate(symbol: Any, data: dict[str, Value], aux: dict[str, Value]) -> list[Value]:
    import mxnet as mx

    arrays = {name: mx.nd.array(value, dtype=value.dtype) for name, value in data.items()}
    held = {name: mx.nd.array(value) for name, value in aux.items()}
    bound = symbol.bind(mx.cpu(), {n: arrays[n] for n in symbol.list_arguments()}, aux_states=held, grad_req="null")
    return [out.asnumpy() for out in bound.forward(is_train=False)]


def imported(symbol: Any, data: dict[str, Value], aux: dict[str, Value], weights: list[str]) -> list[Value]:
    from tessera import relay

    params = {name: data[name] for name in weights}
    inputs = {name: value for name, value in data.items() if name not in weights}
    mod, held = relay.frontend.from_mxnet(
        symbol,
        {name: value.shape for name, value in inputs.items()},
        {name: str(value.dtype) for name, value in inputs.items()},
        params,
        aux,
    )
    kind = "vm" if "if (" in mod.astext() else "graph"
    out = relay.create_executor(kind, mod).evaluate()(**inputs, **held)
    return [one.numpy() for one in out] if len(symbol.list_outputs()) > 1 else [out.numpy()]


def symbol_case(
    operator: str,
    make: Callable[[Any, list[Any]], Any],
    data: list[Value],
    aux: list[Value],
    name: str = "",
    labels: int = 0,
) -> Case:
    def run() -> Pairs:
        import mxnet as mx

        named = {f"x{i}": value for i, value in enumerate(data)}
        symbol = make(mx, [mx.sym.Variable(one) for one in named])
        named = {one: value for one, value in named.items() if one in symbol.list_arguments()}
        held = dict(zip(symbol.list_auxiliary_states(), aux, strict=True))
        want = evaluate(symbol, named, held)
        given = {one: value for i, (one, value) in enumerate(named.items()) if not labels or i < len(named) - labels}
        # A comparison's truth is of the operands' type, as in MXNet.
        return zip(imported(symbol, given, held, []), want, strict=True)

    return Case(operator, name or operator, run)


def case(
    operator: str, *data: Value, aux: tuple[Value, ...] = (), labels: int = 0, as_list: bool = False, **attributes: Any
) -> Case:
    def make(mx: Any, inputs: list[Any]) -> Any:
        if operator.startswith("_contrib_"):
            function = getattr(mx.sym.contrib, operator[len("_contrib_") :])
        else:
            found = [space for space in (mx.sym, mx.sym._internal, mx.sym.op) if hasattr(space, operator)]
            function = getattr(found[0], operator) if found else _raw(mx, operator)
        return function(*inputs, **attributes)

    return symbol_case(operator, make, list(data), list(aux), f"{operator} {attributes}", labels)


def _raw(mx: Any, operator: str) -> Callable[..., Any]:
    """An operator of the NumPy interface, on symbols of the older one."""
    spaces = {"_npi_": mx.sym.numpy._internal, "_np_": mx.sym.numpy._op, "_npx_": mx.sym.npx}
    start = next(one for one in spaces if operator.startswith(one))
    function = getattr(spaces[start], operator[len(start) :])

    def call(*inputs: Any, **attributes: Any) -> Any:
        return function(*[one.as_np_ndarray() for one in inputs], **attributes)

    return call


def renamed(operator: str, real: str, *data: Value, **attributes: Any) -> Case:
    """The symbol of `real`, in which the operator has another name."""

    def run() -> Pairs:
        import mxnet as mx
        from tessera import relay

        named = {f"x{i}": value for i, value in enumerate(data)}
        symbol = getattr(mx.sym._internal, real, None) or getattr(mx.sym, real)
        made = symbol(*[mx.sym.Variable(one) for one in named], **attributes)
        text = made.tojson().replace(f'"op": "{real}"', f'"op": "{operator}"')
        mod, held = relay.frontend.from_mxnet(text, {one: value.shape for one, value in named.items()})
        got = relay.create_executor("graph", mod).evaluate()(**named, **held).numpy()
        return [(got, evaluate(made, named, {})[0])]

    return Case(operator, f"{operator} {attributes}", run)
