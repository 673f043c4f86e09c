"""Tensors of NumPy are used where they lie, wherever that is."""

import numpy as np
import pytest
import tessera
from tessera import te


@pytest.fixture(scope="module")
def doubled():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(s[B].split(B.op.axis[0], factor=16)[1])
    return tessera.build(s, [A, B], "llvm")


@pytest.mark.parametrize("skipped", range(0, 17))
def test_compiled_code_takes_any_address_of_an_element(doubled, skipped):
    memory = np.arange(200, dtype="float32")
    result = np.zeros(200, dtype="float32")
    a, b = memory[skipped : skipped + 100], result[skipped : skipped + 100]
    doubled(tessera.nd.from_dlpack(a), tessera.nd.from_dlpack(b))
    np.testing.assert_array_equal(b, a * 2)
    assert not result[:skipped].any() and not result[skipped + 100 :].any()


def test_an_address_inside_an_element_is_rejected():
    bytes_ = np.zeros(41, dtype="uint8")
    start = 1 if bytes_.ctypes.data % 4 == 0 else 0
    crooked = bytes_[start : start + 40].view("float32")
    with pytest.raises((ValueError, BufferError)):
        tessera.nd.from_dlpack(crooked)
