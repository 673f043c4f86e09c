"""Comparing numbers: tensors, gradients, integer expressions."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np


def _package() -> Any:
    """The whole package, whose compiler part only some of the checks need."""
    return importlib.import_module(__name__.split(".")[0])


def _as_numpy(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """NumPy's check with tolerances that suit float32, and of the shapes too. NDArrays are fine."""
    actual, desired = np.asanyarray(_as_numpy(actual)), np.asanyarray(_as_numpy(desired))
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Any,
    grad_values: Any,
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Compares gradients with differences of the function, of which the result is a scalar.

    The values are lists, or dicts by the function's argument names; the function is given arrays of their types. The error allowed grows with the norm of the
    gradient and with its curvature, which is estimated from two step widths.
    """
    if isinstance(input_values, dict):
        names = list(input_values)
        given = [input_values[name] for name in names]
        grads = [np.asarray(grad_values[name], "float64") for name in names]

        def call(values: list[np.ndarray]) -> float:
            return float(function(**dict(zip(names, values))))
    else:
        names = list(range(len(input_values)))
        given = list(input_values)
        grads = [np.asarray(value, "float64") for value in grad_values]

        def call(values: list[np.ndarray]) -> float:
            return float(function(*values))

    inputs = [np.array(value, getattr(value, "dtype", "float64")) for value in given]

    def derivative(which: int, index: tuple[int, ...], step: float) -> float:
        moved = [value.copy() for value in inputs]
        moved[which][index] = inputs[which][index] + step
        up, high = call(moved), float(moved[which][index])
        moved[which][index] = inputs[which][index] - step
        return (up - call(moved)) / (high - float(moved[which][index]))  # by the step that the type can take

    for which, name in enumerate(names):
        if grads[which].shape != inputs[which].shape:
            raise AssertionError(
                f"Gradient wrt '{name}' has unexpected shape {grads[which].shape}, expected {inputs[which].shape} "
            )
        numeric = np.zeros(inputs[which].shape)
        curvature = np.zeros(inputs[which].shape)
        for index in np.ndindex(*inputs[which].shape):
            numeric[index] = derivative(which, index, delta)
            curvature[index] = abs(numeric[index] - derivative(which, index, 2 * delta))
        distance = np.linalg.norm(grads[which] - numeric)
        allowed = atol * np.sqrt(numeric.size) + rtol * np.linalg.norm(numeric) + np.linalg.norm(curvature)
        if not distance <= allowed:
            raise AssertionError(
                f"Analytical and numerical grads wrt '{name}' differ too much\n"
                f"analytical grad = {grads[which]}\nnumerical grad = {numeric}\n"
                f"distance {distance} is over {allowed}"
            )


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raises when the analyser cannot prove two expressions equal."""
    tessera = _package()

    difference = tessera.arith.Analyzer().simplify(lhs - rhs)
    if not tessera.tir.analysis.expr_deep_equal(difference, tessera.tir.const(0, difference.dtype)):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_bool_expr_is_true(bool_expr: Any, vranges: dict[Any, Any], cond: Any = None) -> None:
    """Evaluates a condition for all values of its variables (constant ranges), where `cond` holds.

    Raises AssertionError with the first values for which it is false.
    """
    tessera = _package()

    if cond is not None:
        bool_expr = tessera.te.any(tessera.tir.Not(cond), bool_expr)
    variables = list(vranges)
    analyzer = tessera.arith.Analyzer()
    spans = [range(int(r.min), int(r.min) + int(r.extent)) for r in vranges.values()]
    for values in itertools.product(*spans):
        known = {var: tessera.tir.const(value, var.dtype) for var, value in zip(variables, values)}
        result = analyzer.simplify(tessera.tir.stmt_functor.substitute(bool_expr, known))
        if not getattr(result, "value", 0):
            where = {var.name: value for var, value in zip(variables, values)}
            raise AssertionError(f"Expression {bool_expr} is not true on {vranges}\nCounterexample: {where}")


def check_int_constraints_trans_consistency(constraints_trans: Any, vranges: Any = None) -> None:
    """Checks that a transformation of integer constraints loses and adds no solutions, in both directions."""
    tessera = _package()

    def relations_hold(given: Any, other: Any, mapping: Any) -> None:
        ranges = {**(vranges or {}), **dict(given.ranges.items())}
        all_relations = tessera.te.all(tessera.tir.const(1, "bool"), *given.relations)
        replaced = [tessera.tir.stmt_functor.substitute(r, dict(mapping.items())) for r in other.relations]
        for var in other.variables:
            if var in other.ranges:
                bounds = other.ranges[var]
                value = mapping[var]
                replaced += [value >= bounds.min, value < bounds.min + bounds.extent]
        conclusion = tessera.te.all(tessera.tir.const(1, "bool"), *replaced)
        check_bool_expr_is_true(conclusion, ranges, cond=all_relations)

    relations_hold(constraints_trans.dst, constraints_trans.src, constraints_trans.src_to_dst)
    relations_hold(constraints_trans.src, constraints_trans.dst, constraints_trans.dst_to_src)


def get_dtype_range(dtype: str) -> tuple[float, float]:
    """The smallest and largest value of an element type."""
    kind = np.dtype(dtype)
    if kind == np.bool_:
        return (0, 1)
    info: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
    return (info.min, info.max)
