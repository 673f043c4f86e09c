"""`testing.tir.mma_schedule`: a matmul by matrix instructions, as far as its text."""

import tessera
from tessera import te
from tessera.testing.tir import mma_schedule
from tessera.tir.tensor_intrin import cuda


def matmul(n):
    k = te.reduce_axis((0, n), name="k")
    a, b = te.placeholder((n, n), "float16", name="A"), te.placeholder((n, n), "float16", name="B")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k), name="C")
    return te.create_prim_func([a, b, c])


def test_a_matmul_of_fp16_is_made_of_mma_and_ldmatrix():
    def layout(i, j):
        return i // 16, j // 16, *cuda.shared_16x16_to_ldmatrix_32x8_layout(i % 16, j % 16)

    sch = mma_schedule(
        matmul(1024),
        16,
        "float16",
        False,
        [4, 1, 2, 1, 8],
        [1, 8, 2, 4, 1],
        [16, 2, 2],
        layout,
        layout,
        layout,
        cuda.LDMATRIX_16x16_A_INTRIN,
        cuda.LDMATRIX_16x16_B_INTRIN,
        cuda.MMA_f16f16f32_INTRIN,
        cuda.MMA_fill_16x16_f32_INTRIN,
        cuda.MMA_store_16x16_f32_global_INTRIN,
    )
    text = sch.mod.script()
    for wanted in ("ptx_mma", "ptx_ldmatrix", "mma_fill", "mma_store", 'thread="blockIdx.y"', 'scope="warp"'):
        assert wanted in text, wanted
    source = tessera.lower(sch.mod)
    assert "mma" in str(source)
