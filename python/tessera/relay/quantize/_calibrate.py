"""Scales of what is marked: fixed, from the weights, or from what runs of the model give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Callable

import numpy as np

from ...ir import IRModule, Op
from ...runtime import cpu
from .. import transform
from ..analysis import post_order_visit
from ..expr import Call, Tuple, const
from ..expr_functor import ExprMutator
from ..function import Function
from ._annotate import SIMULATED, simulated_quantize
from ._sensitivity import keep_sensitive_layers
from .config import QAnnotateKind, current_qconfig

__all__ = ["calibrate", "collect_stats", "find_threshold_by_kl", "find_threshold_by_percentile"]

_BINS, _PERCENTILE = 2048, 99.999


def _marks(mod: IRModule, kind: int) -> list[Call]:
    """The calls of simulated_quantize of one kind, in the order of the program."""
    found: list[Call] = []

    def visit(node: Any) -> None:
        if isinstance(node, Call) and node.op == Op.get(SIMULATED) and node.attrs.kind == kind:
            found.append(node)

    post_order_visit(mod["main"], visit)
    return found


def _scales(mod: IRModule) -> set[Any]:
    """The parameters that marks have instead of numbers."""
    marks = _marks(mod, QAnnotateKind.INPUT) + _marks(mod, QAnnotateKind.WEIGHT)
    return {arg for mark in marks for arg in list(mark.args)[1:]}


class _Unmarked(ExprMutator):
    """The program in floats."""

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        return out.args[0] if call.op == Op.get(SIMULATED) else out


def collect_stats(mod: IRModule, dataset: Iterable[dict[str, Any]], chunk_by: int = -1) -> Iterator[np.ndarray]:
    """The values that the data of each marked layer has over a dataset of inputs by name, flattened; in order.

    `chunk_by` layers are watched at a time (-1: all), which takes less memory and runs the model more often.
    """
    from ...contrib.graph_executor import GraphModule
    from ..build_module import build

    batches = list(dataset)
    if not batches:
        raise ValueError("the dataset is empty: calibration needs at least one batch")
    marks = _marks(mod, QAnnotateKind.INPUT)
    inputs = [param for param in mod["main"].params if param not in _scales(mod)]
    plain = _Unmarked()
    values = [plain.visit(mark.args[0]) for mark in marks]
    size = chunk_by if chunk_by > 0 else max(len(values), 1)
    for begin in range(0, len(values), size):
        chunk = values[begin : begin + size]
        library = build(IRModule.from_expr(Function(inputs, Tuple(chunk))), target="llvm")
        runner = GraphModule(library["default"](cpu(0)))
        seen: list[list[np.ndarray]] = [[] for _ in chunk]
        for batch in batches:
            for name, value in batch.items():
                runner.set_input(name, value)
            runner.run()
            for i, each in enumerate(seen):
                each.append(runner.get_output(i).numpy().ravel())
        yield from (np.concatenate(each) for each in seen)


def find_threshold_by_percentile(values: np.ndarray, percentile: float = _PERCENTILE) -> float:
    """What nearly all magnitudes are below."""
    return float(np.percentile(np.abs(values), percentile)) or 1.0


def find_threshold_by_kl(values: np.ndarray, levels: int = 128) -> float:
    """The threshold at which clipped and quantised magnitudes have the distribution nearest to what they had.

    Nearness is the Kullback-Leibler divergence over a histogram, as TensorRT's calibration does it.
    """
    magnitudes = np.abs(values[values != 0])  # zero is exact whatever the threshold
    top = float(magnitudes.max(initial=0))
    if top == 0:
        return 1.0
    histogram, edges = np.histogram(magnitudes, bins=_BINS, range=(0, top))
    best, threshold = np.inf, top
    for count in range(levels, _BINS + 1, 16):
        kept = histogram[:count].astype("float64")
        reference = kept.copy()
        reference[-1] += histogram[count:].sum()  # what is clipped
        # The kept bins in `levels` groups, each spread again over those of its bins that had something.
        group = np.minimum(np.arange(count) * levels // count, levels - 1)
        is_used = kept > 0
        sums = np.bincount(group, kept, levels)
        uses = np.bincount(group, is_used, levels)
        spread = np.where(is_used, sums[group] / np.maximum(uses[group], 1), 0)
        if reference.sum() == 0 or spread.sum() == 0:
            continue
        p, q = reference / reference.sum(), spread / spread.sum()
        both = (p > 0) & (q > 0)
        # Bins that only the reference has count as if almost nothing were there.
        divergence = float((p[both] * np.log(p[both] / q[both])).sum() + p[(p > 0) & (q == 0)].sum() * 10)
        if divergence < best:
            best, threshold = divergence, float(edges[count])
    return threshold


def _weight_thresholds(weight: np.ndarray, scale_shape: Any) -> Any:
    """The greatest magnitude of each channel, or of the whole weight where its scale is one number."""
    others = (
        None if len(scale_shape) == 0 else tuple(axis for axis, extent in enumerate(scale_shape) if int(extent) == 1)
    )
    top = np.abs(weight).max(axis=others, keepdims=others is not None, initial=0)
    top = np.where(top == 0, 1, top).astype("float64")
    return 2 ** np.ceil(np.log2(top)) if current_qconfig().weight_scale == "power2" else top


def _with_scale(mark: Call, data: Any, threshold: Any, is_unsigned: bool = False) -> Call:
    """The mark with numbers: what one step stands for, and the range of the integers."""
    kind = mark.attrs.kind
    bits = current_qconfig().get_nbit_by_kind(kind)
    low, high = (0, 2**bits - 1) if is_unsigned else (1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1)
    scale = np.asarray(threshold / (high if is_unsigned else high + 1), "float32")
    return simulated_quantize(data, const(scale), const(float(low)), const(float(high)), kind, not is_unsigned)


class _Scaler(ExprMutator):
    def __init__(self, data: dict[Call, tuple[float, bool]]):
        super().__init__()
        self.data = data

    def visit_call(self, call: Call) -> Any:
        out = super().visit_call(call)
        if call.op != Op.get(SIMULATED):
            return out
        if call in self.data:
            return _with_scale(call, out.args[0], *self.data[call])
        shape = call.args[1].type_annotation.shape
        return _with_scale(call, out.args[0], _weight_thresholds(out.args[0].data.numpy(), shape))


def _thresholds(mod: IRModule, dataset: Iterable[dict[str, Any]] | None) -> list[tuple[float, bool]]:
    """The range of the data of each marked layer, and whether it has no sign: what no sample shows negative has steps half as large."""
    config = current_qconfig()
    if config.calibrate_mode == "global_scale":
        return [(float(config.global_scale), False)] * len(_marks(mod, QAnnotateKind.INPUT))
    if dataset is None:
        raise ValueError(f"calibrate_mode {config.calibrate_mode} needs a dataset")
    out = []
    for values in collect_stats(mod, dataset, config.calibrate_chunk_by):
        is_unsigned = bool(values.min(initial=0) >= 0)
        if config.calibrate_mode == "kl_divergence":
            out.append((find_threshold_by_kl(values, 256 if is_unsigned else 128), is_unsigned))
        else:
            out.append((find_threshold_by_percentile(values), is_unsigned))
    return out


def calibrate(dataset: Iterable[dict[str, Any]] | None = None) -> Callable[..., IRModule]:
    """The step that gives all marks their scales, by `calibrate_mode` of the configuration."""

    def run(mod: IRModule, _: Any = None) -> IRModule:
        marks = _marks(mod, QAnnotateKind.INPUT)
        if not marks:
            return mod
        batches = None if dataset is None else list(dataset)
        scaler = _Scaler(dict(zip(marks, _thresholds(mod, batches))))
        function = mod["main"]
        scales = _scales(mod)
        inputs = [param for param in function.params if param not in scales]
        out = IRModule.from_expr(Function(inputs, scaler.visit(function.body), attrs=function.attrs))
        if batches is None or current_qconfig().min_snr is None:
            return out
        return keep_sensitive_layers(transform.InferType()(out), batches)

    return run
