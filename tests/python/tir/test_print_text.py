"""The text form: str of expressions, functions and modules (golden texts hold whole programs)."""

import tessera as tvm
from tessera import te, tir


def function():
    a = te.var("A", "handle")
    A = tir.decl_buffer((8,), name="A")
    i = te.var("i")
    body = tir.For(i, 0, 8, tir.ForKind.PARALLEL, tir.BufferStore(A, tir.BufferLoad(A, [i]) + 1.0, [i]))
    return tir.PrimFunc([a], body, buffer_map={a: A}).with_attr("global_symbol", "main")


TEXT = """primfn(A_1: handle) -> ()
  attr = {"global_symbol": "main"}
  buffers = {A: Buffer(A_2: Pointer(float32), float32, [8], [])}
  buffer_map = {A_1: A} {
  for (i: int32, 0, 8) "parallel" {
    A[i] = (A[i] + 1f32)
  }
}"""


def test_a_function_shows_its_buffers_and_body():
    assert str(function()) == TEXT


def test_a_module_names_its_functions_and_text_has_a_version():
    mod = tvm.IRModule({"main": function()})
    assert str(mod).rstrip() == "@main = " + TEXT
    assert mod.astext().startswith('#[version = "0.0.5"]\n@main = primfn')
    assert repr(mod) == mod.astext()


def test_types_stand_at_the_first_use_only():
    x = te.var("x")
    assert str(x + x) == "(x: int32 + x)"
    assert repr(x + x) == "(x + x)"


def test_objects_without_a_text_are_numbered():
    k = te.reduce_axis((0, 8), "k")
    A = te.placeholder((8,), name="A")
    total = te.sum(A[k], axis=k)
    assert str(total).startswith("reduce(meta[tir.CommReducer][0], [A[k: int32]]")
    assert '"type_key": "tir.CommReducer"' in total.astext()


def test_deep_expressions_print():
    x = te.var("x")
    e = x
    for _ in range(20000):
        e = tir.Add(e, x)
    assert str(e).endswith(" + x)" * 10)
    assert repr(e).count("+") == 20000
    assert tir.PrimFunc([x], tir.Evaluate(e)).script().count("+") == 20000
