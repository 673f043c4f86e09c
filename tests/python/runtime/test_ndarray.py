"""Tensors: from and to NumPy, copies, and memory shared through DLPack."""

import pickle

import numpy as np
import pytest
import tessera
from tessera import nd


def aligned(shape, dtype="float32"):
    """A NumPy array whose data starts at a multiple of 64 bytes."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(count + 64, "uint8")
    start = -raw.ctypes.data % 64
    return raw[start : start + count].view(dtype).reshape(shape)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int8", "uint8", "int32", "int64", "uint16", "bool"]
)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3)])
def test_numpy_arrays_come_back_equal(dtype, shape):
    data = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
    tensor = nd.array(data)
    assert tensor.shape == shape and tensor.dtype == dtype and tensor.device == tessera.cpu(0)
    back = tensor.numpy()
    assert back.dtype == data.dtype
    np.testing.assert_array_equal(back, data)


def test_bfloat16_comes_back_with_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.array([1.0, -2.5, 3e38], dtype=ml_dtypes.bfloat16)
    tensor = nd.array(data)
    assert tensor.dtype == "bfloat16"
    assert tensor.numpy().dtype == data.dtype
    np.testing.assert_array_equal(tensor.numpy(), data)


def test_bfloat16_takes_bits_as_uint16():
    tensor = nd.empty((2,), "bfloat16")
    tensor.copyfrom(np.array([0x3F80, 0xC000], "uint16"))
    assert list(tensor.numpy().astype("float32")) == [1.0, -2.0]


def test_nested_lists_become_tensors():
    tensor = nd.array([[1, 2], [3, 4]])
    assert tensor.shape == (2, 2) and tensor.dtype == "int64"


def test_a_strided_array_is_copied_in_row_major_order():
    data = np.arange(12, dtype="float32").reshape(3, 4).T
    np.testing.assert_array_equal(nd.array(data).numpy(), data)


def test_contents_are_set_by_a_whole_slice_only():
    tensor = nd.empty((2, 3))
    tensor[:] = np.ones((2, 3), "float32")
    assert tensor.numpy().sum() == 6
    tensor[:] = nd.array(np.full((2, 3), 2, "float32"))
    assert tensor.numpy().sum() == 12
    tensor[...] = 3
    assert tensor.numpy().sum() == 18
    with pytest.raises(ValueError, match="only support set from numpy array"):
        tensor[0] = 1
    with pytest.raises(TypeError):
        tensor[:] = "text"


def test_copyfrom_converts_the_type_and_checks_the_shape():
    tensor = nd.empty((2,), "float32").copyfrom(np.array([1, 2], "int64"))
    assert list(tensor.numpy()) == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"\(3,\) vs \(2,\)"):
        tensor.copyfrom(np.zeros(3))


def test_copyto_makes_or_fills_a_tensor():
    source = nd.array(np.arange(4, dtype="int32"))
    made = source.copyto(tessera.cpu(0))
    assert not made.same_as(source) and list(made.numpy()) == [0, 1, 2, 3]
    filled = nd.empty((4,), "int32")
    assert source.copyto(filled).same_as(filled)
    assert list(filled.numpy()) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="cannot copy"):
        source.copyto(nd.empty((5,), "int32"))


def test_a_view_shares_memory():
    tensor = nd.array(np.arange(6, dtype="float32"))
    view = tensor._create_view((2, 3))
    tensor[:] = np.zeros(6, "float32")
    assert view.shape == (2, 3) and view.numpy().sum() == 0


def test_numpy_memory_is_shared_through_dlpack_both_ways():
    data = aligned((2, 3))
    tensor = nd.from_dlpack(data)
    data[1, 2] = 5
    assert tensor.numpy()[1, 2] == 5
    back = np.from_dlpack(tensor)
    assert back.__array_interface__["data"][0] == data.__array_interface__["data"][0]


def test_dlpack_memory_outlives_its_owner():
    tensor = nd.array(np.arange(1000, dtype="float32"))
    shared = np.from_dlpack(tensor)
    del tensor
    assert shared.sum() == 499500


def test_dlpack_of_bool_keeps_the_type():
    assert nd.from_dlpack(nd.array(np.array([True, False]))).dtype == "bool"


def test_a_capsule_is_taken_once():
    capsule = nd.array(np.zeros(4)).to_dlpack()
    nd.from_dlpack(capsule)
    with pytest.raises(ValueError, match="not used before"):
        nd.from_dlpack(capsule)


def test_strided_memory_is_refused_with_advice():
    with pytest.raises(ValueError, match="row-major"):
        nd.from_dlpack(aligned((4, 4)).T)


def test_arrays_of_the_other_byte_order_and_with_gaps_are_copied():
    other = np.arange(6, dtype=">f4").reshape(2, 3)
    np.testing.assert_array_equal(tessera.nd.array(other).numpy(), other)
    np.testing.assert_array_equal(tessera.nd.array(other[::-1, ::2]).numpy(), other[::-1, ::2])


def test_torch_memory_is_shared():
    torch = pytest.importorskip("torch")
    source = torch.zeros(64)
    tensor = nd.from_dlpack(source)
    source[3] = 7
    assert tensor.numpy()[3] == 7
    assert torch.from_dlpack(tensor)[3] == 7


def test_text_shows_shape_device_and_contents():
    assert str(nd.array(np.zeros((1, 2), "float32"))) == (
        "<tvm.nd.NDArray shape=(1, 2), cpu(0)>\narray([[0., 0.]], dtype=float32)"
    )


def test_tensors_travel_through_functions_as_the_same_object():
    tensor = nd.array(np.zeros(3))
    assert tessera.runtime.convert(lambda x: x)(tensor).same_as(tensor)


def test_tensors_can_be_pickled():
    tensor = pickle.loads(pickle.dumps(nd.array(np.arange(5, dtype="int16"))))
    assert tensor.dtype == "int16" and list(tensor.numpy()) == [0, 1, 2, 3, 4]


def test_an_impossible_shape_is_an_error():
    with pytest.raises(ValueError, match="cannot have shape"):
        nd.empty((-1,))
    with pytest.raises(ValueError, match="more bytes than can be counted"):
        nd.empty((2**40, 2**40))
