#!/usr/bin/env python
"""Drives operators whose results' shapes are decided at run time with values that nobody should give them.

    python tests/fuzz/run_time_shapes.py [--seconds 60] [--seed 0] [--only PATTERN]

Each case is a small model, compiled once and run again and again: bounds, steps, counts, sizes and scales are drawn from useful
numbers and from hostile ones (the ends of int64, 2^32 + 1, NaN, infinity). An outcome is right when it is what NumPy or ONNX's
reference computes, or an error of a kind a user understands that names the operator. A crash, another answer, an InternalError, an
error without a name, 20 seconds or 4 GiB are findings. Every case runs in a process of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

USEFUL = [0, 1, 2, 3, -1, 4, -2]
# No sum of a few of them is a little less than 2^31, which would be allowed and takes gigabytes.
HOSTILE = [5, -7, 2**31 + 100, -(2**31) - 1, 2**32 + 1, -(2**32) - 1, 10**15, 2**63 - 1, -(2**63), -(2**63) + 1]
USEFUL_REALS = [0.0, 1.0, 2.0, 0.5, -1.0, 3.5]
HOSTILE_REALS = [float("nan"), float("inf"), -float("inf"), 1e15, -1e15, 1e-30, 3.4e38]
USER_ERRORS = ("ValueError", "TypeError", "TVMError", "IndexError", "NotImplementedError")

Inputs = dict[str, np.ndarray]
Draw = Callable[[random.Random], Inputs]


class Case(NamedTuple):
    """`model` gives something to call with the inputs; `word` is in every message of an error."""

    model: Callable[[], Callable[[Inputs], list[np.ndarray]]]
    draw: Draw
    want: Callable[[Inputs], list[np.ndarray]]
    word: str
    fine: Inputs  # inputs that must be answered
    tolerance: float = 1e-5


def integer(rng: random.Random) -> int:
    return rng.choice(USEFUL if rng.random() < 0.6 else HOSTILE)


def real(rng: random.Random) -> float:
    return rng.choice(USEFUL_REALS if rng.random() < 0.6 else HOSTILE_REALS)


def integers(rng: random.Random, count: int) -> np.ndarray:
    return np.array([integer(rng) for _ in range(count)], "int64")


def reals(rng: random.Random, count: int) -> np.ndarray:
    return np.array([real(rng) for _ in range(count)], "float32")


def numbers(*shape: int) -> np.ndarray:
    return np.arange(1, np.prod(shape, dtype=int) + 1, dtype="float32").reshape(shape)


# ---- ONNX -----------------------------------------------------------------------------------------------------------


def onnx_model(node: Any, example: Inputs, open_shapes: bool, constants: Inputs | None = None, outputs: int = 1) -> Any:
    types = []
    for name, value in example.items():
        is_open = open_shapes and name.startswith("x")
        shape = [f"{name}{i}" for i in range(value.ndim)] if is_open else list(value.shape)
        types.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    held = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output[:outputs]]
    graph = helper.make_graph([node], "graph", types, results, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def compiled(model: Any) -> Callable[[Inputs], list[np.ndarray]]:
    import tessera

    runnable = tessera.compile(model)
    return lambda inputs: [out.numpy() for out in runnable.run(inputs)]


def onnx_case(
    node: Any,
    example: Inputs,
    draw: Draw,
    *,
    want: Callable[[Inputs], list[np.ndarray]] | None = None,
    open_shapes: bool = False,
    constants: Inputs | None = None,
    outputs: int = 1,
    word: str = "",
    tolerance: float = 1e-5,
) -> Case:
    model = onnx_model(node, example, open_shapes, constants, outputs)

    def reference(inputs: Inputs) -> list[np.ndarray]:
        return list(ReferenceEvaluator(model).run(None, inputs))

    changed = lambda rng: {**example, **draw(rng)}
    return Case(lambda: compiled(model), changed, want or reference, word, example, tolerance)


def padded(mode: str) -> Callable[[Inputs], list[np.ndarray]]:
    """ONNX's reference knows no negative pads, which crop."""

    def want(inputs: Inputs) -> list[np.ndarray]:
        x, pads = inputs["x"], [int(pad) for pad in inputs["pads"]]
        rank = x.ndim
        for axis in range(rank):
            before, after = pads[axis], pads[axis + rank]
            size = x.shape[axis]
            if size + before + after < 0 or (mode == "edge" and size == 0 and max(before, after) > 0):
                raise ValueError("no such shape")
            indices = np.arange(size + before + after, dtype=object) - before
            inside = np.array([0 <= index < size for index in indices], bool)
            held = np.array([min(max(index, 0), size - 1) for index in indices], "int64")
            x = (
                np.take(x, held, axis)
                if size
                else np.zeros((*x.shape[:axis], len(indices), *x.shape[axis + 1 :]), x.dtype)
            )
            shape = [1] * rank
            shape[axis] = len(indices)
            if mode == "constant":
                x = np.where(inside.reshape(shape), x, np.float32(9)).astype("float32")
        return [x]

    return want


def sliced(inputs: Inputs) -> list[np.ndarray]:
    steps = inputs.get("steps", np.ones(2, "int64"))
    if 0 in steps:
        raise ValueError("a step of 0")

    def bound(value: int, size: int, step: int) -> int | None:
        value = int(value) + size if value < 0 else int(value)
        low, high = (-1, size - 1) if step < 0 else (0, size)
        value = min(max(value, low), high)
        return None if value < 0 else value

    slices = []
    for size, start, end, step in zip(inputs["x"].shape, inputs["starts"], inputs["ends"], steps):
        first, last = bound(start, size, step), bound(end, size, step)
        is_empty = first is None  # before the first element, going backwards
        slices.append(slice(0, 0) if is_empty else slice(first, last, int(step)))
    return [inputs["x"][tuple(slices)]]


def ranged(inputs: Inputs) -> list[np.ndarray]:
    first, last, step = (inputs[name].item() for name in ("start", "limit", "delta"))
    if step == 0 or not all(np.isfinite([first, last, step])):
        raise ValueError("no range")
    if isinstance(first, int):
        return [np.array(range(first, last, step), inputs["start"].dtype)]
    count = max(0, int(np.ceil((last - first) / step)))
    return [np.array([first + i * step for i in range(count)], inputs["start"].dtype)]


def reshaped(allowzero: int) -> Callable[[Inputs], list[np.ndarray]]:
    def want(inputs: Inputs) -> list[np.ndarray]:
        x, shape = inputs["x"], [int(extent) for extent in inputs["shape"]]
        if min(shape) < -1:
            raise ValueError("no such extent")
        if not allowzero:
            shape = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
        return [x.reshape(shape)]

    return want


def first_k(inputs: Inputs) -> list[np.ndarray]:
    k = int(inputs["k"][0])
    if k < 0 or k > inputs["x"].shape[-1]:
        raise ValueError("k")
    order = np.argsort(-inputs["x"], -1, kind="stable")[..., :k]
    return [np.take_along_axis(inputs["x"], order, -1), order]


def triangle(inputs: Inputs) -> list[np.ndarray]:
    x, k = inputs["x"], int(inputs["k"])
    rows, columns = np.indices(x.shape)
    return [np.where((columns.astype(object) - rows.astype(object) >= k).astype(bool), x, 0).astype(x.dtype)]


def expanded(inputs: Inputs) -> list[np.ndarray]:
    shape = [int(extent) for extent in inputs["shape"]]
    if min(shape) < 0:
        raise ValueError("no such extent")
    return [inputs["x"] * np.ones(shape, "float32")]


def tiled(inputs: Inputs) -> list[np.ndarray]:
    if min(inputs["reps"]) < 0:
        raise ValueError("reps")
    return [np.tile(inputs["x"], inputs["reps"].tolist())]


def nearest(inputs: Inputs) -> list[np.ndarray]:
    """Resize of "nearest", "asymmetric" and "floor"."""
    x = inputs["x"]
    scales = inputs.get("scales")
    for axis in range(x.ndim):
        size = x.shape[axis]
        if scales is not None:
            scale = scales[axis]
            if not np.isfinite(scale) or scale < 0 or size * scale >= 2**31:
                raise ValueError("scale")
            count = int(np.floor(np.float32(size) * scale))
        else:
            count = int(inputs["sizes"][axis])
            scale = np.float32(count) / np.float32(size)
        if count < 0:
            raise ValueError("count")
        indices = np.floor(np.arange(count, dtype="float32") / scale) if count else np.zeros(0)
        x = np.take(x, np.clip(indices, 0, size - 1).astype("int64"), axis)
    return [x]


def best_boxes(inputs: Inputs) -> list[np.ndarray]:
    """Of boxes that do not overlap."""
    if inputs["most"][0] < 0:
        raise LookupError("ONNX does not say")
    order = np.argsort(-inputs["scores"][0, 0])[: inputs["most"][0]]
    return [np.array([[0, 0, box] for box in order], "int64").reshape(-1, 3)]


def node(op: str, inputs: list[str], outputs: tuple[str, ...] = ("y",), **attributes: Any) -> Any:
    return helper.make_node(op, inputs, list(outputs), **attributes)


SLICE = {"x": numbers(4, 3), "starts": np.array([1, 0]), "ends": np.array([3, 2]), "steps": np.array([1, -1])}
ONE = {name: np.array(value, "int64") for name, value in (("start", 1), ("limit", 7), ("delta", 2))}


def range_case(dtype: str, make: Callable[[random.Random], Any]) -> Case:
    example = {name: value.astype(dtype) for name, value in ONE.items()}
    names = list(example)

    def draw(rng: random.Random) -> Inputs:
        while True:
            inputs = {name: np.array(make(rng)).astype(dtype) for name in names}
            with np.errstate(all="ignore"):
                start, limit, delta = (float(inputs[name]) for name in names)
                count = np.float64(limit - start) / delta
            if not 10**6 < count < 2**31:  # as many take memory and time
                return inputs

    return onnx_case(node("Range", names), example, draw, want=ranged, word="arange")


RESIZE: dict[str, Any] = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}

CASES: dict[str, Case] = {}


# ---- inputs of dynamic shapes that do not fit together --------------------------------------------------------------


def extents_case(op: str, shapes: list[tuple[int, ...]], want: Any = None, **attributes: Any) -> Case:
    """Inputs of these shapes, all of whose extents are dynamic and of no common name; now and then one has another extent."""
    names = [f"x{i}" for i in range(len(shapes))]
    example = {name: numbers(*shape) / np.float32(7) for name, shape in zip(names, shapes)}

    def draw(rng: random.Random) -> Inputs:
        changed = {}
        for name, shape in zip(names, shapes):
            extents = [rng.choice([0, 1, 2, 3, 5, 9]) if rng.random() < 0.25 else extent for extent in shape]
            changed[name] = numbers(*extents) / np.float32(7)
        return changed

    return onnx_case(node(op, names, **attributes), example, draw, want=want, open_shapes=True, tolerance=1e-3)


for op in ("Add", "Div", "Pow", "PRelu", "MatMul", "Max", "Sum"):
    CASES[f"{op} of shapes that differ"] = extents_case(op, [(2, 3), (3, 3)] if op == "MatMul" else [(2, 3), (2, 3)])
CASES["Concat of shapes that differ"] = extents_case("Concat", [(2, 3), (2, 3)], axis=1)
CASES["Gemm of shapes that differ"] = extents_case(
    "Gemm", [(2, 3), (3, 4), (2, 4)], lambda inputs: [inputs["x0"] @ inputs["x1"] + inputs["x2"]]
)
CASES["batches of MatMul that differ"] = extents_case("MatMul", [(2, 3, 4), (2, 4, 5)])
CASES["LayerNormalization of shapes that differ"] = extents_case("LayerNormalization", [(2, 3), (3,), (3,)])
CASES["BatchNormalization of shapes that differ"] = extents_case("BatchNormalization", [(2, 3, 4), *[(3,)] * 4])
CASES["InstanceNormalization of shapes that differ"] = extents_case("InstanceNormalization", [(2, 3, 4), (3,), (3,)])
for is_open in (False, True):
    suffix = " of a dynamic shape" if is_open else ""
    CASES["slice" + suffix] = onnx_case(
        node("Slice", ["x", "starts", "ends", "axes", "steps"]),
        SLICE,
        lambda rng: {name: integers(rng, 2) for name in ("starts", "ends", "steps")},
        want=sliced,
        open_shapes=is_open,
        constants={"axes": np.array([0, 1])},
        word="strided_slice",
    )
    CASES["expand" + suffix] = onnx_case(
        node("Expand", ["x", "shape"]),
        {"x": numbers(3, 1), "shape": np.array([3, 4])},
        lambda rng: {"shape": integers(rng, 2)},
        want=expanded,
        open_shapes=is_open,
    )
    for allowzero in (0, 1):
        CASES[f"reshape allowzero={allowzero}" + suffix] = onnx_case(
            node("Reshape", ["x", "shape"], allowzero=allowzero),
            {"x": numbers(2, 6), "shape": np.array([3, -1])},
            lambda rng: {"shape": integers(rng, 2)},
            want=reshaped(allowzero),
            open_shapes=is_open,
            word="reshape",
        )
    for mode in ("constant", "edge"):
        CASES[f"pad {mode}" + suffix] = onnx_case(
            node("Pad", ["x", "pads", "value"], mode=mode),
            {"x": numbers(3, 4), "pads": np.array([1, 0, 2, -1])},
            lambda rng: {"pads": integers(rng, 4)},
            want=padded(mode),
            open_shapes=is_open,
            constants={"value": np.array(9, "float32")},
        )
    CASES["tile" + suffix] = onnx_case(
        node("Tile", ["x", "reps"]),
        {"x": numbers(2, 3), "reps": np.array([2, 1])},
        lambda rng: {"reps": integers(rng, 2)},
        want=tiled,
        open_shapes=is_open,
        word="tile",
    )
    CASES["top-k" + suffix] = onnx_case(
        node("TopK", ["x", "k"], ("values", "indices")),
        {"x": numbers(2, 5), "k": np.array([2])},
        lambda rng: {"k": integers(rng, 1)},
        want=first_k,
        open_shapes=is_open,
        outputs=2,
        word="topk",
    )
    CASES["resize to sizes" + suffix] = onnx_case(
        node("Resize", ["x", "", "", "sizes"], **RESIZE),
        {"x": numbers(2, 3), "sizes": np.array([4, 3])},
        lambda rng: {"sizes": integers(rng, 2)},
        want=nearest,
        open_shapes=is_open,
    )
    CASES["resize by scales" + suffix] = onnx_case(
        node("Resize", ["x", "", "scales"], **RESIZE),
        {"x": numbers(2, 3), "scales": np.array([2, 1], "float32")},
        lambda rng: {"scales": reals(rng, 2)},
        want=nearest,
        open_shapes=is_open,
    )
    CASES["triangle" + suffix] = onnx_case(
        node("Trilu", ["x", "k"]),
        {"x": numbers(4, 5), "k": np.array(1)},
        lambda rng: {"k": np.array(integer(rng))},
        want=triangle,
        open_shapes=is_open,
    )
CASES["constant of shape"] = onnx_case(
    node("ConstantOfShape", ["shape"]),
    {"shape": np.array([2, 3])},
    lambda rng: {"shape": integers(rng, 2)},
    word="full",
)
CASES["suppression"] = onnx_case(
    node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"]),
    {
        "boxes": np.array([[[i, i, i + 1, i + 1] for i in range(4)]], "float32"),
        "scores": np.array([[[1, 3, 2, 4]]], "float32"),
        "most": np.array([2]),
    },
    lambda rng: {"most": integers(rng, 1)},
    want=best_boxes,
    constants={"overlap": np.array([0.5], "float32")},
)
CASES["range of int64"] = range_case("int64", integer)
CASES["range of int32"] = range_case("int32", integer)
CASES["range of float32"] = range_case("float32", real)
CASES["range of float64"] = range_case("float64", real)


# ---- Relay ----------------------------------------------------------------------------------------------------------


def relay_case(build: Callable[..., Any], example: Inputs, draw: Draw, want: Any, word: str) -> Case:
    """`build(relay, **variables)` is the body."""

    def model() -> Callable[[Inputs], list[np.ndarray]]:
        import tessera
        from tessera import relay
        from tessera.runtime.vm import VirtualMachine

        given = {name: relay.var(name, shape=value.shape, dtype=str(value.dtype)) for name, value in example.items()}
        function = relay.Function(list(given.values()), build(relay, **given))
        machine = VirtualMachine(relay.vm.compile(tessera.IRModule.from_expr(function), "llvm"), tessera.cpu())
        return lambda inputs: [machine.run(*inputs.values()).numpy()]

    return Case(model, lambda rng: {**example, **draw(rng)}, want, word, example)


def hot(inputs: Inputs) -> list[np.ndarray]:
    depth = int(inputs["depth"])
    if depth < 0:
        raise ValueError("depth")
    return [(inputs["indices"][..., None] == np.arange(depth)).astype("float32")]


def squeezed(inputs: Inputs) -> list[np.ndarray]:
    axes = [int(axis) for axis in inputs["axes"]]
    if not all(-3 <= axis < 3 for axis in axes):
        raise ValueError("axes")
    return [np.squeeze(inputs["x"], tuple(axes))]


def with_dims(inputs: Inputs) -> list[np.ndarray]:
    axis = int(inputs["axis"])
    if not -3 <= axis <= 2:
        raise ValueError("axis")
    return [np.expand_dims(inputs["x"], axis)]


def mirrored(inputs: Inputs) -> list[np.ndarray]:
    width = inputs["width"]
    size = np.array(inputs["x"].shape)
    if (width < 0).any():
        raise LookupError("NumPy crops nothing")
    if (width >= size[:, None]).any():
        raise ValueError("width")
    return [np.pad(inputs["x"], width, mode="reflect")]


def scaled(inputs: Inputs) -> list[np.ndarray]:
    height, width = (float(inputs[name]) for name in ("height", "width"))
    if not (np.isfinite(height) and np.isfinite(width) and 0 <= height < 1e6 and 0 <= width < 1e6):
        raise ValueError("scale")
    if not (height.is_integer() and width.is_integer()):
        raise LookupError("no reference")
    return [inputs["x"].repeat(int(height), 2).repeat(int(width), 3)]


def sized(inputs: Inputs) -> list[np.ndarray]:
    begin, size = ([int(number) for number in inputs[name]] for name in ("begin", "size"))
    out = inputs["x"]
    for axis, (first, count) in enumerate(zip(begin, size)):
        extent = out.shape[axis]
        first = min(max(first + extent if first < 0 else first, 0), extent)
        last = extent if count < 0 else min(first + count, extent)
        out = np.take(out, np.arange(first, last), axis)
    return [out]


CASES["dyn.one_hot"] = relay_case(
    lambda relay, indices, depth: relay.one_hot(indices, relay.const(1.0), relay.const(0.0), depth, -1, "float32"),
    {"indices": np.array([[0, 2], [5, -1]]), "depth": np.array(3)},
    lambda rng: {"depth": np.array(integer(rng))},
    hot,
    "one_hot",
)
CASES["dyn.squeeze"] = relay_case(
    lambda relay, x, axes: relay.squeeze(x, axes),
    {"x": numbers(1, 3, 1), "axes": np.array([0, -1])},
    lambda rng: {"axes": integers(rng, 2)},
    squeezed,
    "squeeze",
)
CASES["dyn.expand_dims"] = relay_case(
    lambda relay, x, axis: relay.expand_dims(x, axis, 1),
    {"x": numbers(2, 3), "axis": np.array(1)},
    lambda rng: {"axis": np.array(integer(rng))},
    with_dims,
    "expand_dims",
)
CASES["dyn.nn.pad reflect"] = relay_case(
    lambda relay, x, width: relay.op.dyn.nn._make.pad(x, width, relay.const(0.0), "reflect"),
    {"x": numbers(3, 4), "width": np.array([[1, 0], [2, 1]])},
    lambda rng: {"width": integers(rng, 4).reshape(2, 2)},
    mirrored,
    "pad",
)
CASES["dyn.nn.pad constant"] = relay_case(
    lambda relay, x, width: relay.op.dyn.nn._make.pad(x, width, relay.const(9.0), "constant"),
    {"x": numbers(3, 4), "width": np.array([[1, -1], [2, 1]])},
    lambda rng: {"width": integers(rng, 4).reshape(2, 2)},
    lambda inputs: padded("constant")({"x": inputs["x"], "pads": inputs["width"].T.reshape(-1)}),
    "pad",
)
CASES["dyn.nn.upsampling"] = relay_case(
    lambda relay, x, height, width: relay.op.dyn.nn._make.upsampling(x, height, width),
    {"x": numbers(1, 1, 2, 3), "height": np.array(2.0, "float32"), "width": np.array(1.0, "float32")},
    lambda rng: {name: np.array(real(rng), "float32") for name in ("height", "width")},
    scaled,
    "upsampling",
)
CASES["a slice by size"] = relay_case(
    lambda relay, x, begin, size: relay.strided_slice(x, begin, size, slice_mode="size"),
    {"x": numbers(4, 5), "begin": np.array([1, 0]), "size": np.array([2, -1])},
    lambda rng: {"begin": integers(rng, 2), "size": integers(rng, 2)},
    sized,
    "strided_slice",
)


# ---- judging --------------------------------------------------------------------------------------------------------


def problem(case: Case, run: Callable[[Inputs], list[np.ndarray]], inputs: Inputs, must_answer: bool = False) -> str:
    """What is wrong with the outcome; "" when it is right."""
    try:
        got = run(inputs)
    except Exception as error:
        names = {base.__name__ for base in type(error).__mro__}
        text = str(error)
        if must_answer:
            return f"rejected, though it is fine: {text[:500]}"
        if "InternalError" in names or not names & set(USER_ERRORS):
            return f"no error of a user: {type(error).__name__}: {text[:500]}"
        return "" if case.word in text and len(text) > 20 else f"an error without {case.word!r}: {text[:500]}"
    try:
        with np.errstate(all="ignore"):
            want = case.want(inputs)
    except LookupError:
        return ""
    except Exception as error:
        return f"a result of shape {[g.shape for g in got]}, where the reference says {type(error).__name__}: {error}"
    for have, expected in zip(got, want):
        expected = np.asarray(expected)
        if have.shape != expected.shape:
            return f"a result of shape {have.shape} instead of {expected.shape}"
        if not np.allclose(have, expected, rtol=case.tolerance, atol=1e-6, equal_nan=True):
            return f"another result: {have.ravel()[:8]} instead of {expected.ravel()[:8]}"
    return ""


def shown(inputs: Inputs) -> str:
    small = {name: value for name, value in inputs.items() if name != "x"}
    return ", ".join(f"{name}={value.tolist() if value.ndim < 2 else value.shape}" for name, value in small.items())


def problems(case: Case, draws: int, seed: int, seconds: float = float("inf"), progress: Any = None) -> list[str]:
    """What goes wrong in the useful example and in as many draws, or as many as there is time for after compilation."""
    run, rng, found = case.model(), random.Random(seed), []
    until = time.time() + seconds
    for i in range(draws + 1):
        if time.time() > until:
            break
        inputs = case.fine if i == 0 else case.draw(rng)
        if progress is not None:
            progress(shown(inputs))
        wrong = problem(case, run, inputs, must_answer=i == 0)
        if wrong:
            found.append(f"{shown(inputs)}: {wrong}")
    return found


def work(name: str, seed: int, seconds: float, note: str, queue: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))

    def progress(text: str) -> None:
        Path(note).write_text(text)  # what a crash leaves behind
        signal.alarm(20)  # nothing handles it: the process ends

    queue.put(problems(CASES[name], 10**9, seed, seconds, progress)[:20])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a pattern that names of cases must match")
    options = parser.parse_args()
    chosen = [name for name in CASES if re.search(options.only, name)]
    failed = False
    for name in chosen:
        queue: Any = multiprocessing.SimpleQueue()
        with tempfile.NamedTemporaryFile("r") as note:
            seconds = options.seconds / len(chosen)
            child = multiprocessing.Process(target=work, args=(name, options.seed, seconds, note.name, queue))
            child.start()
            child.join()
            found = [f"{note.read()}: the process ended with {child.exitcode}"] if queue.empty() else queue.get()
        failed |= bool(found)
        print(f"{name}: {len(found)} problems" if found else f"{name}: clean", flush=True)
        for text in sorted(set(found))[:5]:
            print("   ", text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
