import pytest
from helpers import becomes, run
from tessera import tir
from tessera.script import tir as T

UNROLL = tir.transform.UnrollLoop()


@T.prim_func
def serial(A: T.Buffer[(8,), "float32"]):
    for i in T.serial(2):
        A[i] = T.float32(1)


@T.prim_func
def marked(A: T.Buffer[(8,), "float32"]):
    for i in T.unroll(2):
        A[i] = T.float32(1)


@T.prim_func
def copies(A: T.Buffer[(8,), "float32"]):
    A[0] = T.float32(1)
    A[1] = T.float32(1)


def test_a_loop_marked_unrolled_becomes_copies():
    becomes(UNROLL, marked, copies)


def test_a_serial_loop_stays_unless_the_config_allows_it():
    becomes(UNROLL, serial, serial)
    becomes(UNROLL, serial, copies, {"tir.UnrollLoop": {"auto_max_step": 2}})


def test_without_explicit_unroll_the_loop_is_only_marked():
    becomes(UNROLL, serial, marked, {"tir.UnrollLoop": {"auto_max_step": 2, "explicit_unroll": False}})


def test_a_pragma_sets_the_options_of_its_body():
    @T.prim_func
    def before(A: T.Buffer[(8,), "float32"]):
        T.attr(0, "pragma_auto_unroll_max_step", 16)
        for i in T.serial(2):
            A[i] = T.float32(1)

    becomes(UNROLL, before, copies)


def test_a_marked_loop_of_unknown_extent_is_rejected():
    @T.prim_func
    def before(A: T.Buffer[(8,), "float32"], n: T.int32):
        for i in T.unroll(n):
            A[i] = T.float32(1)

    with pytest.raises(ValueError, match="cannot unroll loop i: its extent n is not a constant"):
        run(UNROLL, before)
