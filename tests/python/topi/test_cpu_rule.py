"""The CPU rule for fused functions: what is computed once, and sums in registers."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor


def conv(ic, oc, h, w, k, stride=1, groups=1, padding=0):
    x = relay.var("x", shape=(1, ic, h, w))
    weight = relay.var("w", shape=(oc, ic // groups, k, k))
    y = relay.nn.conv2d(
        x, weight, strides=(stride, stride), padding=(padding, padding), groups=groups, channels=oc, kernel_size=(k, k)
    )
    return relay.Function([x, weight], relay.nn.relu(y))


def reference(x, w, stride, groups, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    oc, ic, k, _ = w.shape
    h, width = (x.shape[2] - k) // stride + 1, (x.shape[3] - k) // stride + 1
    out = np.zeros((1, oc, h, width), "float32")
    for f in range(oc):
        first = f // (oc // groups) * ic
        for i in range(k):
            for j in range(k):
                part = x[0, first : first + ic, i : i + h * stride : stride, j : j + width * stride : stride]
                out[0, f] += np.tensordot(w[f, :, i, j], part, 1)
    return np.maximum(out, 0)


def lowered(function):
    """The scheduled loops of a model's kernels in the layouts it has, as text."""
    texts = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def see(func, mod, ctx):
        texts.append(str(func))
        return func

    config = {"tir.add_lower_pass": [(3, see)]}
    with tvm.transform.PassContext(opt_level=3, disabled_pass=["AlterOpLayout"], config=config):
        relay.build(tvm.IRModule.from_expr(function), "llvm -mcpu=skylake-avx512")
    return "\n".join(texts)


SHAPES = {
    "whole vectors": (4, 16, 10, 34, 3, 1, 1, 0),
    "a vector of 14": (4, 32, 16, 16, 3, 1, 1, 0),
    "a prime width": (3, 8, 6, 75, 3, 1, 1, 0),
    "narrow": (8, 8, 5, 5, 3, 1, 1, 1),
    "strided": (4, 16, 17, 33, 3, 2, 1, 1),
    "of one channel each": (8, 8, 12, 16, 3, 1, 8, 1),
    "in groups": (8, 16, 10, 16, 3, 1, 2, 1),
    "of one output": (8, 1, 10, 16, 1, 1, 1, 0),
    "rows a page apart": (1024, 16, 4, 16, 1, 1, 1, 0),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=x86-64"])
def test_tiles_of_a_convolution_give_its_sums(name, target):
    ic, oc, h, w, k, stride, groups, padding = SHAPES[name]
    function = conv(*SHAPES[name])
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1, ic, h, w)).astype("float32")
    weight = rng.standard_normal((oc, ic // groups, k, k)).astype("float32")
    module = graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(function), target)["default"](tvm.cpu()))
    module.run(x=x, w=weight)
    want = reference(x, weight, stride, groups, padding)
    np.testing.assert_allclose(module.get_output(0).numpy(), want, rtol=1e-4, atol=1e-3)


def test_sums_of_a_convolution_are_kept_in_registers():
    text = lowered(conv(16, 32, 16, 16, 3))
    assert 'for (i0_i1_0_i2_fused: int32, 0, 28) "parallel"' in text  # two tiles of features times 14 rows
    assert "Pointer(local float32x14), float32x14, [16])" in text  # 16 sums of a row of 14
    assert "conv2d_nchw_local_1[15] = (conv2d_nchw_local_1[15] + (p0[ramp(" in text


def test_padding_is_computed_once_and_not_in_the_loops_of_the_sums():
    text = lowered(conv(16, 32, 16, 16, 3, padding=1))
    sums = text[text.rindex('"parallel"') :]
    assert "pad_temp" in text and "if (" in text  # of rows, not of elements
    assert "if_then_else" not in text and "if (" not in sums


@pytest.mark.parametrize("count", [2, 4, 5, 9, 25])
def test_many_tensors_are_concatenated(count):
    inputs = [relay.var(f"x{i}", shape=(1, 3 + i % 4, 6, 5)) for i in range(count)]
    function = relay.Function(inputs, relay.nn.relu(relay.concatenate(inputs, axis=1)))
    module = graph_executor.GraphModule(relay.build(tvm.IRModule.from_expr(function), "llvm")["default"](tvm.cpu()))
    rng = np.random.default_rng(count)
    values = [rng.standard_normal((1, 3 + i % 4, 6, 5)).astype("float32") for i in range(count)]
    module.run(**{f"x{i}": value for i, value in enumerate(values)})
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.maximum(np.concatenate(values, 1), 0))


def test_parts_that_are_worth_sharing_are_shared_by_one_launch():
    extents = [40, 7, 64, 33]
    inputs = [relay.var(f"x{i}", shape=(2, n, 64, 16)) for i, n in enumerate(extents)]
    mod = tvm.IRModule.from_expr(relay.Function(inputs, relay.nn.relu(relay.concatenate(inputs, axis=1))))
    built = relay.build(mod, "llvm")
    assert built.get_lib().get_source("ll").count("load ptr, ptr @__TVMBackendParallelLaunch") == 1
    module = graph_executor.GraphModule(built["default"](tvm.cpu()))
    rng = np.random.default_rng(5)
    values = [rng.standard_normal((2, n, 64, 16)).astype("float32") for n in extents]
    module.run(**{f"x{i}": value for i, value in enumerate(values)})
    np.testing.assert_array_equal(module.get_output(0).numpy(), np.maximum(np.concatenate(values, 1), 0))
