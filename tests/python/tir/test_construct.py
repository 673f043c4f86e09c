"""Nodes reject parts that do not fit, and say which."""

import pytest
from tessera import ir, tir
from tessera._ffi import TVMError

x = tir.Var("x", "int32")
f = tir.Var("f", "float32")
b = tir.Var("b", "bool")
A = tir.decl_buffer((16, 8), "float32", name="A")
nothing = tir.Evaluate(0)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: tir.Add(x, f), TypeError, "Add: mismatched types int32 and float32 of x and f"),
        (lambda: tir.And(x, x), TVMError, "Expected boolean argument as LHS of And, but received x of type int32"),
        (lambda: tir.Not(x), TVMError, "Expected boolean argument of Not, but received x of type int32"),
        (lambda: tir.Select(x, x, x), TVMError, "Expected boolean argument of Select, but received x of type int32"),
        (lambda: tir.Select(b, x, f), TVMError, "Select: the values have mismatched types int32 and float32"),
        (lambda: tir.Ramp(f, 1, 4), TVMError, "Ramp: the stride is int32, the base is float32"),
        (lambda: tir.Ramp(x, 1, 1), TVMError, "Ramp: the number of lanes is 1"),
        (lambda: tir.Broadcast(tir.Broadcast(x, 4), 4), TVMError, "Broadcast: a vector is made of a scalar"),
        (lambda: tir.Cast("int32x4", x), TVMError, "Cast: x has 1 lanes, int32x4 has 4"),
        (lambda: tir.Shuffle([tir.Broadcast(x, 4)], [4]), TVMError, "Shuffle: lane 4 of vectors with 4 lanes"),
        (lambda: tir.Let(x, tir.const(1.0), x), TVMError, "Let: the variable x cannot hold a value of type float32"),
        (lambda: tir.BufferLoad(A, [x]), TVMError, "buffer A has 2 dimensions, but 1 indices were given"),
        (lambda: tir.BufferLoad(A, [tir.Ramp(x, 1, 4), x]), TVMError, "only the last index may be a vector"),
        (lambda: tir.BufferStore(A, tir.Broadcast(x, 4), [x, x]), TypeError, "int32x4, but A takes 1 lane here"),
        (lambda: tir.For(f, 0, 4, 0, nothing), TVMError, "For f: loops count in scalar integers, not in float32"),
        (lambda: tir.For(x, 0, 4, 4, nothing), TVMError, "needs its thread_binding"),
        (lambda: tir.For(x, 0, 4, 0, None), ValueError, "For: its body is missing"),
        (lambda: tir.While(x, nothing), TVMError, "While: its condition must be a bool, but x is int32"),
        (lambda: tir.LetStmt(x, f, nothing), TVMError, "LetStmt: x is int32, its value is float32"),
        (lambda: tir.AssertStmt(x < 3, f, nothing), TVMError, "its message is a string or an int32, not f"),
        (lambda: tir.AttrStmt(x, "key", "value", nothing), TVMError, 'write StringImm\\("value"\\)'),
        (lambda: tir.Allocate(x, "int32", [4], True, nothing), TVMError, "x must be of a PointerType, but it is int32"),
        (lambda: tir.BufferRegion(A, [ir.Range(4)]), TVMError, "has 2 dimensions, the region has 1"),
        (lambda: tir.decl_buffer([4, 4], strides=[4]), TVMError, "has 2 dimensions, but 1 strides"),
        (lambda: tir.decl_buffer([4], buffer_type="wide"), ValueError, 'unknown buffer type "wide"'),
        (lambda: tir.IterVar((0, 4), tir.Var("i", "int8"), 0), TVMError, "IterVar i is int8"),
        (lambda: tir.Call("int32", "exp", [x]), ValueError, "by its full name"),
        (lambda: tir.Call("int32", "tir.no_such_op", [x]), AttributeError, 'no operator "tir.no_such_op"'),
        (lambda: tir.Load("int32", x, 0), NotImplementedError, "use tir.BufferLoad"),
        (lambda: x / 2, RuntimeError, "floordiv/floormod"),
        (lambda: bool(x < 2), ValueError, "tvm.tir.all"),
        (lambda: ~f, RuntimeError, "not for floats"),
        (lambda: tir.power(x, 2), TVMError, "pow is for floats"),
        (lambda: tir.if_then_else(x, 1, 2), TVMError, "the condition must be a scalar bool, but x is int32"),
        (lambda: x + tir.Var("p", "handle"), TVMError, "cannot match type int32 vs handle"),
        (lambda: tir.Ramp(x, 1, 4) + tir.Ramp(x, 1, 8), TVMError, "the numbers of lanes differ"),
        (lambda: x + None, ValueError, "the right operand is missing"),
    ],
)
def test_what_does_not_fit_is_rejected(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_literals_take_the_type_of_a_wider_loop_variable():
    i = tir.Var("i", "int64")
    loop = tir.For(i, 0, 4, tir.ForKind.SERIAL, nothing)
    assert (loop.min.dtype, loop.extent.dtype) == ("int64", "int64")
    assert tir.IterVar((0, 4), i, tir.IterVar.DataPar).dom.extent.dtype == "int64"


def test_a_size_var_is_a_var():
    n = tir.SizeVar("n", "int32")
    assert isinstance(n, tir.Var) and n.name == n.name_hint == "n"


def test_a_variable_of_pointer_type_is_a_handle():
    data = tir.Var("data", ir.PointerType(ir.PrimType("float32"), "shared"))
    assert data.dtype == "handle"
    assert data.type_annotation.storage_scope == "shared"


def test_equality_is_lazy():
    y = tir.Var("y", "int32")
    same, other = x == x, x == y
    assert bool(same) and not bool(other)
    assert bool(x != y) and not bool(x != x)
    assert isinstance(other.asobject(), tir.EQ)
    assert isinstance(tir.all(x == y, b), tir.And)
    assert tir.StringImm("a") == "a" and tir.StringImm("a") != tir.StringImm("b")


def test_reductions_over_axes_and_over_operands():
    k = tir.IterVar((0, 8), "k", tir.IterVar.CommReduce)
    total = tir.sum(A[x, k], axis=k, where=k < 4)
    assert isinstance(total, tir.Reduce) and total.dtype == "float32"
    assert total.combiner.identity_element[0].value == 0
    assert isinstance(tir.max(x, 3, 4), tir.Max)
    argmax = tir.comm_reducer(
        lambda p, q: (tir.Select(p[1] >= q[1], p[0], q[0]), tir.Select(p[1] >= q[1], p[1], q[1])),
        lambda t0, t1: (tir.const(-1, t0), tir.min_value(t1)),
        name="argmax",
    )
    index, value = argmax((k.var, A[x, k]), axis=k)
    assert (index.dtype, value.dtype, value.value_index) == ("int32", "float32", 1)
    with pytest.raises(TVMError, match="i is not a reduction axis"):
        tir.sum(A[x, 0], axis=tir.IterVar((0, 8), "i", tir.IterVar.DataPar))
    with pytest.raises(TVMError, match="an initial value is a constant"):
        tir.sum(A[x, k], axis=k, init=f)


def test_a_comparison_of_comparisons_is_by_identity():
    y = tir.Var("y", "int32")
    lazy = x == y
    assert not lazy and not (lazy != lazy)  # noqa: SIM202


def test_plain_numbers_are_conditions():
    realize = tir.BufferRealize(A, [ir.Range(4), ir.Range(4)], True, nothing)
    assert realize.condition.dtype == "bool" and bool(realize.condition)


def test_attributes_of_any_name():
    attrs = ir.make_node("DictAttrs", x=1, name="xyz", padding=(0, 0))
    assert attrs.x.value == 1 and attrs["name"] == "xyz" and "padding" in attrs and len(attrs) == 3
    with pytest.raises(AttributeError):
        attrs.missing
