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


def relay_expr(text):
    return tvm.parser.parse_expr('#[version = "0.0.5"]\n' + text)


def test_a_variable_of_relay_equals_its_copies_with_other_types():
    x = tvm.relay.var("x", shape=(2, 3))
    before = tvm.relay.nn.relu(x)
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], before))
    after = tvm.relay.transform.InferType()(mod)["main"].body
    assert not x.same_as(after.args[0]) and tvm.ir.structural_equal(before, after)
    assert tvm.ir.structural_hash(before) == tvm.ir.structural_hash(after)
    other = relay_expr("free_var %x: Tensor[(2, 3), float32]; nn.relu(%x)")
    assert not tvm.ir.structural_equal(before, other)


def test_constants_of_relay_are_values_whether_shared_or_not():
    one, same, two = tvm.relay.const(1.0), tvm.relay.const(1.0), tvm.relay.const(2.0)
    assert tvm.ir.structural_equal(one + one, one + same) and tvm.ir.structural_equal(one + same, one + one)
    assert tvm.ir.structural_hash(one + one) == tvm.ir.structural_hash(one + same)
    assert not tvm.ir.structural_equal(one + one, one + two)
    x = relay_expr("free_var %x: float32; exp(%x)")
    y = tvm.relay.exp(x.args[0])
    assert not tvm.ir.structural_equal(x + x, x + y)  # calls are computed as often as they are there


def test_floats_of_attributes_may_differ_in_the_tenth_place():
    def relu(alpha):
        return relay_expr(f"fn (%x: Tensor[(2), float32]) {{ nn.leaky_relu(%x, alpha={alpha}f) }}")

    assert tvm.ir.structural_equal(relu("1e-5"), relu("9.99999974738e-06"))
    tvm.ir.assert_structural_equal(relu("1e-5"), relu("9.99999974738e-06"))
    assert not tvm.ir.structural_equal(relu("1e-5"), relu("1.1e-5"))
    assert not tvm.ir.structural_equal(tir.FloatImm("float64", 0.0), tir.FloatImm("float64", -0.0))
