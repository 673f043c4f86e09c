import pytest
from helpers import buffer, check, function, loop, run
from tessera import te, tir

i, j = te.var("i"), te.var("j")
UNROLL = tir.transform.UnrollLoop()


def small(kind=tir.ForKind.SERIAL, extent=2):
    A = buffer("A", (8,))
    return function([A], loop(i, extent, tir.BufferStore(A, 1.0, [i]), kind))


def test_a_loop_marked_unrolled_becomes_copies():
    check(run(UNROLL, small(tir.ForKind.UNROLLED)), "A[0] = T.float32(1)\nA[1] = T.float32(1)")


def test_a_serial_loop_stays_unless_the_config_allows_it():
    check(run(UNROLL, small()), "for i in T.serial(2):\n    A[i] = T.float32(1)")
    config = {"tir.UnrollLoop": {"auto_max_step": 2}}
    check(run(UNROLL, small(), config), "A[0] = T.float32(1)\nA[1] = T.float32(1)")


def test_without_explicit_unroll_the_loop_is_only_marked():
    config = {"tir.UnrollLoop": {"auto_max_step": 2, "explicit_unroll": False}}
    check(run(UNROLL, small(), config), "for i in T.unroll(2):\n    A[i] = T.float32(1)")


def test_a_pragma_sets_the_options_of_its_body():
    A = buffer("A", (8,))
    nest = loop(i, 2, tir.BufferStore(A, 1.0, [i]))
    marked = tir.AttrStmt(tir.const(0), "pragma_auto_unroll_max_step", tir.const(16), nest)
    check(run(UNROLL, function([A], marked)), "A[0] = T.float32(1)\nA[1] = T.float32(1)")


def test_a_marked_loop_of_unknown_extent_is_refused():
    with pytest.raises(ValueError, match="cannot unroll loop i: its extent n is not a constant"):
        run(UNROLL, small(tir.ForKind.UNROLLED, te.var("n")))
