"""CastStores: a value of another type is stored as its buffer keeps it."""

import numpy as np
import tessera as tvm
from helpers import check, global_pass, named, run
from tessera.script import tir as T


@T.prim_func
def mixed(
    A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "int16"], C: T.Buffer[(8,), "bool"], D: T.Buffer[(8,), "uint8"]
):
    for i in T.serial(8):
        A[i] = i * 2
        B[i] = D[i]
        C[i] = i * 128


def test_values_are_cast_to_the_type_of_their_buffer():
    check(
        run(global_pass("CastStores"), named(mixed)),
        """
        for i in T.serial(8):
            A[i] = T.cast(i * 2, "float32")
            B[i] = T.cast(D[i], "int16")
            C[i] = T.cast(i * 128, "bool")
        """,
    )


def test_compiled_programs_convert_values():
    f = tvm.build(mixed, target="llvm")
    a, b, c = (tvm.nd.empty((8,), dtype) for dtype in ("float32", "int16", "bool"))
    d = np.arange(248, 256, dtype="uint8")
    f(a, b, c, tvm.nd.array(d))
    np.testing.assert_array_equal(a.numpy(), 2.0 * np.arange(8))
    np.testing.assert_array_equal(b.numpy(), d.astype("int16"))
    np.testing.assert_array_equal(c.numpy(), np.arange(8) > 0)
