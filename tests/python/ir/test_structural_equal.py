"""Equality, hash and saved form of programs, as Python sees them (the rules themselves: tests/cpp/ir)."""

import subprocess
import sys

import pytest
import tessera as tvm
from tessera import te, tir


def loop(name, value):
    i = te.var(name)
    return tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(i * value))


def test_names_of_bound_variables_do_not_matter():
    assert tvm.ir.structural_equal(loop("i", 2), loop("j", 2))
    assert tvm.ir.structural_hash(loop("i", 2)) == tvm.ir.structural_hash(loop("j", 2))
    assert not tvm.ir.structural_equal(loop("i", 2), loop("i", 3))


def test_free_variables_are_matched_only_when_asked():
    assert not tvm.ir.structural_equal(te.var("x") + 1, te.var("x") + 1)
    assert tvm.ir.structural_equal(te.var("x") + 1, te.var("x") + 1, map_free_vars=True)


def test_the_mismatch_is_a_pair_of_paths():
    lhs, rhs = tvm.ir.get_first_structural_mismatch(loop("i", 2), loop("i", 3))
    assert str(lhs) == "<root>.body.value.b.value"
    assert lhs == rhs
    assert lhs.get_prefix(2) == tvm.runtime.ObjectPath.root().attr("body")
    assert lhs.get_prefix(2).is_prefix_of(rhs)
    assert tvm.ir.get_first_structural_mismatch(loop("i", 2), loop("j", 2)) is None


def test_the_assertion_shows_both_sides():
    with pytest.raises(ValueError, match=r"lhs at <root>\.body\.value\.b\.value:\n2\nand rhs at .*:\n3"):
        tvm.ir.assert_structural_equal(loop("i", 2), loop("i", 3))


def test_lists_and_numbers_compare_too():
    assert tvm.ir.structural_equal([1, "a", {"k": 2.5}], [1, "a", {"k": 2.5}])
    assert not tvm.ir.structural_equal([1, 2], [1, 2, 3])


def test_the_hash_is_the_same_in_every_process():
    program = "import tessera as t; x = t.te.var('x'); print(t.ir.structural_hash(x * 2 + 1))"
    run = [sys.executable, "-c", program]
    runs = {subprocess.run(run, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1
    x = te.var("x")
    assert int(runs.pop()) == tvm.ir.structural_hash(x * 2 + 1)


def test_json_brings_the_same_program_back():
    program = loop("i", 2)
    again = tvm.ir.load_json(tvm.ir.save_json(program))
    tvm.ir.assert_structural_equal(program, again)
    with pytest.raises(ValueError, match=r'node 1 has the unknown type "no\.Such"'):
        tvm.ir.load_json('{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "no.Such"}]}')


def test_numbers_of_python_are_constants_of_their_type():
    assert tvm.ir.structural_equal(tir.const(0, "bool"), False) and tvm.ir.structural_equal(True, tir.const(1, "bool"))
    assert tvm.ir.structural_equal(tir.const(3), 3) and not tvm.ir.structural_equal(tir.const(0), False)
    tvm.ir.assert_structural_equal(tir.const(1, "bool"), True)
    assert tvm.ir.structural_hash(False) == tvm.ir.structural_hash(tir.const(0, "bool"))


def test_a_path_has_no_prefix_of_nothing():
    with pytest.raises(IndexError, match="Prefix length must be at least 1"):
        tvm.runtime.ObjectPath.root().get_prefix(0)
