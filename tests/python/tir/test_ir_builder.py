"""Programs written by tir.ir_builder."""

import pytest
from tessera import tir


def text(stmt):
    return "\n".join(line.rstrip() for line in repr(stmt).strip().split("\n"))


def test_loops_conditions_and_stores():
    ib = tir.ir_builder.create()
    n = tir.SizeVar("n", "int32")
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(ib.likely(i < 4)):
            A[i] = A[i] + 1
        with ib.else_scope():
            A[i] = 0.0
    assert text(ib.get()) == "\n".join(
        [
            "for (i, 0, {n|n>=0}) {",
            "  if (tir.likely((i < 4))) {",
            "    A[i] = (A[i] + 1f)",
            "  } else {",
            "    A[i] = 0f",
            "  }",
            "}",
        ]
    )


def test_attributes_and_allocations_hold_for_what_follows():
    ib = tir.ir_builder.create()
    ib.scope_attr("who", "key", "value")
    B = ib.allocate("int32", 4, name="B", scope="local")
    v = ib.let("v", tir.const(3))
    B[0] = v
    B[1] = v + 1
    stmt = ib.get()
    assert isinstance(stmt, tir.AttrStmt) and isinstance(stmt.body, tir.Allocate)
    assert isinstance(stmt.body.body, tir.LetStmt) and len(stmt.body.body.body) == 2


def test_one_index_counts_through_all_dimensions():
    ib = tir.ir_builder.create()
    A = ib.buffer_ptr(tir.decl_buffer((4, 8), "float32", name="A"))
    assert repr(A[13]) == "A[1, 5]"
    assert repr(A[1, 5]) == "A[1, 5]"


def test_loops_are_named_i_j_k_by_default():
    ib = tir.ir_builder.create()
    names = []
    for _ in range(5):
        with ib.for_range(0, 2) as var:
            names.append(var.name)
            ib.emit(tir.call_extern("int32", "f", var))
    assert names == ["i", "j", "k", "i_0", "i_1"]


def test_mistakes_are_told():
    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with pytest.raises(ValueError, match="data type does not match content type int32 vs float32"):
        A[0] = tir.const(1)
    with pytest.raises(RuntimeError, match="else_scope can only follow an if_scope"):
        ib.else_scope()
    with pytest.raises(ValueError, match="Unknown kind 'fast'"):
        ib.for_range(0, 4, kind="fast")


def test_memory_of_a_builder_stands_for_its_buffer():
    ib = tir.ir_builder.create()
    A = ib.allocate("float32", (8,), name="A", scope="local")
    P, B = ib.pointer("float32", name="P"), tir.decl_buffer((4,), "float32", name="B")
    assert all(isinstance(memory.asobject(), tir.Buffer) for memory in (A, P)) and ib.buffer_ptr(B).asobject().same_as(
        B
    )
    pointer = A.asobject().access_ptr("r")
    assert pointer.op.name == "tir.tvm_access_ptr" and pointer.args[1].same_as(A.asobject().data)
    call = tir.call_extern("int32", "f", A, B)  # the address of each
    assert [arg.name for arg in call.args[1:]] == ["A", "B"]
