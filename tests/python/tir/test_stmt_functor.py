"""Walks over programs and rewrites by them."""

import pytest
from tessera import ir, tir
from tessera.tir import stmt_functor

x, y, n = tir.Var("x", "int32"), tir.Var("y", "int32"), tir.SizeVar("n", "int32")
A = tir.decl_buffer((n,), "float32", name="A")


def loop():
    i = tir.Var("i", "int32")
    return tir.For(i, 0, n, tir.ForKind.SERIAL, tir.BufferStore(A, A[i] + 1, [i]))


def kinds(walk, root, answer=None):
    seen = []
    walk(root, lambda node: (seen.append(type(node).__name__), answer)[1])
    return seen


def test_post_order_sees_children_first_and_each_node_once():
    seen = kinds(stmt_functor.post_order_visit, loop())
    assert seen[-2:] == ["BufferStore", "For"]
    assert seen.index("BufferLoad") < seen.index("Add") < seen.index("BufferStore")
    e = x + 1
    assert kinds(stmt_functor.post_order_visit, tir.Mul(e, e)) == ["Var", "IntImm", "Add", "Mul"]


def test_pre_order_enters_only_where_told():
    assert kinds(stmt_functor.pre_order_visit, loop(), answer=False) == ["For"]
    assert kinds(stmt_functor.pre_order_visit, loop(), answer=True)[:2] == ["For", "IntImm"]


def test_ir_transform_replaces_on_the_way_out():
    def double(op):
        return tir.BufferStore(op.buffer, op.value * 2, op.indices)

    out = stmt_functor.ir_transform(loop(), None, double, ["tir.BufferStore"])
    assert repr(out.body.value) == "((A[i] + 1f)*2f)"


def test_ir_transform_does_not_enter_what_preorder_replaced():
    entered = []

    def replace(op):
        return tir.Evaluate(7)

    out = stmt_functor.ir_transform(loop(), replace, entered.append, ["tir.BufferStore", "tir.Add"])
    assert out.body.value.value == 7 and entered == []


def test_ir_transform_rejects_an_expression_in_place_of_a_statement():
    with pytest.raises(TypeError, match=r"tir\.BufferStore cannot be replaced by IntImm"):
        stmt_functor.ir_transform(loop(), lambda op: tir.const(1), None, ["tir.BufferStore"])


def test_substitute_is_simultaneous():
    assert repr(stmt_functor.substitute(x * 2 + y, {x: y, y: x})) == "((y*2) + x)"


def test_substitute_reaches_buffers():
    data = tir.Var("B", A.data.type_annotation)
    out = stmt_functor.substitute(loop(), {A.data: data, n: tir.const(8)})
    assert out.extent.value == 8
    assert out.body.buffer.data.same_as(data) and out.body.buffer.shape[0].value == 8
    assert out.body.value.a.buffer.same_as(out.body.buffer)


def test_renew_defs_makes_everything_defined_new():
    func = tir.PrimFunc([A, n], loop())
    out = stmt_functor.renew_defs(func)
    assert ir.structural_equal(func, out)
    assert not out.body.loop_var.same_as(func.body.loop_var)
    assert out.body.body.indices[0].same_as(out.body.loop_var)
    buffer = out.buffer_map[out.params[0]]
    assert not buffer.same_as(A) and out.body.body.buffer.same_as(buffer)
    assert out.params[1].same_as(buffer.shape[0])


def test_specialize_by_value_and_by_buffer():
    func = tir.PrimFunc([A, n], loop())
    by_value = func.specialize({func.params[1]: 8})
    assert len(by_value.params) == 1 and by_value.buffer_map[by_value.params[0]].shape[0].value == 8
    by_buffer = func.specialize({func.params[0]: tir.decl_buffer((4,), "float32")})
    assert by_buffer.body.extent.value == 4
    with pytest.raises(ValueError, match="x is not a parameter"):
        func.specialize({x: 1})
    by_shape = func.specialize({func.params[0]: tir.decl_buffer((4,), "int32")})
    assert by_shape.buffer_map[by_shape.params[0]].dtype == "float32"  # shapes are learnt, types stay
    assert func.specialize({}).same_as(func)


def test_functions_keep_what_they_are_when_attributes_change():
    func = tir.PrimFunc([A, n], loop())
    named = func.with_attr({"global_symbol": "f", "tir.noalias": True})
    assert named.attrs["global_symbol"] == "f" and bool(named.attrs["tir.noalias"])
    assert func.attrs is None
    assert "global_symbol" not in named.without_attr("global_symbol").attrs
    assert named.with_body(tir.Evaluate(0)).attrs.same_as(named.attrs)
