"""Transposed convolutions whose channels fill no vector are computed with channels of zeros, which are cut off."""

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
