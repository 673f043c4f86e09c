"""Convolutions whose channels fill no vector are computed with channel padding, which are cut off."""

import numpy as np
import pytest
import tessera
from kernel_checks import run
from tessera import relay


def transposed(channels, size, stride, kernel_layout="IOHW"):
    random = np.random.RandomState(channels)
    x = relay.var("x", shape=(1, 6, 5, 7))
    weight = random.uniform(-1, 1, (6, channels, size, size)).astype("float32")
    if kernel_layout == "OIHW":
        weight = np.ascontiguousarray(weight.transpose(1, 0, 2, 3))
    out = relay.nn.conv2d_transpose(
        x,
        relay.const(weight),
        strides=(stride, stride),
        channels=channels,
        kernel_size=(size, size),
        kernel_layout=kernel_layout,
        padding=(1, 1),
    )
    return relay.Function([x], relay.nn.relu(out)), random.uniform(-1, 1, (1, 6, 5, 7)).astype("float32")


@pytest.mark.parametrize("kernel_layout", ["IOHW", "OIHW"])
@pytest.mark.parametrize("channels", [1, 3, 6, 21])
@pytest.mark.parametrize("size, stride", [(4, 2), (3, 2), (3, 1)])
def test_results_are_those_of_the_plain_convolution(channels, size, stride, kernel_layout):
    function, data = transposed(channels, size, stride, kernel_layout)
    want = run(function, [data], disabled_pass=["Legalize", "AlterOpLayout"])
    np.testing.assert_allclose(run(function, [data]), want, rtol=1e-5, atol=1e-5)


def legalized(function):
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(function))
    with tessera.transform.PassContext(opt_level=3), tessera.target.Target("llvm -mcpu=skylake-avx512"):
        return str(relay.transform.Legalize()(mod))


@pytest.mark.parametrize("channels, wanted", [(5, 8), (6, 8), (21, 32)])
def test_channels_are_filled_up_to_vectors(channels, wanted):
    text = legalized(transposed(channels, 4, 2)[0])
    assert f"channels={wanted}" in text and "strided_slice" in text


@pytest.mark.parametrize("channels", [1, 3, 4, 8, 32])
def test_channels_that_fill_vectors_or_are_very_few_stay(channels):
    assert "strided_slice" not in legalized(transposed(channels, 4, 2)[0])


def plain(channels, shape, layout="NCHW", size=1):
    random = np.random.RandomState(channels)
    ins = 12
    x = relay.var("x", shape=shape)
    weight = random.uniform(-1, 1, (channels, ins, size, size)).astype("float32")
    if layout == "NHWC":
        weight = np.ascontiguousarray(weight.transpose(2, 3, 1, 0))
    out = relay.nn.conv2d(
        x,
        relay.const(weight),
        channels=channels,
        kernel_size=(size, size),
        padding=(size // 2, size // 2),
        data_layout=layout,
        kernel_layout="OIHW" if layout == "NCHW" else "HWIO",
    )
    return relay.Function([x], relay.nn.relu(relay.nn.bias_add(out, bias(channels), axis=1 if layout == "NCHW" else 3)))


def bias(channels):
    return relay.const(np.linspace(-1, 1, channels).astype("float32"))


SHAPES = {"several images": (3, 12, 9, 10), "few pixels": (1, 12, 3, 3)}


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("channels", [3, 7, 91])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_results_of_convolutions_stay(channels, shape, size, layout):
    given = shape if layout == "NCHW" else (shape[0], *shape[2:], shape[1])
    function = plain(channels, given, layout, size)
    assert ("strided_slice" in legalized(function)) == (channels != 91)  # which PadChannels makes 96
    data = np.random.RandomState(1).uniform(-1, 1, given).astype("float32")
    want = run(function, [data], disabled_pass=["Legalize", "AlterOpLayout"])
    np.testing.assert_allclose(run(function, [data]), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels, wanted", [(21, 32), (91, None)])  # None: PadChannels makes them 96
@pytest.mark.parametrize("dynamic_extents", ["n", "hw", "nhw"])
def test_dynamic_extents_are_filled_and_right(dynamic_extents, channels, wanted):
    shape = [relay.Any() if axis in dynamic_extents else extent for axis, extent in zip("nchw", (2, 12, 6, 7))]
    function = plain(channels, tuple(shape))
    assert ("strided_slice" in legalized(function)) == (wanted is not None)
    assert f"channels={wanted or channels}" in legalized(function)
    mod = tessera.IRModule.from_expr(function)
    data = np.random.RandomState(1).uniform(-1, 1, (2, 12, 6, 7)).astype("float32")
    with tessera.transform.PassContext(opt_level=3):
        got = relay.create_executor("vm", mod=mod, target="llvm").evaluate()(data).numpy()
    want = run(plain(channels, (2, 12, 6, 7)), [data], disabled_pass=["Legalize", "AlterOpLayout"])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_pixels_of_one_picture_have_tiles_of_their_own():
    assert "strided_slice" not in legalized(plain(91, (1, 12, 56, 56)))


def test_channels_that_would_be_mostly_zeros_stay():
    assert "strided_slice" not in legalized(plain(1, (8, 12, 4, 4)))


def integers(channels):
    random = np.random.RandomState(channels)
    x = relay.var("x", shape=(1, 16, 7, 9), dtype="uint8")
    weight = random.randint(-127, 128, (channels, 16, 3, 3)).astype("int8")
    out = relay.nn.conv2d(
        x, relay.const(weight), channels=channels, kernel_size=(3, 3), padding=(1, 1), out_dtype="int32"
    )
    return relay.Function([x], out), random.randint(0, 256, (1, 16, 7, 9)).astype("uint8")


@pytest.mark.parametrize("channels", [8, 20, 24, 40])
def test_convolutions_of_integers_are_exact(channels):
    function, data = integers(channels)
    want = run(function, [data], disabled_pass=["Legalize", "AlterOpLayout"])
    np.testing.assert_array_equal(run(function, [data]), want)


def test_integers_fill_half_vectors_where_the_target_has_dot_products_in_them():
    def text(channels, cpu):
        mod = relay.transform.InferType()(tessera.IRModule.from_expr(integers(channels)[0]))
        with tessera.transform.PassContext(opt_level=3), tessera.target.Target(f"llvm -mcpu={cpu}"):
            return str(relay.transform.Legalize()(mod))

    assert "strided_slice" not in text(24, "znver4") and "channels=32" in text(20, "znver4")
    assert "strided_slice" not in text(24, "haswell") and "channels=24" in text(20, "haswell")


@pytest.mark.parametrize("ins, is_padded", [(12, False), (32, False), (64, True), (72, False)])
def test_data_of_many_channels_stays_in_blocks(ins, is_padded):
    random = np.random.RandomState(ins)
    x = relay.var("x", shape=(1, ins, 16, 16))
    weight = random.uniform(-1, 1, (21, ins, 1, 1)).astype("float32")
    out = relay.nn.conv2d(x, relay.const(weight), channels=21, kernel_size=(1, 1))
    function = relay.Function([x], relay.nn.bias_add(out, bias(21)))
    assert ("channels=32" in legalized(function)) == is_padded
    data = random.uniform(-1, 1, (1, ins, 16, 16)).astype("float32")
    want = np.einsum("oi,nihw->nohw", weight[:, :, 0, 0], data) + np.linspace(-1, 1, 21).reshape(21, 1, 1)
    np.testing.assert_allclose(run(function, [data]), want, rtol=1e-4, atol=1e-4)
