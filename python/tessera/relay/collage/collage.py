"""What a module costs on a target, measured or made up for tests, and the rules by which toolchains take parts of it."""

from __future__ import annotations

import math
import os
import tempfile
from typing import Any

import numpy as np

from ..._ffi import get_global_func
from ...ir import IRModule, Op
from ...runtime import load_module
from ...runtime import ndarray as nd
from ...runtime import vm as runtime_vm
from ...target import Target
from .. import vm as relay_vm
from ..expr_functor import ExprVisitor
from ..op.contrib.register import get_pattern_table
from ..ty import TensorType, TupleType

__all__ = [
    "MEASURE_NUMBER",
    "MEASURE_REPEAT",
    "WARMUP_MIN_REPEAT_MS",
    "CostEstimator",
    "CustomCostEstimator",
    "MockCostEstimator",
    "arg_for",
    "estimate_seconds",
    "make_byoc_partition_rule",
    "make_labelled_dfpattern_partition_rule",
    "make_labelled_dfpattern_partition_rule_with_predicate",
    "make_labelled_dfpattern_partition_rule_wrapper",
    "vm_estimate_seconds",
]

#: How often a module is run for one estimate.
MEASURE_NUMBER, MEASURE_REPEAT = 20, 5
#: And for how long it is warmed up before.
WARMUP_MIN_REPEAT_MS = 250


def arg_for(arg_type: Any, device: Any) -> Any:
    """An argument of a type: random numbers, small ones where they are integers."""
    if isinstance(arg_type, TupleType):
        return [arg_for(field, device) for field in arg_type.fields]
    if not isinstance(arg_type, TensorType):
        raise TypeError(f"arguments are tensors or tuples of them, not {arg_type}")
    shape = [int(extent) for extent in arg_type.shape]
    return nd.array(np.random.uniform(-1.0, 1.0, shape).astype(str(arg_type.dtype)), device)


def vm_estimate_seconds(device: Any, the_vm: Any, func_name: str, args: Any) -> float:
    """The mean time of a function of a virtual machine."""
    the_vm.benchmark(device, *args, func_name=func_name, repeat=1, number=1, min_repeat_ms=WARMUP_MIN_REPEAT_MS)
    result = the_vm.benchmark(device, *args, func_name=func_name, repeat=MEASURE_REPEAT, number=MEASURE_NUMBER)
    return float(np.median(result.results))


def _as_library(program: Any) -> Any:
    """The program written and loaded: a code generator may give C, which a compiler takes then."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.so")
        program.module.export_library(path)
        return load_module(path)


def estimate_seconds(mod: IRModule, target: Any) -> float:
    """The time that `main` of a module takes when it is compiled for a target; infinite where it cannot be.

    What an external code generator leaves is compiled for the plain target of its kind of device.
    """
    target = target if isinstance(target, Target) else Target(target)
    device = nd.device(int(target.kind.device_type), 0)
    if get_pattern_table(str(target.kind.name)) is None:
        targets = [target]
    else:
        targets = [Target("llvm" if device.device_type == nd.cpu().device_type else str(device).split("(")[0]), target]
    try:
        program = _as_library(relay_vm.compile(mod, targets)) if len(targets) > 1 else relay_vm.compile(mod, targets)
    except (RuntimeError, NotImplementedError, ValueError):
        return math.inf
    from ..transform import InferType

    machine = runtime_vm.VirtualMachine(program, device)
    args = [arg_for(param.checked_type, device) for param in InferType()(mod)["main"].params]
    return vm_estimate_seconds(device, machine, "main", args)


class CostEstimator:
    """Costs of modules: measured here."""

    def estimate(self, mod: IRModule, target: Any) -> float:
        """The cost of a module on a target, in seconds."""
        return estimate_seconds(mod, target)


class CustomCostEstimator(CostEstimator):
    """Costs that a function says: `py_fn_estimator(mod, target)`, given itself or by the name of a global function."""

    def __init__(self, py_fn_estimator: Any = "tvm.relay.collage.estimate_seconds_custom") -> None:
        self.estimator = get_global_func(py_fn_estimator) if isinstance(py_fn_estimator, str) else py_fn_estimator

    def estimate(self, mod: IRModule, target: Any) -> float:
        """The cost of a module on a target."""
        return float(self.estimator(mod, target))


class _Calls(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def visit_call(self, call: Any) -> None:
        self.count += isinstance(call.op, Op)
        super().visit_call(call)


class MockCostEstimator(CostEstimator):
    """Costs for tests: the number of operators times a cost of the target's kind, which `target_costs` gives by name.

    More than `max_estimates` questions are an error, where that is not 0.
    """

    def __init__(self, target_costs: dict[str, int], max_estimates: int = 0) -> None:
        self.target_costs, self.max_estimates, self.estimates = dict(target_costs), max_estimates, 0

    def estimate(self, mod: IRModule, target: Any) -> float:
        """The cost of a module on a target."""
        self.estimates += 1
        if self.max_estimates and self.estimates > self.max_estimates:
            raise RuntimeError(f"more than {self.max_estimates} costs are asked for")
        kind = str((target if isinstance(target, Target) else Target(target)).kind.name)
        if kind not in self.target_costs:
            raise KeyError(f"there is no cost of {kind}; there are those of {', '.join(self.target_costs)}")
        calls = _Calls()
        for function in mod.functions.values():
            calls.visit(function)
        return float(calls.count * self.target_costs[kind])


class PartitionRule:
    """A pattern by which a toolchain takes a part of a model: its compiler, label, pattern and predicate."""

    def __init__(self, compiler: str, rule_name: str, pattern: Any, predicate: Any = None) -> None:
        self.compiler, self.rule_name, self.pattern = compiler, rule_name, pattern
        self.predicate = predicate or (lambda expr: True)


def make_labelled_dfpattern_partition_rule(compiler: str, rule_name: str, dataflow_pattern: Any) -> PartitionRule:
    """A rule by a pattern."""
    return PartitionRule(compiler, rule_name, dataflow_pattern)


def make_labelled_dfpattern_partition_rule_with_predicate(
    compiler: str, rule_name: str, dataflow_pattern: Any, predicate: Any
) -> PartitionRule:
    """A rule by a pattern and what must hold of a match."""
    return PartitionRule(compiler, rule_name, dataflow_pattern, predicate)


def make_labelled_dfpattern_partition_rule_wrapper(compiler: str, pattern_tuple: Any) -> PartitionRule:
    """A rule from a row of a pattern table: (name, pattern) or (name, pattern, predicate)."""
    if len(pattern_tuple) == 2:
        return make_labelled_dfpattern_partition_rule(compiler, *pattern_tuple)
    return make_labelled_dfpattern_partition_rule_with_predicate(compiler, *pattern_tuple)


def make_byoc_partition_rule(compiler: str) -> list[PartitionRule]:
    """The rules of a toolchain: one for each row of its pattern table."""
    table = get_pattern_table(compiler)
    if table is None:
        raise ValueError(f"the toolchain {compiler} has no pattern table")
    return [make_labelled_dfpattern_partition_rule_wrapper(compiler, row) for row in table]
