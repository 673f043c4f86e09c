"""Contractions of int8 by int8: exact on every target, and by the dot products of int8 where a CPU has them."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.contrib.graph_executor import GraphModule

RNG = np.random.default_rng(11)


def int8(*shape):
    """All numbers, with both ends."""
    out = RNG.integers(-128, 128, shape).astype("int8")
    out.ravel()[:2] = (-128, 127)
    return out


def conv2d(x, w, stride, padding, groups):
    """NCHW and OIHW in int64."""
    channels, outs = x.shape[1], len(w)
    x = np.pad(x.astype("int64"), [(0, 0), (0, 0), (padding, padding), (padding, padding)])
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    parts = []
    for group in range(groups):
        mine = windows[:, group * channels // groups : (group + 1) * channels // groups]
        filters = w[group * outs // groups : (group + 1) * outs // groups].astype("int64")
        parts.append(np.einsum("nchwyx,ocyx->nohw", mine, filters))
    return np.concatenate(parts, 1)


def run(function, values, target):
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(function), target)
    module = GraphModule(library["default"](tessera.cpu()))
    module.run(**values)
    return module.get_output(0).numpy()


CONVS = {  # batch, channels in and out, kernel, stride, padding, groups
    "1x1": (1, 32, 16, 1, 1, 0, 1),
    "3x3": (2, 16, 32, 3, 1, 1, 1),
    "strided": (1, 8, 48, 5, 2, 2, 1),
    "odd_channels": (1, 3, 21, 3, 1, 1, 1),
    "few_channels": (1, 5, 2, 3, 1, 0, 1),
    "by_channel": (1, 24, 24, 3, 1, 1, 24),
    "groups": (1, 16, 32, 3, 1, 1, 4),
}
TARGETS = ["llvm -mcpu=native", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"]
CASES = [(case, layout) for case in CONVS for layout in ("NCHW", "NHWC") if (case, layout) != ("groups", "NHWC")]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case, layout", CASES)
def test_convolutions(case, layout, target):
    batch, ins, outs, size, stride, padding, groups = CONVS[case]
    x, w = int8(batch, ins, 13, 11), int8(outs, ins // groups, size, size)
    wanted = conv2d(x, w, stride, padding, groups)
    kernel = "OIHW"
    if layout == "NHWC":
        x, wanted = x.transpose(0, 2, 3, 1), wanted.transpose(0, 2, 3, 1)
        kernel = "HWOI" if groups > 1 else "HWIO"
        w = w.transpose(2, 3, 0, 1) if groups > 1 else w.transpose(2, 3, 1, 0)
    data = relay.var("x", shape=x.shape, dtype="int8")
    options = {"strides": (stride, stride), "padding": (padding, padding), "groups": groups, "channels": outs}
    options |= {"kernel_size": (size, size), "data_layout": layout, "kernel_layout": kernel, "out_dtype": "int32"}
    constant = relay.Function([data], relay.nn.conv2d(data, relay.const(w), **options))
    np.testing.assert_array_equal(run(constant, {"x": x}, target), wanted)
    weight = relay.var("w", shape=w.shape, dtype="int8")
    given = relay.Function([data, weight], relay.nn.conv2d(data, weight, **options))
    np.testing.assert_array_equal(run(given, {"x": x, "w": w}, target), wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("m, n, k", [(1, 32, 64), (7, 19, 33), (16, 48, 128)])
def test_matmuls(m, n, k, target):
    x, w = int8(m, k), int8(n, k)
    wanted = x.astype("int64") @ w.astype("int64").T
    data = relay.var("x", shape=x.shape, dtype="int8")
    forms = [
        relay.nn.dense(data, relay.const(w), out_dtype="int32"),
        relay.nn.matmul(data, relay.const(w.T.copy()), out_dtype="int32"),
        relay.nn.matmul(data, relay.const(w), out_dtype="int32", transpose_b=True),
    ]
    for form in forms:
        np.testing.assert_array_equal(run(relay.Function([data], form), {"x": x}, target), wanted)
    batch = relay.var("x", shape=(2, m, k), dtype="int8")
    other = relay.var("y", shape=(2, n, k), dtype="int8")
    values = {"x": np.stack([x, -(x // 2)]), "y": np.stack([w, w[::-1]])}
    wanted = values["x"].astype("int64") @ values["y"].astype("int64").transpose(0, 2, 1)
    form = relay.nn.batch_matmul(batch, other, out_dtype="int32")
    np.testing.assert_array_equal(run(relay.Function([batch, other], form), values, target), wanted)


def test_data_of_any_extents():
    data = relay.var("x", shape=(relay.Any(), 16, relay.Any(), 9), dtype="int8")
    w = int8(16, 16, 3, 3)
    layer = relay.nn.conv2d(data, relay.const(w), padding=(1, 1), channels=16, kernel_size=(3, 3), out_dtype="int32")
    mod = tessera.IRModule.from_expr(relay.Function([data], layer))
    run_it = relay.create_executor("vm", mod, tessera.cpu(), "llvm -mcpu=native").evaluate()
    for batch, height in ((1, 7), (3, 12)):
        x = int8(batch, 16, height, 9)
        np.testing.assert_array_equal(run_it(x).numpy(), conv2d(x, w, 1, 1, 1))


def test_the_dot_products_of_the_machine_are_used():
    image, row = relay.var("x", shape=(1, 16, 14, 14), dtype="int8"), relay.var("x", shape=(8, 64), dtype="int8")
    options = {"padding": (1, 1), "channels": 32, "kernel_size": (3, 3), "out_dtype": "int32"}
    conv = relay.nn.conv2d(image, relay.const(int8(32, 16, 3, 3)), **options)
    dense = relay.nn.dense(row, relay.const(int8(32, 64)), out_dtype="int32")
    for function in (relay.Function([image], conv), relay.Function([row], dense)):
        with tessera.transform.PassContext(opt_level=3):
            library = relay.build(tessera.IRModule.from_expr(function), "llvm -mcpu=cascadelake")
        assert "vpdpbusd" in library.get_lib().get_source("asm")
