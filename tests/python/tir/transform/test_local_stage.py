"""Copies into shared memory by way of registers."""

import numpy as np
import tessera as tvm
from helpers import run
from tessera import tir
from tessera.script import tir as T

X = tir.transform


@T.prim_func
def copy_rows(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (8, 16), "float32")
    C = T.match_buffer(c, (8, 16), "float32")
    for i in T.serial(8):
        with T.block("row"):
            T.reads(A[i, 0:16])
            T.writes(C[i, 0:16])
            S = T.alloc_buffer((16,), "float32", scope="shared")
            for j in T.serial(16):
                with T.block("S"):
                    T.reads(A[i, j])
                    T.writes(S[j])
                    T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                    S[j] = A[i, j] * T.float32(2)
            for j in T.serial(16):
                with T.block("C"):
                    T.reads(S[15 - j])
                    T.writes(C[i, j])
                    C[i, j] = S[15 - j]


def test_loads_come_first_then_stores():
    done = run(X.ManifestSharedMemoryLocalStage(), copy_rows.with_attr("global_symbol", "main"))
    text = done.script()
    assert "S_local" in text and 'scope="local"' in text
    assert text.index("S_local[j] = A[i, j]") < text.index("= S_local[")


def test_the_result_is_the_same():
    a = np.random.default_rng(0).random((8, 16), dtype="float32")
    c = tvm.nd.array(np.zeros((8, 16), "float32"))
    tvm.build(copy_rows.with_attr("global_symbol", "main"), target="llvm")(tvm.nd.array(a), c)
    np.testing.assert_allclose(c.numpy(), a[:, ::-1] * 2)
