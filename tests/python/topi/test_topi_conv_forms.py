"""Gradients, int8 blocks and Winograd's form of convolutions, and LSTM, against NumPy."""

import numpy as np
import pytest
import tessera
from tessera import te, topi
from tessera.topi.testing import compare_numpy_tvm


def check(inputs, wanted, compute):
    compare_numpy_tvm(inputs, wanted, "llvm", tessera.cpu(), compute, topi.generic.schedule_injective)


def random(*shape):
    return np.random.default_rng(2).random(shape).astype("float32")


def depthwise(data, weight, stride, padding):
    top, left, bottom, right = padding
    padded = np.pad(data, ((0, 0), (top, bottom), (left, right), (0, 0)))
    return topi.testing.depthwise_conv2d_python_nhwc(padded, weight, stride, "VALID")


@pytest.mark.parametrize("stride, padding, size", [(1, (1, 1, 1, 1), 7), (2, (1, 0, 1, 0), 8), (2, (0, 0, 0, 0), 8)])
def test_gradients_of_a_depthwise_convolution(stride, padding, size):
    data, weight = random(2, size, size, 3), random(3, 3, 3, 2)
    out = depthwise(data, weight, stride, padding)
    grad = random(*out.shape)
    # The convolution is linear in both: its gradient for one element is what it gives for that element alone.
    data_grad, weight_grad = np.zeros_like(data), np.zeros_like(weight)
    for index in np.ndindex(data.shape[1:]):
        one = np.zeros((1, *data.shape[1:]), "float32")
        one[(0, *index)] = 1
        answer = depthwise(one, weight, stride, padding)[0]
        data_grad[(slice(None), *index)] = (grad * answer).sum((1, 2, 3))
    for index in np.ndindex(weight.shape):
        one = np.zeros_like(weight)
        one[index] = 1
        weight_grad[index] = (grad * depthwise(data, one, stride, padding)).sum()
    check(
        [weight, grad],
        data_grad,
        lambda w, g: topi.nn.depthwise_conv2d_backward_input_nhwc(w, g, out.shape, data.shape, stride, padding),
    )
    check(
        [data, grad],
        weight_grad,
        lambda x, g: topi.nn.depthwise_conv2d_backward_weight_nhwc(x, g, out.shape, weight.shape, stride, padding),
    )


@pytest.mark.parametrize("groups", [1, 2])
def test_conv2d_of_int8_in_blocks_of_channels(groups):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 127, (1, 16, 6, 6)).astype("uint8")
    weight = rng.integers(-127, 127, (16, 16 // groups, 3, 3)).astype("int8")
    wanted = topi.testing.conv2d_nchw_python(data.astype("int32"), weight.astype("int32"), 1, 1, groups)
    blocked = data.reshape(1, 2, 8, 6, 6).transpose(0, 1, 3, 4, 2).copy()
    filters = weight.reshape(2, 8, 2 // groups, 2, 4, 3, 3).transpose(0, 2, 5, 6, 3, 1, 4).copy()
    wanted = wanted.reshape(1, 2, 8, 6, 6).transpose(0, 1, 3, 4, 2).copy()
    check([blocked, filters], wanted, lambda x, w: topi.nn.conv2d_NCHWc_int8(x, w, 1, 1, 1, "NCHW8c", "NCHW8c"))


@pytest.mark.parametrize("data_type", ["int8", "uint8"])
def test_plain_int8_is_packed_into_blocks_of_channels(data_type):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 127, (2, 12, 6, 6)).astype(data_type)
    weight = rng.integers(0, 127, (16, 12, 3, 3)).astype(data_type)
    wanted = topi.testing.conv2d_nchw_python(data.astype("int32"), weight.astype("int32"), 2, (1, 2, 2, 1))
    wanted = wanted.reshape(2, 2, 8, *wanted.shape[2:]).transpose(0, 1, 3, 4, 2)
    check(
        [data, weight],
        wanted,
        lambda x, w: topi.arm_cpu.conv2d_NCHWc_int8(x, w, 2, (1, 2, 2, 1), 1, "NCHW", "NCHW", "int32"),
    )


def test_channels_that_no_instruction_adds_up_are_told():
    data, weight = te.placeholder((1, 6, 8, 8), "int8"), te.placeholder((8, 6, 3, 3), "int8")
    with pytest.raises(ValueError, match="6 channels of a kernel of 8-bit integers are no multiple of 4"):
        topi.nn.conv2d_NCHWc_int8(data, weight, 1, 1, 1, "NCHW", "NCHW")


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_winograd_with_and_without_a_transformed_weight(layout):
    data, weight = random(1, 8, 10, 10), random(4, 8, 3, 3)
    wanted = topi.testing.conv2d_nchw_python(data, weight, 1, 1)
    plain = weight
    if layout == "nhwc":
        data, wanted, plain = (
            data.transpose(0, 2, 3, 1).copy(),
            wanted.transpose(0, 2, 3, 1),
            weight.transpose(2, 3, 1, 0),
        )
    function = getattr(topi.nn, f"conv2d_winograd_{layout}")
    check([data, plain.copy()], wanted, lambda x, w: function(x, w, 1, 1, 1, "float32"))

    def transformed(x, w):
        return function(x, topi.nn.conv2d_winograd_weight_transform(w, 4), 1, 1, 1, "float32", pre_computed=True)

    check([data, weight], wanted, transformed)


@pytest.mark.parametrize("tile, kernel_size", [(2, 3), (4, 3), (6, 3), (3, 5)])
def test_matrices_of_winograd_give_the_convolution_of_a_tile(tile, kernel_size):
    out = [te.create_schedule(t.op) for t in topi.nn.winograd_transform_matrices(tile, kernel_size, "float64")]
    values = []
    for schedule in out:
        tensor = schedule.outputs[0].output(0)
        result = tessera.nd.empty([int(e) for e in tensor.shape], "float64")
        tessera.build(schedule, [tensor], "llvm")(result)
        values.append(result.numpy())
    a, b, g = values
    data, kernel = np.random.default_rng(0).random(tile + kernel_size - 1), np.random.default_rng(1).random(kernel_size)
    np.testing.assert_allclose(a.T @ ((g @ kernel) * (b.T @ data)), np.correlate(data, kernel, "valid"), 1e-9)


@pytest.mark.parametrize("depth", [1, 3])
def test_weight_of_a_winograd_convolution_in_three_dimensions(depth):
    weight = random(2, 3, depth, 3, 3)
    g = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    letters = "ya,xb,oizab->zyxoi" if depth == 1 else "zc,ya,xb,oicab->zyxoi"
    matrices = [g, g] if depth == 1 else [g, g, g]
    wanted = np.abs(np.einsum(letters, *matrices, weight)).astype("float32")
    check([weight], wanted, lambda w: topi.abs(topi.nn.conv3d_winograd_weight_transform(w, 2)))


@pytest.mark.parametrize(
    "layout, options",
    [("IFGO", ""), ("IOFG", "bias init"), ("IFGO", "bias peephole reverse"), ("IFGO", "projection init")],
)
def test_lstm(layout, options):
    rng = np.random.default_rng(0)

    def array(*shape):
        return (rng.random(shape) - 0.5).astype("float32")

    steps, batch, features, width = 5, 2, 4, 3
    out_width = 2 if "projection" in options else width
    named = {"Xs": array(steps, batch, features), "Wi": array(4 * width, features), "Wh": array(4 * width, out_width)}
    if "bias" in options:
        named.update(Bi=array(4 * width), Bh=array(4 * width))
    if "init" in options:
        named.update(h_init=array(batch, out_width), c_init=array(batch, width))
    if "peephole" in options:
        named.update({f"p_{gate}": array(batch, width) for gate in "ifo"})
    if "projection" in options:
        named["proj"] = array(out_width, width)
    others = {"reverse": "reverse" in options, "weight_layout": layout}
    wanted = topi.testing.lstm_python(**named, **others)
    tensors = {name: te.placeholder(value.shape, name=name) for name, value in named.items()}
    outs = topi.nn.lstm(**tensors, **others)
    function = tessera.build(te.create_schedule([out.op for out in outs]), [*tensors.values(), *outs], "llvm")
    results = [tessera.nd.empty(value.shape) for value in wanted]
    function(*map(tessera.nd.array, named.values()), *results)
    for result, value in zip(results, wanted):
        np.testing.assert_allclose(result.numpy(), value, 1e-4, 1e-5)
