"""Scales of quantised tensors: fixed, from the weights, or from what runs of the model give."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...ir import IRModule
from ...runtime import cpu
from ..expr import Tuple
from ..function import Function
from .annotate import QuantizedCall
from .config import QAnnotateKind, current_qconfig

__all__ = ["calibrate", "collect_stats", "find_threshold_by_kl", "find_threshold_by_percentile"]

_BINS, _PERCENTILE = 2048, 99.999


def collect_stats(
    function: Function, calls: list[QuantizedCall], dataset: Iterable[dict[str, Any]]
) -> list[np.ndarray]:
    """The values that the data of each call has over a dataset of inputs by name, flattened."""
    from ...contrib.graph_executor import GraphModule
    from ..build_module import build

    outputs = Tuple([each.data for each in calls])
    module = IRModule.from_expr(Function(list(function.params), outputs))
    runner = GraphModule(build(module, target="llvm")["default"](cpu(0)))
    values: list[list[np.ndarray]] = [[] for _ in calls]
    for batch in dataset:
        for name, value in batch.items():
            runner.set_input(name, value)
        runner.run()
        for i, seen in enumerate(values):
            seen.append(runner.get_output(i).numpy().ravel())
    if not values[0]:
        raise ValueError("the dataset is empty: calibration needs at least one batch")
    return [np.concatenate(seen) for seen in values]


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


def _weight_thresholds(call: QuantizedCall) -> Any:
    """The greatest magnitude of each channel, or of the whole weight where channels are not told apart."""
    weight = np.abs(call.weight.data.numpy())
    channel, _ = call.channel()
    others = None if channel is None else tuple(axis for axis in range(weight.ndim) if axis != channel)
    top = weight.max(axis=others, keepdims=others is not None, initial=0)
    top = np.where(top == 0, 1, top).astype("float64")
    return 2 ** np.ceil(np.log2(top)) if current_qconfig().weight_scale == "power2" else top


def _scale(thresholds: Any, kind: int, is_unsigned: bool = False) -> Any:
    """What one step of the integers stands for."""
    bits = current_qconfig().get_nbit_by_kind(kind)
    return thresholds / (2**bits - 1 if is_unsigned else 2 ** (bits - 1))


def calibrate(function: Function, calls: list[QuantizedCall], dataset: Iterable[dict[str, Any]] | None = None) -> None:
    """Gives all calls their scales. Data that is never negative in the dataset has no sign, and steps half as large."""
    config = current_qconfig()
    if not calls:
        return
    if config.calibrate_mode == "global_scale":
        thresholds = [float(config.global_scale)] * len(calls)
    else:
        if dataset is None:
            raise ValueError(f"calibrate_mode {config.calibrate_mode} needs a dataset")
        thresholds = []
        for each, values in zip(calls, collect_stats(function, calls, dataset)):
            each.is_unsigned = bool(values.min(initial=0) >= 0)
            if config.calibrate_mode == "kl_divergence":
                thresholds.append(find_threshold_by_kl(values, 256 if each.is_unsigned else 128))
            else:
                thresholds.append(find_threshold_by_percentile(values))
    for each, threshold in zip(calls, thresholds):
        each.data_scale = _scale(threshold, QAnnotateKind.INPUT, each.is_unsigned)
        each.weight_scale = _scale(_weight_thresholds(each), QAnnotateKind.WEIGHT)
