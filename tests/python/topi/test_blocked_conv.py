"""Convolutions whose channels lie in blocks: what AlterOpLayout and the CPU rule make of them, against NumPy."""

import subprocess
import sys

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor


def reference(x, w, strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))).astype("float64")
    outs, ins, kh, kw = w.shape
    oh = (x.shape[2] - (kh - 1) * dilation[0] - 1) // strides[0] + 1
    ow = (x.shape[3] - (kw - 1) * dilation[1] - 1) // strides[1] + 1
    out = np.zeros((x.shape[0], outs, oh, ow))
    for group in range(groups):
        of = slice(group * outs // groups, (group + 1) * outs // groups)
        part = x[:, group * ins : (group + 1) * ins]
        for i in range(kh):
            for j in range(kw):
                y, z = i * dilation[0], j * dilation[1]
                window = part[:, :, y : y + (oh - 1) * strides[0] + 1 : strides[0]]
                window = window[:, :, :, z : z + (ow - 1) * strides[1] + 1 : strides[1]]
                out[:, of] += np.einsum("nchw,oc->nohw", window, w[of, :, i, j])
    return out


def values(*shape, seed=0):
    return np.random.default_rng(seed + sum(shape)).standard_normal(shape).astype("float32")


def run(function, inputs, target="llvm", config=None):
    mod = tvm.IRModule.from_expr(function)
    with tvm.transform.PassContext(opt_level=3, config=config or {}):
        module = graph_executor.GraphModule(relay.build(mod, target)["default"](tvm.cpu()))
    module.run(**inputs)
    return module.get_output(0).numpy()


def blocked_text(function, target="llvm -mcpu=skylake-avx512"):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target(target), tvm.transform.PassContext(opt_level=3):
        return str(relay.transform.AlterOpLayout()(mod))


# data, weight, and how
SHAPES = {
    "3x3": ((1, 32, 14, 14), (32, 32, 3, 3), {"padding": (1, 1, 1, 1)}),
    "3x3 of 7 pixels": ((1, 64, 7, 7), (64, 64, 3, 3), {"padding": (1, 1, 1, 1)}),
    "1x1": ((1, 32, 9, 9), (64, 32, 1, 1), {}),
    "1x1 strided": ((1, 32, 15, 15), (48, 32, 1, 1), {"strides": (2, 2)}),
    "a prime width": ((1, 16, 5, 37), (32, 16, 3, 3), {"padding": (1, 1, 1, 1)}),
    "a first layer": ((1, 3, 30, 30), (32, 3, 7, 7), {"strides": (2, 2), "padding": (3, 3, 3, 3)}),
    "one channel": ((1, 1, 12, 12), (16, 1, 5, 5), {}),
    "17 channels in": ((1, 17, 8, 8), (16, 17, 3, 3), {"padding": (1, 1, 1, 1)}),
    "33 channels in": ((1, 33, 8, 8), (40, 33, 3, 3), {}),
    "17 channels out": ((1, 16, 8, 8), (17, 16, 3, 3), {}),
    "6 channels out": ((1, 24, 1, 1), (6, 24, 1, 1), {}),
    "24 to 40 channels": ((1, 24, 10, 10), (40, 24, 1, 1), {}),
    "12 to 20 channels": ((1, 12, 10, 10), (20, 12, 3, 3), {}),
    "asymmetric": ((1, 16, 11, 13), (16, 16, 3, 5), {"strides": (2, 1), "padding": (0, 1, 2, 3)}),
    "dilated": ((1, 16, 16, 16), (16, 16, 3, 3), {"dilation": (2, 3), "padding": (2, 3, 2, 3)}),
    "one pixel": ((1, 64, 1, 1), (128, 64, 1, 1), {}),
    "two by two": ((1, 32, 2, 2), (32, 32, 3, 3), {"padding": (1, 1, 1, 1)}),
    "a batch of 3": ((3, 16, 8, 8), (32, 16, 3, 3), {"padding": (1, 1, 1, 1)}),
    "7x1": ((1, 16, 17, 17), (32, 16, 7, 1), {"padding": (3, 0, 3, 0)}),
    "each channel alone": ((1, 32, 14, 14), (32, 1, 3, 3), {"groups": 32, "padding": (1, 1, 1, 1)}),
    "each alone, strided": ((1, 48, 15, 15), (48, 1, 3, 3), {"groups": 48, "padding": (1, 1, 1, 1), "strides": (2, 2)}),
    "each alone, 5x5": ((2, 24, 9, 9), (24, 1, 5, 5), {"groups": 24, "padding": (2, 2, 2, 2)}),
    "each alone, 9x9": ((1, 16, 20, 20), (16, 1, 9, 9), {"groups": 16, "padding": (4, 4, 4, 4)}),
    "each alone, 17 of them": ((1, 17, 9, 9), (17, 1, 3, 3), {"groups": 17}),
    "each alone, dilated": ((1, 16, 12, 12), (16, 1, 3, 3), {"groups": 16, "dilation": (2, 2)}),
    "in groups": ((1, 32, 9, 9), (64, 16, 3, 3), {"groups": 2, "padding": (1, 1, 1, 1)}),
    "in small groups": ((1, 12, 9, 9), (24, 3, 3, 3), {"groups": 4}),
    "two for each channel": ((1, 16, 9, 9), (32, 1, 3, 3), {"groups": 16}),
}


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"])
def test_a_convolution_gives_its_sums(name, target):
    data, weight, how = SHAPES[name]
    x, w = relay.var("x", shape=data), relay.var("w", shape=weight)
    y = relay.nn.conv2d(x, w, kernel_size=weight[2:], channels=weight[0], **how)
    inputs = {"x": values(*data), "w": values(*weight, seed=1)}
    got = run(relay.Function([x, w], y), inputs, target)
    want = reference(inputs["x"], inputs["w"], **how)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


EPILOGUES = {
    "bias": lambda y, b, z: relay.nn.bias_add(y, b),
    "bias and relu": lambda y, b, z: relay.nn.relu(relay.nn.bias_add(y, b)),
    "residual": lambda y, b, z: relay.nn.relu(relay.nn.bias_add(y, b) + z),
    "clip": lambda y, b, z: relay.clip(relay.nn.bias_add(y, b), 0, 6),
    "swish": lambda y, b, z: y * relay.sigmoid(y),
    "hard swish": lambda y, b, z: y * relay.clip(y + relay.const(3.0), 0, 6) / relay.const(6.0),
    "gate": lambda y, b, z: y * relay.sigmoid(relay.nn.global_avg_pool2d(z)),
    "concatenated": lambda y, b, z: relay.concatenate([relay.nn.relu(y), z], axis=1),
    "pooled": lambda y, b, z: relay.nn.max_pool2d(relay.nn.relu(y), (3, 3), (2, 2), padding=(1, 1)),
    "a mean": lambda y, b, z: relay.mean(y + z, axis=[2, 3]),
    "flat": lambda y, b, z: relay.nn.batch_flatten(relay.nn.relu(y)),
}


def numpy_epilogue(name, y, b, z):
    bias = b.reshape(-1, 1, 1)

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def pooled(v):
        v = np.pad(v, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        return np.max([v[:, :, i : i + 13 : 2, j : j + 13 : 2] for i in range(3) for j in range(3)], axis=0)

    return {
        "bias": lambda: y + bias,
        "bias and relu": lambda: np.maximum(y + bias, 0),
        "residual": lambda: np.maximum(y + bias + z, 0),
        "clip": lambda: np.clip(y + bias, 0, 6),
        "swish": lambda: y * sigmoid(y),
        "hard swish": lambda: y * np.clip(y + 3, 0, 6) / 6,
        "gate": lambda: y * sigmoid(z.mean((2, 3), keepdims=True)),
        "concatenated": lambda: np.concatenate([np.maximum(y, 0), z], 1),
        "pooled": lambda: pooled(np.maximum(y, 0)),
        "a mean": lambda: (y + z).mean((2, 3)),
        "flat": lambda: np.maximum(y, 0).reshape(y.shape[0], -1),
    }[name]()


@pytest.mark.parametrize("name", sorted(EPILOGUES))
@pytest.mark.parametrize("outs", [32, 40])
def test_what_follows_a_convolution_is_computed_with_it(name, outs):
    x, w = relay.var("x", shape=(1, 16, 13, 13)), relay.var("w", shape=(outs, 16, 3, 3))
    b, z = relay.var("b", shape=(outs,)), relay.var("z", shape=(1, outs, 13, 13))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=outs, padding=(1, 1))
    function = relay.Function([x, w, b, z], EPILOGUES[name](y, b, z))
    inputs = {"x": values(1, 16, 13, 13), "w": values(outs, 16, 3, 3), "b": values(outs), "z": values(1, outs, 13, 13)}
    got = run(function, inputs)
    sums = reference(inputs["x"], inputs["w"], padding=(1, 1, 1, 1))
    want = numpy_epilogue(name, sums, inputs["b"], inputs["z"])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_channels_last_are_taken_too():
    x, w = relay.var("x", shape=(1, 9, 9, 16)), relay.var("w", shape=(3, 3, 16, 32))
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=32, padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO")
    inputs = {"x": values(1, 9, 9, 16), "w": values(3, 3, 16, 32)}
    got = run(relay.Function([x, w], relay.nn.relu(y)), inputs)
    want = reference(inputs["x"].transpose(0, 3, 1, 2), inputs["w"].transpose(3, 2, 0, 1), padding=(1, 1, 1, 1))
    np.testing.assert_allclose(got, np.maximum(want, 0).transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-3)


def chain(channels):
    x = y = relay.var("x", shape=(1, channels[0], 12, 12))
    params = [x]
    for before, after in zip(channels, channels[1:]):
        params.append(relay.var(f"w{len(params)}", shape=(after, before, 3, 3)))
        y = relay.nn.relu(relay.nn.conv2d(y, params[-1], kernel_size=(3, 3), channels=after, padding=(1, 1)))
    return relay.Function(params, y)


def test_between_convolutions_nothing_is_moved():
    text = blocked_text(chain([3, 32, 24, 144, 40, 16]))
    # the data, five weights and the result
    assert text.count("layout_transform") == 7
    for layout in ("NCHW1c", "NCHW16c", "NCHW8c", "OIHW1i16o", "OIHW8i16o"):
        assert f'"{layout}"' in text


def test_blocks_are_what_a_register_of_the_target_holds():
    function = chain([16, 32])
    assert '"NCHW16c"' in blocked_text(function)
    assert '"NCHW8c"' in blocked_text(function, "llvm -mcpu=haswell")
    assert '"NCHW4c"' in blocked_text(function, "llvm -mtriple=aarch64-linux-gnu")


@pytest.mark.parametrize("outs", [1, 6, 17])
def test_results_that_fill_no_vector_keep_their_layout(outs):
    assert "layout_transform" not in blocked_text(chain([16, outs]))


def test_another_number_of_threads_gives_the_same_bits():
    program = """
import sys
import numpy as np, tessera as tvm
sys.path.insert(0, sys.argv[1])
import test_blocked_conv as t
f = t.chain([3, 32, 24, 48])
inputs = {p.name_hint: t.values(*(int(d) for d in p.type_annotation.shape)) for p in f.params}
print(hash(t.run(f, inputs).tobytes().hex()))
"""
    import os
    import pathlib

    seen = set()
    for threads in ("1", "2", "3"):
        env = dict(os.environ, TVM_NUM_THREADS=threads, PYTHONHASHSEED="0")
        here = str(pathlib.Path(__file__).parent)
        done = subprocess.run(
            [sys.executable, "-c", program, here], env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


def test_the_sums_of_a_tile_are_in_registers():
    texts = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def see(func, mod, ctx):
        texts.append(str(func))
        return func

    with tvm.transform.PassContext(opt_level=3, config={"tir.add_lower_pass": [(3, see)]}):
        relay.build(tvm.IRModule.from_expr(chain([16, 32])), "llvm -mcpu=skylake-avx512")
    text = "\n".join(texts)
    assert "Pointer(local float32x16), float32x16, [24])" in text  # 12 pixels of two vectors
