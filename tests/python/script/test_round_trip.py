"""Everything printed reads back structurally equal."""

import pathlib
import sys

import pytest
import tessera as tvm
import tessera.script
from tessera import ir, tir

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from random_functions import random_function

GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "programs"


def check(program):
    text = program.script()
    again = tvm.script.from_source(text)
    ir.assert_structural_equal(program, again, True)
    assert ir.structural_hash(program, True) == ir.structural_hash(again, True)


@pytest.mark.parametrize("block", range(8))
def test_random_functions_read_back(block):
    for seed in range(block * 100, block * 100 + 100):
        try:
            check(random_function(seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def golden_scripts():
    for path in sorted(GOLDEN.glob("*.expected")):
        for case in path.read_text().split("\n=== ")[1:]:
            name, _, text = case.partition("\n")
            at = text.find("# from tvm.script import tir as T")
            if at >= 0:
                yield pytest.param(text[at:], id=f"{path.stem}-{name}")


@pytest.mark.parametrize("text", golden_scripts())
def test_what_v0_10_printed_reads(text):
    check(tvm.script.from_source(text))


def test_functions_of_a_module_may_share_their_variables():
    function = random_function(3)
    check(tvm.IRModule({"f": function, "g": function}))


def test_a_root_block_without_blocks_is_kept():
    empty = tir.Block([], [], [], "main", tir.Evaluate(0))
    check(tir.PrimFunc([], tir.BlockRealize([], True, empty)))


def test_a_pointer_parameter_with_a_buffer_stays_a_pointer():
    pointer = tir.Var("A", ir.PointerType(ir.PrimType("float32")))
    buffer = tir.decl_buffer([8], "float32", "A", data=pointer)
    function = tir.PrimFunc([pointer], tir.BufferStore(buffer, tir.const(1.0, "float32"), [0]), None, {pointer: buffer})
    assert "A: T.Ptr[T.float32]" in function.script()
    check(function)


def test_comparisons_are_not_chained():
    x = tir.Var("x", "int32")
    function = tir.PrimFunc([x], tir.Evaluate(tir.EQ(tir.LT(x, tir.const(1)), tir.Not(tir.LT(x, tir.const(2))))))
    assert "(x < 1) == (not(x < 2))" in function.script()
    check(function)
