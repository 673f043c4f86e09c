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


def test_contents_are_set_whole_or_in_part():
    tensor = nd.empty((2, 3))
    tensor[:] = np.ones((2, 3), "float32")
    assert tensor.numpy().sum() == 6
    tensor[:] = nd.array(np.full((2, 3), 2, "float32"))
    assert tensor.numpy().sum() == 12
    tensor[...] = 3
    assert tensor.numpy().sum() == 18
    tensor[0] = 1
    tensor[tensor > 2] = 0
    assert tensor.tolist() == [[1, 1, 1], [0, 0, 0]]
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


def test_strided_memory_is_rejected_with_advice():
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


# ---- in the hands of NumPy -----------------------------------------------------------------------------------------


def numbers(shape=(2, 3), dtype="float32"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def test_functions_of_numpy_take_a_tensor():
    tensor = nd.array(numbers())
    assert np.argmax(tensor) == 5
    assert np.argmax(tensor, axis=0).tolist() == [1, 1, 1]
    assert np.mean(tensor) == 2.5
    np.testing.assert_array_equal(np.concatenate([tensor, tensor]), np.concatenate([numbers(), numbers()]))
    np.testing.assert_array_equal(np.stack([tensor, numbers()]), np.stack([numbers(), numbers()]))
    np.testing.assert_allclose(tensor, numbers())
    assert np.array([tensor, tensor]).shape == (2, 2, 3)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_asarray_shares_host_memory(dtype, shape):
    tensor = nd.array(np.ones(shape, dtype))
    view = np.asarray(tensor)
    assert view.shape == shape and view.dtype == dtype
    view[...] = 0
    assert not tensor.numpy().any()
    del tensor
    assert not view.any()  # the memory lives as long as the array


def test_array_copies_when_asked_to():
    tensor = nd.array(numbers())
    for copy in (np.array(tensor), tensor.__array__(copy=True), np.asarray(tensor, "float64"), tensor.numpy()):
        copy[...] = 9
    assert tensor.tolist() == numbers().tolist()
    assert tensor.__array__("float64").dtype == "float64"
    assert np.shares_memory(tensor.__array__(copy=False), np.asarray(tensor))
    with pytest.raises(ValueError, match="array of float64 without a copy"):
        tensor.__array__("float64", copy=False)


def test_a_type_that_numpy_does_not_know_is_copied(monkeypatch):
    tensor = nd.empty((2,), "bfloat16").copyfrom(np.array([0x3F80, 0xC000], "uint16"))
    with pytest.raises(ValueError, match="bfloat16 on cpu.* without a copy"):
        tensor.__array__(copy=False)
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    assert np.asarray(tensor).tolist() == [0x3F80, 0xC000]  # its bits, as numpy() gives them


def test_bfloat16_is_read_through_ml_dtypes():
    pytest.importorskip("ml_dtypes")
    tensor = nd.empty((2,), "bfloat16").copyfrom(np.array([0x3F80, 0xC000], "uint16"))
    assert np.argmin(tensor) == 1 and float(tensor[1]) == -2.0
    assert (tensor * np.float32(2)).tolist() == [2.0, -4.0]


def test_a_tensor_borrowed_for_a_call_is_copied():
    kept = []

    @tessera.register_func("test.ndarray.keep", override=True)
    def keep(x):
        kept.append(np.asarray(x))

    tensor = nd.array(numbers())
    tessera.get_global_func("test.ndarray.keep")(tensor)
    assert kept[0].tolist() == numbers().tolist()
    with pytest.raises(BufferError, match=r"numpy\(\) copies others"):
        memoryview(nd.empty((2,), "bfloat16"))


def test_parts_are_read_as_numpy_reads_them():
    tensor, data = nd.array(numbers()), numbers()
    for index in (0, -1, (1, 2), slice(1), (slice(None), 1), (..., None), [1, 0], data > 2):
        np.testing.assert_array_equal(tensor[index], data[index])
    assert isinstance(tensor[0, 0], np.float32)
    with pytest.raises(IndexError):
        tensor[2]


def test_length_iteration_and_membership():
    tensor = nd.array(numbers())
    assert len(tensor) == 2 and [row.tolist() for row in tensor] == numbers().tolist()
    assert 5 in tensor and 6 not in tensor
    (first, second), third = nd.array(numbers((2, 2))), 3
    assert (first + second).tolist() == [2, 4] and third == 3
    with pytest.raises(TypeError, match="unsized"):
        len(nd.array(np.float32(1)))


def test_numbers_of_one_element():
    one = nd.array(np.array([[2.5]], "float32"))
    assert float(nd.array(np.float32(2.5))) == 2.5 and one.item() == 2.5
    assert int(nd.array(np.int64(7))) == 7 and list(range(9))[nd.array(np.int64(7))] == 7
    assert bool(one) and not bool(nd.array(np.float32(0)))
    with pytest.raises(TypeError):
        float(nd.array(numbers()))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.array(numbers()))


def test_comparison_and_arithmetic_go_by_element():
    a, b = nd.array(numbers()), nd.array(np.full((2, 3), 2, "float32"))
    assert (a == b).tolist() == (numbers() == 2).tolist()
    assert (a > 2).sum() == 3 and (numbers() >= a).all() and not (a != numbers()).any()
    for result in (a + b, a + 2, 2 + a, a - -2, numbers() + b):
        assert type(result) is np.ndarray and result.dtype == "float32"
        np.testing.assert_array_equal(result, numbers() + 2)
    np.testing.assert_array_equal(-a @ b.transpose(), -numbers() @ np.full((3, 2), 2))
    a += 1
    assert isinstance(a, nd.NDArray) and a.tolist() == (numbers() + 1).tolist()
    np.multiply(b, 2, out=b)
    assert b.tolist() == [[4] * 3] * 2


def test_identity_is_what_same_as_and_hash_tell():
    a, b = nd.array(numbers()), nd.array(numbers())
    assert a.same_as(a) and not a.same_as(b)
    assert {a: "a", b: "b"}[a] == "a" and hash(a) != hash(b)


def test_methods_of_arrays():
    tensor, data = nd.array(numbers()), numbers()
    assert tensor.ndim == 2 and tensor.size == 6 and tensor.nbytes == 24
    assert tensor.argmax() == 5 and tensor.sum(axis=1).tolist() == [3, 12] and tensor.max() == 5
    assert tensor.tolist() == data.tolist() and tensor.tobytes() == data.tobytes()
    assert tensor.astype("int8").dtype == "int8" and tensor.reshape(3, 2).shape == (3, 2)
    assert bytes(tensor) == data.tobytes() and memoryview(tensor).format == "f"


@pytest.mark.gpu
def test_a_tensor_of_a_gpu_is_copied():
    tensor = nd.array(numbers(), tessera.cuda())
    assert np.argmax(tensor) == 5 and tensor[1, 2] == 5
    with pytest.raises(ValueError, match="without a copy"):
        tensor.__array__(copy=False)
    tensor[0] = 7
    tensor += 1
    assert tensor.numpy().tolist() == [[8, 8, 8], [4, 5, 6]]


def test_a_fingerprint_tells_whether_somebody_wrote_to_tensors():
    fingerprint = tessera.get_global_func("runtime.fingerprint")
    small, large = np.arange(100, dtype="uint8"), np.random.default_rng(0).random((300, 70)).astype("float32")
    tensors = tessera.runtime.convert([tessera.nd.from_dlpack(small), tessera.nd.from_dlpack(large)])
    before = fingerprint(tensors)
    assert fingerprint(tensors) == before
    for index in range(100):  # all of what is small
        small[index] ^= 1
        assert fingerprint(tensors) != before
        small[index] ^= 1
    large *= 2
    assert fingerprint(tensors) != before
    large /= 2
    assert fingerprint(tensors) == before
    with pytest.raises(ValueError, match="tensors in host memory without gaps"):
        fingerprint([None])
