"""How near the kernels of a model come to what the machine can do: by arithmetic, or by the memory they touch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import nd, relay
from ...arith import Analyzer
from ...ir import IRModule, instrument, transform
from ...runtime import DataType, profiler_vm, profiling
from ...tir import BlockRealize, For, IfThenElse, IntImm, LetStmt, PrimFunc, SeqStmt, Var, const, stmt_functor
from ...tir.analysis import estimate_tir_flops
from . import registry as registry
from . import x86 as x86
from .registry import cpu_target, estimate_peak_bandwidth, estimate_peak_flops

__all__ = [
    "SaveLoweredTIR",
    "estimate_peak_bandwidth",
    "estimate_peak_flops",
    "roofline_analysis",
    "roofline_from_existing",
]


@instrument.pass_instrument
class SaveLoweredTIR:
    """Keeps the loop programs of a compilation, by name, as they are before the first pass over them."""

    def __init__(self) -> None:
        self.functions: dict[str, PrimFunc] = {}

    def run_before_pass(self, mod: IRModule, info: Any) -> None:
        if not str(info.name).startswith("tir."):
            return
        for var, function in mod.functions.items():
            if isinstance(function, PrimFunc):
                self.functions.setdefault(var.name_hint, function)


def _bytes_of(call: Any) -> float:
    """The size of all arguments of a call, by the shapes in its row: "float32[16, 32], int8[]"."""
    total = 0.0
    for part in str(call["Argument Shapes"]).replace("], ", "]\n").split("\n"):
        dtype, _, extents = part.rstrip("]").partition("[")
        if dtype:
            count = math.prod(int(extent) for extent in extents.split(",") if extent.strip())
            total += count * DataType(dtype).bits / 8
    return total


class _Counter:
    """Operations of a program whose loops may depend on loops around them: those around are then run one by one."""

    def __init__(self, body: Any):
        self.left = 100_000  # statements to look at; more take longer than the answer is worth
        self.steering = self._steering(body)
        self.fixed: dict[Any, float | None] = {}  # of statements that nothing around them decides about

    @staticmethod
    def _steering(body: Any) -> set[Any]:
        """The variables that decide how often something runs."""
        found: set[Any] = set()

        def note(node: Any) -> None:
            deciding = [node.min, node.extent] if isinstance(node, For) else []
            if isinstance(node, IfThenElse):
                deciding = [node.condition]
            elif isinstance(node, LetStmt) and "int" in node.var.dtype:
                deciding = [node.value]
            for expr in deciding:
                stmt_functor.post_order_visit(expr, lambda e: found.add(e) if isinstance(e, Var) else None)

        stmt_functor.post_order_visit(body, note)
        return found

    def __call__(self, stmt: Any, known: dict[Any, Any]) -> float:
        if stmt not in self.fixed:
            self.fixed[stmt] = None if self._steering(stmt) else self._count(stmt, {})
        fixed = self.fixed[stmt]
        return self._count(stmt, known) if fixed is None else fixed

    def _count(self, stmt: Any, known: dict[Any, Any]) -> float:
        self.left -= 1
        if self.left < 0:
            raise ValueError("the program is too long to count")
        if isinstance(stmt, For):
            return self._loop(stmt, known)
        if isinstance(stmt, SeqStmt):
            return sum((self(part, known) for part in stmt.seq), 0.0)
        if isinstance(stmt, IfThenElse):
            condition = self._value(stmt.condition, known)
            ways = [stmt.then_case] if condition != 0 else []
            ways += [stmt.else_case] if stmt.else_case is not None and not condition else []
            return max((self(way, known) for way in ways), default=0.0)
        if isinstance(stmt, LetStmt):
            value = self._value(stmt.value, known)
            return self(stmt.body, known if value is None else {**known, stmt.var: const(value, stmt.var.dtype)})
        if isinstance(stmt, BlockRealize):
            return self(stmt.block.body, known)
        return self(stmt.body, known) if hasattr(stmt, "body") else float(estimate_tir_flops(stmt))

    def _value(self, expr: Any, known: dict[Any, Any]) -> int | None:
        value = Analyzer().simplify(stmt_functor.substitute(expr, known))
        return int(value.value) if isinstance(value, IntImm) else None

    def _loop(self, loop: For, known: dict[Any, Any]) -> float:
        low, extent = self._value(loop.min, known), self._value(loop.extent, known)
        if extent is None:
            raise ValueError(f"loop {loop.loop_var.name} runs {loop.extent} times")
        if loop.loop_var not in self.steering or low is None:
            return max(extent, 0) * self(loop.body, known)
        index = (const(low + i, loop.loop_var.dtype) for i in range(extent))
        return sum(self(loop.body, {**known, loop.loop_var: value}) for value in index)


def _flops_of(function: PrimFunc) -> float | None:
    try:
        return _Counter(function.body)(function.body, {})
    except ValueError:  # loops of unknown length
        return None


def roofline_from_existing(
    report: profiling.Report, tir_functions: dict[str, PrimFunc], target: Any, dev: Any, remote: Any = None
) -> profiling.Report:
    """The report with columns of operations and bytes of each kernel, and of how near it is to its bound."""
    flops, bandwidth = estimate_peak_flops(target, dev, remote), estimate_peak_bandwidth(target, dev, remote)
    calls = []
    for call in report.calls:
        row = dict(call.items())
        function = tir_functions.get(str(row.get("Name", "")))
        done = None if function is None else _flops_of(function)
        if done is not None and "Argument Shapes" in row:
            loaded, seconds = _bytes_of(row), row["Duration (us)"].microseconds * 1e-6
            by_compute, by_memory = done / flops, loaded / bandwidth
            row["Loaded Bytes"] = profiling.Count(int(loaded))
            row["Estimated FLOPs"] = profiling.Count(int(done))
            row["Arithmetic Intensity"] = profiling.Ratio(done / max(loaded, 1.0))
            row["FLOP/s"] = profiling.Ratio(done / max(seconds, 1e-12))
            row["Bandwidth"] = profiling.Ratio(loaded / max(seconds, 1e-12))
            row["Bound"] = "compute" if by_compute > by_memory else "memory"
            best = 100 * max(by_compute, by_memory) / max(seconds, 1e-12)
            row["Percent of Theoretical Optimal"] = profiling.Ratio(best)
        calls.append(row)
    configuration = dict(report.configuration.items())
    configuration["Estimated Peak FLOP/s"] = profiling.Ratio(flops)
    configuration["Estimated Peak Bandwidth (byte/second)"] = profiling.Ratio(bandwidth)
    return profiling.Report(calls, report.device_metrics, configuration)


def roofline_analysis(
    mod: IRModule, params: dict[str, Any], target: Any, dev: Any, remote: Any = None
) -> profiling.Report:
    """Compiles a model, runs it once on random inputs, and compares its kernels with what the device can do."""
    target = cpu_target(target)
    saved = SaveLoweredTIR()
    config = dict(transform.PassContext.current().config.items())
    with transform.PassContext(opt_level=3, config=config, instruments=[saved]):
        executable = relay.vm.compile(mod, target, params=params)
    machine = profiler_vm.VirtualMachineProfiler(executable, dev)
    random = np.random.default_rng(0)
    inputs = {
        param.name_hint: nd.array(
            random.uniform(-1, 1, [int(e) for e in param.type_annotation.shape]).astype(param.type_annotation.dtype),
            dev,
        )
        for param in mod["main"].params
        if param.name_hint not in (params or {})
    }
    machine.profile(func_name="main", **inputs)  # the first run also loads
    return roofline_from_existing(machine.profile(func_name="main", **inputs), saved.functions, target, dev, remote)
