"""relay.create_executor: programs run as they stand, and as graphs."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.backend.interpreter import ConstructorValue, RefValue


def debug(mod=None):
    return relay.create_executor("debug", mod=mod, device=tvm.cpu(), target="llvm")


def value(expr, mod=None, binds=None):
    return debug(mod).evaluate(expr, binds)


def parse(text):
    return tvm.parser.parse('#[version = "0.0.5"]\n' + text)


def run(text, *args):
    return debug(parse(text)).evaluate()(*args)


def test_a_constant_expression_has_a_tensor_as_value():
    out = value(relay.add(relay.const(2.0), relay.const(3.0)))
    assert isinstance(out, tvm.nd.NDArray) and out.numpy() == 5.0


def test_a_function_is_callable_by_position_and_by_name():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    f = value(relay.Function([x, y], relay.subtract(x, y)))
    a, b = np.array([3, 4], "float32"), np.array([1, 1], "float32")
    np.testing.assert_array_equal(f(a, b).numpy(), [2, 3])
    np.testing.assert_array_equal(f(a, y=b).numpy(), [2, 3])
    np.testing.assert_array_equal(f(y=b, x=a).numpy(), [2, 3])
    with pytest.raises(ValueError, match="duplicate argument"):
        f(a, x=b)
    with pytest.raises(ValueError, match="insufficient arguments, expected 2, provided 1"):
        f(x=a)
    with pytest.raises(ValueError, match="no parameter is named z"):
        f(a, z=b)


def test_free_variables_take_their_values_from_binds():
    x = relay.var("x", shape=())
    assert value(relay.add(x, x), binds={x: relay.const(4.0)}).numpy() == 8.0
    with pytest.raises(AssertionError, match="variables that nobody binds: x"):
        value(relay.Function([], x))


def test_both_branches_of_an_if():
    f = "def @main(%c: bool, %x: float32) -> float32 { if (%c) { add(%x, 1f) } else { multiply(%x, 10f) } }"
    assert run(f, True, 2.0).numpy() == 3.0
    assert run(f, False, 2.0).numpy() == 20.0


def test_only_the_branch_that_is_taken_is_evaluated():
    f = """def @main(%c: bool) -> int32 {
      let %r = ref(0);
      let %w = if (%c) { ref_write(%r, 1) } else { ref_write(%r, 2) };
      ref_read(%r)
    }"""
    assert run(f, True).numpy() == 1
    assert run(f, False).numpy() == 2


def test_closures_keep_the_values_of_their_free_variables():
    f = """def @main(%x: float32) -> float32 {
      let %make = fn (%a: float32) { fn (%b: float32) { subtract(%a, %b) } };
      let %f = %make(10f);
      let %g = %make(%x);
      multiply(%f(1f), %g(2f))
    }"""
    assert run(f, 5.0).numpy() == 27.0


def test_a_closure_can_be_called_from_python():
    make = run("def @main(%a: float32) -> fn (float32) -> float32 { fn (%b: float32) { subtract(%a, %b) } }", 7.0)
    assert make(2.0).numpy() == 5.0
    with pytest.raises(TypeError, match="a function of 1 parameters is called with 2 arguments"):
        make(2.0, 3.0)


def test_a_local_function_may_call_itself():
    f = """def @main(%n: int32) -> int32 {
      let %fact = fn (%k: int32) -> int32 {
        if (equal(%k, 0)) { 1 } else { multiply(%k, %fact(subtract(%k, 1))) }
      };
      %fact(%n)
    }"""
    assert run(f, 6).numpy() == 720


def test_a_loop_by_tail_calls_runs_in_constant_space():
    f = """def @loop(%i: int32, %sum: int32) -> int32 {
      if (equal(%i, 0)) { %sum } else { @loop(subtract(%i, 1), add(%sum, %i)) }
    }
    def @main(%n: int32) -> int32 { @loop(%n, 0) }"""
    assert run(f, 5000).numpy() == 5000 * 5001 // 2


def test_deep_recursion_does_not_overflow_the_stack():
    f = """def @sum(%i: int32) -> int32 { if (equal(%i, 0)) { 0 } else { add(%i, @sum(subtract(%i, 1))) } }
    def @main(%n: int32) -> int32 { @sum(%n) }"""
    assert run(f, 20000).numpy() == 20000 * 20001 // 2


def test_a_long_chain_of_operators_is_evaluated():
    x = relay.var("x", shape=())
    y = x
    for _ in range(20000):
        y = relay.negative(y)
    assert value(relay.Function([x], y))(3.0).numpy() == 3.0


def test_references_are_created_read_and_written_in_order():
    f = """def @main(%x: float32) -> (float32, float32) {
      let %r = ref(%x);
      let %before = ref_read(%r);
      let %u = ref_write(%r, add(%before, 1f));
      (%before, ref_read(%r))
    }"""
    before, after = run(f, 1.0)
    assert before.numpy() == 1.0 and after.numpy() == 2.0


def test_a_reference_that_is_shared_in_a_graph_is_one_reference():
    x = relay.var("x", shape=())
    ref = relay.RefCreate(x)
    write = relay.Function([], relay.RefWrite(ref, relay.const(9.0)))
    u = relay.var("u")
    program = relay.Function([x], relay.Let(u, relay.Call(write, []), relay.RefRead(ref)))
    assert value(program)(1.0).numpy() == 9.0


def test_references_and_tuples_are_values_for_python():
    ref = run("def @main(%x: float32) -> ref(float32) { ref(%x) }", 3.0)
    assert isinstance(ref, RefValue) and ref.value.numpy() == 3.0
    assert RefValue(np.float32(2)).value.numpy() == 2.0
    swap = "def @main(%t: (float32, int32)) -> (int32, float32) { (%t.1, %t.0) }"
    b, a = run(swap, (np.float32(1), np.int32(2)))
    assert (b.numpy(), a.numpy()) == (2, 1.0)


def test_data_types_are_built_and_matched():
    mod = tvm.IRModule()
    prelude = relay.Prelude(mod)
    cons, nil = (prelude.mod.get_type("List")[i] for i in (1, 2))
    items = nil()
    for i in (3, 2, 1):
        items = cons(relay.const(i), items)
    executor = debug(prelude.mod)
    out = executor.evaluate(
        prelude.mod.get_global_var("map")(
            relay.Function([v := relay.var("v", shape=(), dtype="int32")], relay.add(v, v)), items
        )
    )
    got = []
    while out.constructor.name_hint == "Cons":
        assert isinstance(out, ConstructorValue) and out.tag == cons.tag
        got.append(int(out.fields[0].numpy()))
        out = out.fields[1]
    assert got == [2, 4, 6] and out.tag == nil.tag
    total = executor.evaluate(prelude.mod.get_global_var("sum")(items))
    assert total.numpy() == 6


def test_constructors_and_operators_are_functions_too():
    mod = parse("""
    type Box[A] { Box(A), }
    def @twice[A](%f: fn (A) -> A, %x: A) -> A { %f(%f(%x)) }
    def @wrap[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
    def @main(%x: float32) -> Box[float32] { @wrap(Box, @twice(fn (%a: float32) { add(%a, 1f) }, %x)) }
    """)
    box = debug(mod).evaluate()(1.0)
    assert box.constructor.name_hint == "Box" and box.fields[0].numpy() == 3.0


def test_a_match_that_fits_nowhere_is_an_error():
    mod = parse("""
    type Choice { Left(float32), Right(float32), }
    def @main(%x: float32) -> float32 { match? (Right(%x)) { Left(%a) => { %a }, } }
    """)
    with pytest.raises(ValueError, match="no clause of the match fits"):
        debug(mod).evaluate()(1.0)


def test_shapes_that_are_known_only_at_run_time():
    x = relay.var("x", shape=(relay.Any(), 3))
    f = value(relay.Function([x], relay.sum(relay.exp(x), axis=1)))
    for rows in (1, 4):
        data = np.random.rand(rows, 3).astype("float32")
        np.testing.assert_allclose(f(data).numpy(), np.exp(data).sum(axis=1), rtol=1e-5)


def test_an_executor_sees_functions_that_are_added_to_its_module():
    mod = tvm.IRModule()
    executor = debug(mod)
    x = relay.var("x", shape=())
    mod["f"] = relay.Function([x], relay.add(x, relay.const(1.0)))
    assert executor.evaluate(mod.get_global_var("f"))(1.0).numpy() == 2.0
    mod["f"] = relay.Function([x], relay.add(x, relay.const(5.0)))
    assert executor.evaluate(mod.get_global_var("f"))(1.0).numpy() == 6.0


def test_a_fused_function_is_run_as_its_body():
    x = relay.var("x", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.add(x, relay.const(1.0)))))
    mod = relay.transform.FuseOps(2)(mod)
    data = np.arange(3, dtype="float32")
    np.testing.assert_allclose(debug(mod).evaluate()(data).numpy(), np.exp(data + 1), rtol=1e-6)


def test_ill_typed_expressions_are_rejected_before_anything_runs():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(3,))
    with pytest.raises(tvm.error.DiagnosticError):
        value(relay.Function([x, y], relay.add(x, y)))


def test_the_graph_executor_gives_tuples_as_lists():
    x = relay.var("x", shape=(2,))
    f = relay.Function([x], relay.Tuple([relay.exp(x), relay.Tuple([relay.negative(x)])]))
    executor = relay.create_executor("graph", mod=tvm.IRModule.from_expr(f), device=tvm.cpu(), target="llvm")
    data = np.array([1, 2], "float32")
    first, (second,) = executor.evaluate()(x=data)
    np.testing.assert_allclose(first.numpy(), np.exp(data), rtol=1e-6)
    np.testing.assert_array_equal(second.numpy(), -data)


def test_the_graph_executor_rejects_shapes_that_are_not_known():
    x = relay.var("x", shape=(relay.Any(),))
    executor = relay.create_executor("graph")
    with pytest.raises(ValueError, match="only supports static graphs"):
        executor.evaluate(relay.Function([x], relay.exp(x)))


def test_an_unknown_kind_of_executor_is_an_error():
    with pytest.raises(RuntimeError, match="unknown execution strategy: quantum"):
        relay.create_executor("quantum")


def test_parameters_are_bound_by_name():
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.multiply(x, w)))
    for kind in ("debug", "graph"):
        f = relay.create_executor(kind, mod, params={"w": np.array([2, 3], "float32")}).evaluate()
        np.testing.assert_array_equal(f(np.array([1, 1], "float32")).numpy(), [2, 3])


def test_arguments_must_fit_their_parameters():
    x = relay.var("x", shape=(2, relay.Any()))
    f = value(relay.Function([x], relay.exp(x)))
    assert f(np.zeros((2, 7), "float32")).numpy().shape == (2, 7)
    with pytest.raises(TypeError, match=r"the parameter %x is a .*, but the argument is \(3, 7\) float32"):
        f(np.zeros((3, 7), "float32"))
    with pytest.raises(TypeError, match="the argument is .* float64"):
        f(np.zeros((2, 7), "float64"))


def test_numbers_of_python_take_the_type_of_the_parameter():
    n, y = relay.var("n", shape=(), dtype="int64"), relay.var("y", shape=(), dtype="float64")
    out = value(relay.Function([n, y], relay.add(relay.cast(n, "float64"), y)))(3, 0.5).numpy()
    assert out == 3.5 and out.dtype == "float64"


def test_shapes_that_depend_on_values():
    x, n = relay.var("x", shape=(2, 3)), relay.var("n", shape=(), dtype="int32")
    s = relay.var("s", shape=(2,), dtype="int64")
    data = np.array([[0, 1, 2], [3, 0, 5]], "float32")
    indices = value(relay.Function([x], relay.argwhere(x)))(data).numpy()
    np.testing.assert_array_equal(indices, np.argwhere(data))
    shaped = value(relay.Function([x, s], relay.reshape(x, s)))(data, np.array([3, 2], "int64")).numpy()
    np.testing.assert_array_equal(shaped, data.reshape(3, 2))
    steps = value(relay.Function([n], relay.arange(relay.const(0), n, relay.const(2), dtype="int32")))
    assert steps(7).numpy().tolist() == [0, 2, 4, 6] and steps(2).numpy().tolist() == [0]
