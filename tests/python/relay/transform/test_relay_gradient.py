"""relay.transform.gradient in both modes, against NumPy and finite differences."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay import testing, transform


def parse(text):
    return tvm.parser.parse('#[version = "0.0.5"]\n' + text)


def gradients(text, mode, *args):
    """The value of main and the gradients of its parameters."""
    mod = parse(text)
    mod["backward"] = transform.gradient(mod.get_global_var("main"), mod, mode=mode)
    mod = transform.InferType()(mod)
    out, grads = relay.create_executor("debug", mod=mod).evaluate(mod.get_global_var("backward"))(*args)
    return out.numpy(), [grad.numpy() for grad in grads]


MODES = pytest.mark.parametrize("mode", ["first_order", "higher_order"])
A = np.array([0.3, -0.7, 1.1, 0.2], "float32")


@MODES
def test_a_graph_with_shared_parts(mode):
    text = "def @main(%a: Tensor[(4), float32]) { %0 = tanh(%a); multiply(%0, exp(%0)) }"
    out, (grad,) = gradients(text, mode, A)
    t = np.tanh(A)
    np.testing.assert_allclose(out, t * np.exp(t), rtol=1e-5)
    np.testing.assert_allclose(grad, (1 + t) * np.exp(t) * (1 - t * t), rtol=1e-4)


@MODES
def test_tuples_go_in_and_come_out(mode):
    text = """def @main(%a: Tensor[(4), float32], %t: (float32, float32)) {
      let %s = split(%a, indices_or_sections=2);
      let %c = concatenate((%s.1, %s.0));
      multiply(multiply(%c, %a), multiply(%t.0, %t.1))
    }"""
    mod = parse(text)
    mod["backward"] = transform.gradient(mod.get_global_var("main"), mod, mode=mode)
    mod = transform.InferType()(mod)
    pair = (np.float32(2), np.float32(3))
    run = relay.create_executor("debug", mod=mod).evaluate(mod.get_global_var("backward"))
    _, (grad, _) = run(A, pair)
    swapped = np.concatenate([A[2:], A[:2]])
    np.testing.assert_allclose(grad.numpy(), 2 * 6 * swapped, rtol=1e-5)


@MODES
def test_calls_of_functions_are_followed(mode):
    text = """def @square(%x: float32) -> float32 { multiply(%x, %x) }
    def @main(%x: float32, %y: float32) -> float32 {
      let %f = fn (%z: float32) { multiply(@square(%z), %y) };
      add(%f(%x), %f(3f))
    }"""
    out, (dx, dy) = gradients(text, mode, 2.0, 5.0)
    assert (out, dx, dy) == (65.0, 20.0, 13.0)


def test_recursion_and_branches():
    text = """def @pow(%x: float32, %n: int32) -> float32 {
      if (greater(%n, 0)) { multiply(%x, @pow(%x, subtract(%n, 1))) } else { 1f }
    }
    def @main(%x: float32) { @pow(%x, 3) }"""
    out, (grad,) = gradients(text, "higher_order", 2.0)
    assert (out, grad) == (8.0, 12.0)


def test_references_and_closures():
    text = """def @main(%x: float32, %y: float32) {
      let %f = fn (%a: float32) { multiply(%a, %x) };
      let %r = ref(%y);
      let %u = ref_write(%r, %f(%y));
      add(ref_read(%r), %f(3f))
    }"""
    out, (dx, dy) = gradients(text, "higher_order", 2.0, 5.0)
    assert (out, dx, dy) == (16.0, 8.0, 2.0)


def test_lists_of_tensors():
    text = """type List[A] { Cons(A, List[A]), Nil, }
    def @product(%l: List[float32]) -> float32 {
      match (%l) { Nil => { 1f }, Cons(%h, %t) => { multiply(%h, @product(%t)) }, }
    }
    def @main(%x: float32, %y: float32) { @product(Cons(%x, Cons(%y, Cons(%x, Nil)))) }"""
    out, (dx, dy) = gradients(text, "higher_order", 3.0, 2.0)
    assert (out, dx, dy) == (18.0, 12.0, 9.0)


def test_an_expression_shared_by_branches_has_one_gradient():
    text = """def @main(%c: bool, %x: float32) {
      %0 = exp(%x);
      add(if (%c) { multiply(%0, 2f) } else { %0 }, %0)
    }"""
    for choice, factor in ((True, 3.0), (False, 2.0)):
        _, (_, grad) = gradients(text, "higher_order", choice, 0.5)
        np.testing.assert_allclose(grad, factor * np.exp(0.5), rtol=1e-5)


def test_the_gradient_of_a_gradient():
    x = relay.var("x", shape=())
    once = testing.run_infer_type(relay.Function([x], relay.multiply(relay.multiply(x, x), x)))
    first = testing.run_infer_type(transform.gradient(once))
    y = relay.var("y", shape=())
    slope = testing.run_infer_type(relay.Function([y], relay.TupleGetItem(relay.TupleGetItem(first(y), 1), 0)))
    second = testing.run_infer_type(transform.gradient(slope))
    value, (grad,) = relay.create_executor("debug").evaluate(second)(2.0)
    assert (value.numpy(), grad.numpy()) == (12.0, 12.0)


def test_first_order_gradients_reject_what_is_no_graph():
    text = "def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { %x } }"
    with pytest.raises(NotImplementedError, match='this is a relay.If; use mode="higher_order"'):
        gradients(text, "first_order", True, 1.0)


@MODES
def test_an_operator_without_a_gradient_is_named(mode):
    with pytest.raises(NotImplementedError, match="reinterpret has no gradient"):
        gradients('def @main(%x: Tensor[(4), float32]) { reinterpret(%x, dtype="int32") }', mode, A)


def test_only_tensors_have_gradients():
    with pytest.raises(TypeError, match="the parameter %f is a fn"):
        gradients("def @main(%f: fn (float32) -> float32) { %f(1f) }", "higher_order", None)
    with pytest.raises(ValueError, match="unknown mode"):
        transform.gradient(relay.Function([], relay.const(1.0)), mode="third_order")


def test_the_pass_replaces_every_function():
    mod = transform.InferType()(transform.FirstOrderGradient()(parse("def @main(%x: float32) { exp(%x) }")))
    assert str(mod["main"].ret_type) == "(float32, (float32,))"


@MODES
def test_check_grad_compares_with_finite_differences(mode):
    x, y = relay.var("x", shape=(2, 3), dtype="float64"), relay.var("y", shape=(2, 3), dtype="float64")
    func = relay.Function([x, y], relay.multiply(relay.tanh(x), relay.exp(y)))
    testing.check_grad(func, mode=mode, scale=1.0)


def test_check_grad_tells_when_the_two_differ():
    x = relay.var("x", shape=(3,), dtype="float64")
    with pytest.raises(AssertionError, match="Not equal to tolerance"):  # steps of 1 are too long
        testing.check_grad(relay.Function([x], relay.exp(x)), inputs=[np.array([0.2, 1.3, 2.2])], eps=1.0)


def operators(function):
    names = []
    relay.analysis.post_order_visit(
        function,
        lambda e: names.append(e.op.name) if isinstance(e, relay.Call) and isinstance(e.op, tvm.ir.Op) else None,
    )
    return names


def test_lazy_gradients_do_not_compute_with_zeros_and_ones():
    text = "def @main(%a: Tensor[(4), float32]) { multiply(tanh(%a), exp(%a)) }"
    mod = tvm.IRModule.from_expr(transform.gradient(parse(text)["main"], mode="first_order"))
    before = transform.InferType()(mod)
    passes = tvm.transform.Sequential([transform.LazyGradientInit(), transform.DeadCodeElimination()])
    with tvm.transform.PassContext(opt_level=3):
        after = passes(before)
    assert operators(before["main"]).count("zeros_like") == 4
    assert "zeros_like" not in operators(after["main"])
    assert operators(after["main"]).count("add") == 1  # of the two ways to %a
    _, (expected,) = relay.create_executor("debug", mod=before).evaluate()(A)
    _, (grad,) = relay.create_executor("debug", mod=after).evaluate()(A)
    np.testing.assert_array_equal(grad.numpy(), expected.numpy())


def test_zeros_that_broadcast_stay():
    text = "def @main(%x: float32, %y: Tensor[(4), float32]) { add(zeros_like(%y), %x) }"
    assert operators(transform.LazyGradientInit()(parse(text))["main"]) == ["zeros_like", "add"]


@MODES
def test_of_a_tuple_the_first_field_is_differentiated(mode):
    text = """def @main(%x: float32) { ((multiply(%x, 2f), exp(%x)), multiply(%x, 3f)) }"""
    mod = parse(text)
    mod["backward"] = transform.gradient(mod.get_global_var("main"), mod, mode=mode)
    mod = transform.InferType()(mod)
    out, grads = relay.create_executor("debug", mod=mod).evaluate(mod.get_global_var("backward"))(np.float32(5))
    assert float(out[1].numpy()) == 15 and float(grads[0].numpy()) == 2


@MODES
def test_a_range_follows_its_start_and_step(mode):
    start, stop, step = (relay.var(name, shape=()) for name in ("start", "stop", "step"))
    body = relay.sum(relay.arange(start, stop, step, dtype="float32") * relay.const(2.0))
    mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([start, stop, step], body)))
    backward = transform.InferType()(tvm.IRModule.from_expr(transform.gradient(mod["main"], mod, mode=mode)))
    args = [np.float32(value) for value in (2.5, 9.5, 1.8)]  # four elements
    _, grads = relay.create_executor("debug", backward).evaluate()(*args)
    np.testing.assert_allclose([grad.numpy() for grad in grads], [8, 0, 12])


def test_a_checkpoint_is_computed_again_backwards():
    def operators_of(text):
        mod = parse(text)
        grad = transform.gradient(mod["main"], mod, mode="higher_order")
        return sorted(operators(transform.InferType()(tvm.IRModule.from_expr(grad))["main"]))

    plain = operators_of("def @main(%x: Tensor[(4), float32]) { tanh(sin(%x)) }")
    again = operators_of("def @main(%x: Tensor[(4), float32]) { annotation.checkpoint(tanh(sin(%x))) }")
    assert again.count("sin") == plain.count("sin") + 1 and again.count("tanh") == plain.count("tanh") + 1
    assert "annotation.checkpoint" not in again


@MODES
def test_a_checkpoint_changes_no_gradient(mode):
    text = """def @main(%a: Tensor[(4), float32], %b: Tensor[(4), float32]) {
      let %t = (tanh(%a), multiply(%a, %b));
      let %c = annotation.checkpoint(multiply(exp(%t.0), sin(%t.1)));
      subtract(multiply(%c, %c), annotation.checkpoint(annotation.checkpoint(%t.1)))
    }"""
    _, with_checkpoints = gradients(text, mode, A, A + 1)
    _, without = gradients(text.replace("annotation.checkpoint", "copy"), mode, A, A + 1)
    np.testing.assert_allclose(with_checkpoints, without, rtol=1e-6)


def test_a_checkpoint_takes_its_gradient_over():
    function = parse("def @main(%x: Tensor[(4), float32]) { annotation.checkpoint(sin(exp(%x))) }")["main"]
    passes = [
        transform.PartialEvaluate(),
        transform.DeadCodeElimination(inline_once=True, ignore_impurity=True),
    ]
    mod = tvm.IRModule.from_expr(transform.gradient(function))
    text = tvm.transform.Sequential(passes, opt_level=0)(transform.InferType()(mod))["main"].astext()
    assert text.count(" sin(") == 1  # not once more for zeros of its shape
    assert text.count("zeros_like(") == 2 and text.count("ones_like(") == 1


def test_a_value_that_leaves_a_checkpoint_twice_keeps_its_gradients():
    text = """def @main(%x: Tensor[(4), float32]) {
      let %e = exp(%x);
      let %t = annotation.checkpoint((%e, %e, sin(%e)));
      add(add(multiply(%t.0, %t.1), %t.2), %e)
    }"""
    _, with_checkpoints = gradients(text, "higher_order", A)
    _, without = gradients(
        text.replace("annotation.checkpoint((%e, %e, sin(%e)))", "(%e, %e, sin(%e))"), "higher_order", A
    )
    np.testing.assert_allclose(with_checkpoints[0], without[0], rtol=1e-6)
