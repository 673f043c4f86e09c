"""Passes that compute with bfloat16 and keep it as integers."""

import numpy as np
import tessera as tvm
from helpers import body_text, check, named, run
from tessera.script import tir as T
from tessera.tir import transform as X


@T.prim_func
def brain(A: T.Buffer[8, "bfloat16"], B: T.Buffer[8, "bfloat16"]) -> None:
    for i in range(8):
        B[i] = A[i] + T.cast(T.cast(A[i], "float32"), "bfloat16")


def test_sums_of_bfloat16_are_taken_in_float32():
    check(
        run(X.BF16Promote(), named(brain)),
        """
        for i in T.serial(8):
            B[i] = T.cast(T.cast(A[i], "float32") + T.cast(T.cast(T.cast(A[i], "float32"), "bfloat16"), "float32"), "bfloat16")
        """,
    )


def test_casts_to_bfloat16_and_back_cancel():
    check(
        run([X.BF16Promote(), X.BF16CastElimination()], named(brain)),
        """
        for i in T.serial(8):
            B[i] = T.cast(T.cast(A[i], "float32") + T.cast(A[i], "float32"), "bfloat16")
        """,
    )


def test_bfloat16_is_kept_as_integers():
    done = run(X.BF16TypeLowering(), named(brain))
    assert [str(buffer.dtype) for buffer in done.buffer_map.values()] == ["uint16", "uint16"]
    assert "bfloat16" not in body_text(done)


def test_legalised_bfloat16_rounds_to_even():
    @T.prim_func
    def halves(A: T.Buffer[8, "bfloat16"], B: T.Buffer[8, "bfloat16"]):
        for i in range(8):
            B[i] = A[i] + A[i] * T.cast(T.float32(0.5), "bfloat16")

    done = run(X.BF16Legalize(), named(halves))
    values = np.array([1, 1.0078125, 3, -5, 100, 1e30, 0, 2.53125], "float32")
    bits = (values.view("uint32") >> 16).astype("uint16")
    a, b = tvm.nd.array(bits), tvm.nd.array(np.zeros(8, "uint16"))
    tvm.build(done, target="llvm")(a, b)

    def rounded(x):
        raw = x.astype("float32").view("uint32").astype("uint64")
        return ((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16).astype("uint16")

    # The sum is one float32 expression: only its result is rounded.
    np.testing.assert_array_equal(b.numpy(), rounded(values * np.float32(1.5)))


def test_pointers_to_bfloat16_become_pointers_to_words():
    lowered = run(X.BF16Legalize(), named(brain))
    for buffer in lowered.buffer_map.values():
        assert (buffer.dtype, str(buffer.data.type_annotation.element_type.dtype)) == ("uint16", "uint16")


def test_buffers_of_blocks_are_words_too():
    @T.prim_func
    def copied(A: T.Buffer[8, "bfloat16"], B: T.Buffer[8, "bfloat16"]):
        C = T.alloc_buffer([8], "bfloat16")
        for i in range(8):
            with T.block("C"):
                v = T.axis.spatial(8, i)
                C[v] = A[v]
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = C[v]

    done = run(X.BF16Legalize(), named(copied))
    assert "bfloat16" not in done.script()
    assert done.body.block.alloc_buffers[0].dtype == "uint16"
    tvm.tir.analysis.verify_well_formed(done)
