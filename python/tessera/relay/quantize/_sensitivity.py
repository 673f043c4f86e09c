"""Which layers lose most when they are quantised, measured on the calibration data: those stay in a wider type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir import IRModule, Op, TensorType
from ...ir.attrs import make_node
from ...runtime import cpu
from .. import op as _op
from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..function import Function
from ._annotate import SIMULATED, is_depthwise, result_channel
from .config import QAnnotateKind, current_qconfig

__all__ = ["keep_sensitive_layers", "signal_to_noise"]

_PROBES = 4  # batches that are run for each layer; all are run for the whole model


def signal_to_noise(wanted: list[np.ndarray], found: list[np.ndarray]) -> float:
    """The signal-to-noise ratio of the floats among results, in decibels; that of the worst."""
    out = np.inf
    for a, b in zip(wanted, found):
        if a.dtype.kind != "f":
            continue
        a, b = a.astype("float64"), b.astype("float64")
        signal, noise = (a**2).sum(), ((a - b) ** 2).sum()
        if noise > 0:
            out = min(out, 10 * np.log10(signal / noise) if signal > 0 else -np.inf)
    return float(out)


def _marked(call: Call, kind: int) -> int | None:
    """The position of the argument of a layer that is marked with a kind."""
    if call.op == Op.get(SIMULATED):
        return None
    for i, arg in enumerate(call.args):
        if isinstance(arg, Call) and arg.op == Op.get(SIMULATED) and arg.attrs.kind == kind:
            return i
    return None


class _Layers(ExprMutator):
    """Visits the layers whose data and weight are marked, in the order of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def layer(self, index: int, call: Call, out: Call, data: int, weight: int) -> Any:
        raise NotImplementedError

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        data, weight = _marked(call, QAnnotateKind.INPUT), _marked(call, QAnnotateKind.WEIGHT)
        if data is None or weight is None:
            return out
        self.count += 1
        return self.layer(self.count - 1, call, out, data, weight)


class _Probed(_Layers):
    """Each layer has a parameter that says whether it is quantised (1) or not (0)."""

    def __init__(self) -> None:
        super().__init__()
        self.switches: list[Var] = []
        self.multiplications: list[int] = []

    def layer(self, index: int, call: Call, out: Call, data: int, weight: int) -> Any:
        switch = Var(f"is_quantized_{index}", TensorType([], "float32"))
        self.switches.append(switch)
        shape = [int(extent) for extent in call.args[weight].args[0].data.shape]
        channel, _ = result_channel(call, len(shape))
        results = int(np.prod([int(extent) for extent in call.checked_type.shape]))
        self.multiplications.append(results * int(np.prod(shape)) // max(shape[channel or 0], 1))
        args = list(out.args)
        for i in (data, weight):
            plain = args[i].args[0]
            args[i] = plain + switch * (args[i] - plain)
        return Call(out.op, args, out.attrs)


class _Kept(_Layers):
    """Some layers compute in a wider type than their marks say; depthwise ones read what these give in that type."""

    def __init__(self, kept: set[int], dtype: str):
        super().__init__()
        self.kept, self.dtype = kept, dtype
        self.calls: set[Call] = set()  # the layers kept, as they were

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        is_float = is_depthwise(call) and _marked(call, QAnnotateKind.INPUT) is None
        if self.dtype == "float32" or not is_float or not self._is_kept(call.args[0]):
            return out
        data = _op.cast(_op.cast(out.args[0], self.dtype), "float32")
        return Call(out.op, [data, *list(out.args)[1:]], out.attrs)

    def _is_kept(self, value: Any) -> bool:
        """Made by a layer that is kept, and its bias and activation."""
        while isinstance(value, Call) and list(value.args) and value not in self.calls and not is_depthwise(value):
            value = value.args[0]
        return value in self.calls

    def layer(self, index: int, call: Call, out: Call, data: int, weight: int) -> Any:
        if index not in self.kept:
            return out
        self.calls.add(call)
        args = list(out.args)
        for i in (data, weight):
            args[i] = args[i].args[0]
            if self.dtype != "float32":
                args[i] = _op.cast(args[i], self.dtype)
        values = {name: out.attrs[name] for name in out.attrs.keys()}  # noqa: SIM118 (attributes are no mapping)
        values["out_dtype"] = "float32"
        return Call(out.op, args, make_node(str(out.op.attrs_type_key), **values))


class _Probe:
    """The model with switches, built once; it says how far results are from those in floats."""

    def __init__(self, mod: IRModule, batches: list[dict[str, Any]]):
        from ...contrib.graph_executor import GraphModule
        from ..build_module import build

        probed = _Probed()
        function = mod["main"]
        body = probed.visit(function.body)
        library = build(IRModule.from_expr(Function([*function.params, *probed.switches], body)), target="llvm")
        self.runner = GraphModule(library["default"](cpu(0)))
        self.names = [switch.name_hint for switch in probed.switches]
        self.multiplications = probed.multiplications
        self.batches = batches
        self.wanted = [self._run(batch, set()) for batch in batches]

    def _run(self, batch: dict[str, Any], quantized: set[int]) -> list[np.ndarray]:
        for name, value in batch.items():
            self.runner.set_input(name, value)
        for i, name in enumerate(self.names):
            self.runner.set_input(name, np.float32(i in quantized))
        self.runner.run()
        return [self.runner.get_output(i).numpy() for i in range(self.runner.get_num_outputs())]

    def decibels(self, quantized: set[int], count: int | None = None) -> float:
        """Of the results with some layers quantised, over the first batches."""
        found = [self._run(batch, quantized) for batch in self.batches[:count]]
        flat = [
            [np.concatenate([x.ravel() for x in one]) for one in zip(*runs)] for runs in (self.wanted[:count], found)
        ]
        return signal_to_noise(*flat)


def _chosen(probe: _Probe, wanted: float, budget: float) -> set[int]:
    """The layers to keep: those of most noise for each multiplication, until the results are as near as wanted."""
    every = set(range(len(probe.names)))
    kept: set[int] = set()
    if probe.decibels(every) >= wanted:
        return kept
    noise = [10 ** (-probe.decibels({i}, _PROBES) / 10) for i in sorted(every)]
    cost = probe.multiplications
    left = budget * sum(cost)
    for i in sorted(every, key=lambda i: -noise[i] / max(cost[i], 1)):
        if cost[i] > left:
            continue
        left -= cost[i]
        kept.add(i)
        if probe.decibels(every - kept) >= wanted:
            break
    return kept


def keep_sensitive_layers(mod: IRModule, dataset: Iterable[dict[str, Any]]) -> IRModule:
    """The calibrated model with the layers in `sensitive_dtype` without which results have less than `min_snr` decibels.

    They do at most `sensitive_budget` of the multiplications of all marked layers.
    """
    config = current_qconfig()
    batches = list(dataset)
    probe = _Probe(mod, batches)
    kept = _chosen(probe, float(config.min_snr), float(config.sensitive_budget))
    function = mod["main"]
    body = _Kept(kept, config.sensitive_dtype).visit(function.body) if kept else function.body
    return IRModule.from_expr(Function(function.params, body, attrs=function.attrs))
