"""Contractions of packed bits against NumPy."""

import numpy as np
import pytest
import tessera
from tessera import te, topi
from tessera.topi.testing import compare_numpy_tvm


def check(inputs, wanted, compute):
    compare_numpy_tvm(inputs, wanted, "llvm", tessera.cpu(), compute, topi.generic.schedule_injective)


def integers(bits, *shape):
    return np.random.default_rng(1).integers(0, 1 << bits, shape).astype("int32")


def weight_values(weight, bits, unipolar):
    """What the bits of a weight stand for: 0 and 1, or -1 and 1."""
    if not unipolar:
        return weight
    planes = [(weight >> b) & 1 for b in range(bits)]
    return sum(((2 * plane - 1) << b) for b, plane in enumerate(planes))


def test_words_hold_the_first_element_in_their_highest_bit():
    data = np.zeros((1, 16), "int32")
    data[0, 0], data[0, 15], data[0, 8] = 1, 2, 3
    wanted = np.array([[[0x80, 0x80], [0x00, 0x81]]], "uint8")
    check([data], wanted, lambda x: topi.nn.bitpack(x, 2, pack_axis=1, bit_axis=1, pack_type="uint8"))


@pytest.mark.parametrize("unipolar", [True, False])
@pytest.mark.parametrize("bits", [(1, 1), (2, 1), (2, 2)])
def test_dense(bits, unipolar):
    data, weight = integers(bits[0], 3, 64), integers(bits[1], 5, 64)
    wanted = (data @ weight_values(weight, bits[1], unipolar).T).astype("int16")
    check([data, weight], wanted, lambda x, w: topi.nn.bitserial_dense(x, w, *bits, "uint32", "int16", unipolar))


@pytest.mark.parametrize("unipolar", [True, False])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_conv2d(layout, unipolar):
    data, weight = integers(2, 1, 32, 6, 6), integers(1, 4, 32, 3, 3)
    values = weight_values(weight, 1, unipolar)
    wanted = topi.testing.conv2d_nchw_python(data, values, 2, 1).astype("int16")
    if layout == "nhwc":
        data, weight, wanted = data.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0), wanted.transpose(0, 2, 3, 1)
    function = getattr(topi.nn, f"bitserial_conv2d_{layout}")
    inputs = [np.ascontiguousarray(data), np.ascontiguousarray(weight)]
    check(inputs, wanted, lambda x, w: function(x, w, 2, 1, 2, 1, "uint8", "int16", unipolar))


def test_a_weight_that_is_packed_before_gives_the_same():
    data, weight = integers(2, 2, 32), integers(2, 3, 32)

    def compute(x, w):
        packed = topi.nn.bitpack(w, 2, pack_axis=1, bit_axis=1, pack_type="uint32")
        return topi.nn.bitserial_dense(x, packed, 2, 2, "uint32", "int16", False)

    check([data, weight], (data @ weight.T).astype("int16"), compute)


def test_binary_dense_multiplies_signs():
    rng = np.random.default_rng(0)
    data, weight = (rng.random(shape).astype("float32") - 0.5 for shape in ((2, 64), (3, 64)))
    wanted = (np.where(data >= 0, 1, -1) @ np.where(weight >= 0, 1, -1).T).astype("float32")
    check([data, weight], wanted, lambda x, w: topi.nn.binary_dense(topi.nn.binarize_pack(x), topi.nn.binarize_pack(w)))


def test_elements_that_fill_no_word_are_rejected():
    with pytest.raises(ValueError, match="30 elements do not fill words of 32 bits"):
        topi.nn.binarize_pack(te.placeholder((2, 30)))
