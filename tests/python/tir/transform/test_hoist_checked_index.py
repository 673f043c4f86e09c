"""Indices from data are checked before the loops that they do not change in."""

import tessera as tvm
from tessera.script import tir as T
from tessera.tir.transform import HoistCheckedIndex


def becomes(before, after):
    tvm.ir.assert_structural_equal(HoistCheckedIndex()(tvm.IRModule({"main": before}))["main"], after)


def test_the_index_of_a_row_is_checked_once_for_the_row():
    @T.prim_func
    def before(A: T.Buffer[(40,), "float32"], I: T.Buffer[(3,), "int64"], B: T.Buffer[(24,), "float32"]):
        for i in T.parallel(3):
            for j in T.serial(8):
                B[i * 8 + j] = A[
                    T.checked_index(I[i], T.int64(5), "take, axis 0", dtype="int64") * T.int64(8) + T.int64(j)
                ]

    @T.prim_func
    def after(A: T.Buffer[(40,), "float32"], I: T.Buffer[(3,), "int64"], B: T.Buffer[(24,), "float32"]):
        for i in T.parallel(3):
            at: T.int64 = T.checked_index(I[i], T.int64(5), "take, axis 0", dtype="int64")
            for j in T.serial(8):
                B[i * 8 + j] = A[at * T.int64(8) + T.int64(j)]

    becomes(before, after)


def test_a_check_leaves_all_loops_that_it_does_not_depend_on():
    @T.prim_func
    def before(A: T.Buffer[(5,), "float32"], I: T.Buffer[(1,), "int32"], B: T.Buffer[(24,), "float32"]):
        for i in T.serial(3):
            for j in T.serial(8):
                B[i * 8 + j] = A[T.checked_index(I[0], 5, "f", dtype="int32")]

    @T.prim_func
    def after(A: T.Buffer[(5,), "float32"], I: T.Buffer[(1,), "int32"], B: T.Buffer[(24,), "float32"]):
        at: T.int32 = T.checked_index(I[0], 5, "f", dtype="int32")
        for i in T.serial(3):
            at_1: T.int32 = at
            for j in T.serial(8):
                B[i * 8 + j] = A[at_1]

    becomes(before, after)


def test_what_a_guard_protects_stays_behind_it():
    @T.prim_func
    def before(A: T.Buffer[(5,), "float32"], I: T.Buffer[(3,), "int32"], B: T.Buffer[(8,), "float32"], n: T.int32):
        for j in T.serial(8):
            if n < 3:
                B[j] = A[T.checked_index(I[n], 5, "f", dtype="int32")]
        for j in T.serial(8):
            B[j] = T.if_then_else(n < 3, A[T.checked_index(I[n], 5, "f", dtype="int32")], T.float32(0), dtype="float32")
        for j in T.serial(n):
            B[j] = A[T.checked_index(I[n], 5, "f", dtype="int32")]

    becomes(before, before)


def test_an_index_that_the_loop_writes_is_read_again():
    @T.prim_func
    def before(A: T.Buffer[(5,), "float32"], I: T.Buffer[(1,), "int32"], B: T.Buffer[(8,), "float32"]):
        for j in T.serial(8):
            B[j] = A[T.checked_index(I[0], 5, "f", dtype="int32")]
            I[0] = j

    becomes(before, before)
