"""None, and other nonsense, where a value is needed: an error that says so, never the end of the process."""

import numpy as np
import pytest
import tessera
from tessera import te, tir


def small():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    return A, B, te.create_schedule(B.op)


A, B, s = small()
k = te.reduce_axis((0, 4), "k")
x = tir.Var("x", "int32")

CALLS = {
    "a compute without body": lambda: te.compute((3,), lambda i: None),
    "a compute with half a body": lambda: te.compute((4,), lambda i: [A[i], None]),
    "a placeholder without name": lambda: te.placeholder((3,), name=None).op.name.upper(),
    "a split of nothing": lambda: s[B].split(None, factor=2),
    "an attachment to nothing": lambda: s[B].compute_at(None, None),
    "a simplification of nothing": lambda: tessera.arith.Analyzer().simplify(None),
    "bounds of nothing": lambda: tessera.arith.Analyzer().const_int_bound(None),
    "a variable bound to nothing": lambda: tessera.arith.Analyzer().bind(x, None),
    "a linear form of nothing": lambda: tessera.arith.detect_linear_equation(None, [x]),
    "a pass that is none": lambda: tessera.transform.Sequential([None])(tessera.IRModule({})),
    "a visit by nobody": lambda: tir.stmt_functor.post_order_visit(tir.Evaluate(0), None),
    "a schedule of nothing": lambda: tir.Schedule(None),
    "a function of no tensor": lambda: te.create_prim_func([None]),
    "a variable without name": lambda: str(te.var(None)) + te.var(None).name,
    "a reducer without result": lambda: te.comm_reducer(lambda a, b: None, lambda t: 1)(A[k], axis=k),
    "a loop of no kind": lambda: tir.For(x, 0, 1, 9, tir.Evaluate(0)),
    "an axis of no type": lambda: tir.IterVar((0, 1), "i", 99),
}


@pytest.mark.parametrize("what", CALLS)
def test_what_is_missing_is_an_error(what):
    with pytest.raises((ValueError, TypeError, AttributeError, tessera.TVMError)):
        CALLS[what]()


def test_the_error_says_that_something_is_missing():
    with pytest.raises(ValueError, match=r"a value of type .* is missing: None was given where one is needed"):
        tessera.arith.Analyzer().simplify(None)
    with pytest.raises(ValueError, match=r"compute C: fcompute returned None; it has to return an expression"):
        te.compute((3,), lambda i: None, name="C")
    with pytest.raises(ValueError, match=r"there is no loop kind 9"):
        tir.For(x, 0, 1, 9, tir.Evaluate(0))


def test_a_tensor_is_not_taken_for_a_pointer_to_its_data():
    buffer = tir.decl_buffer((4,), "int32")
    body = tir.BufferStore(buffer, 7, [0])
    function = tessera.build(tir.PrimFunc([buffer.data], body), target="llvm")
    tensor = tessera.nd.array(np.zeros(4, "int32"))
    with pytest.raises(tessera.TVMError, match=r"Expect arg\[0\] to be a pointer to data"):
        function(tensor)
