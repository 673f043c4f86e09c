"""The virtual machine runs what the language has: branches, loops, closures, data types, references."""

import threading

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.prelude import Prelude
from tessera.runtime import vm as runtime_vm


def machine(mod, params=None):
    return runtime_vm.VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu())


def evaluate(program, *args):
    mod = program if isinstance(program, tvm.IRModule) else tvm.IRModule.from_expr(program)
    return machine(mod).run(*args)


def parse(text):
    return tvm.parser.fromtext('#[version = "0.0.5"]\n' + text)


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def test_operators_run_in_fused_kernels():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(x + y))), "llvm")
    assert exe.primitive_ops == ["tvmgen_default_fused_add_nn_relu"]
    a, b = floats(2, 3), floats(2, 3) - 1
    np.testing.assert_allclose(runtime_vm.VirtualMachine(exe, tvm.cpu()).run(a, b).numpy(), np.maximum(a + b, 0))


def test_arguments_may_be_given_by_name_and_params_become_constants():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    a, weight = floats(2, 3), floats(4, 3)
    np.testing.assert_allclose(machine(mod).run(w=weight, x=a).numpy(), a @ weight.T, rtol=1e-5)
    np.testing.assert_allclose(machine(mod, {"w": weight}).run(a).numpy(), a @ weight.T, rtol=1e-5)


def test_a_tuple_goes_in_and_out():
    t = relay.var("t", type_annotation=relay.TupleType([relay.TensorType((2,)), relay.TensorType((3,))]))
    swapped = relay.Tuple([relay.TupleGetItem(t, 1) + relay.const(1.0), relay.TupleGetItem(t, 0)])
    a, b = floats(2), floats(3)
    out = evaluate(relay.Function([t], swapped), (a, b))
    np.testing.assert_allclose(out[0].numpy(), b + 1)
    np.testing.assert_allclose(out[1].numpy(), a)


def test_only_the_chosen_branch_runs():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    branch = relay.If(c, x + relay.const(1.0), x * relay.const(2.0))
    vm = machine(tvm.IRModule.from_expr(relay.Function([c, x], branch + x)))
    a = floats(3)
    np.testing.assert_allclose(vm.run(np.array(True), a).numpy(), a + 1 + a, rtol=1e-6)
    np.testing.assert_allclose(vm.run(np.array(False), a).numpy(), a * 2 + a, rtol=1e-6)


def test_a_value_shared_by_both_branches_and_after_them_is_right_in_each():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    shared = relay.exp(x)
    branch = relay.If(c, shared + relay.const(1.0), shared * relay.const(2.0))
    vm = machine(tvm.IRModule.from_expr(relay.Function([c, x], relay.Tuple([branch, shared]))))
    a = floats(3)
    for flag, want in ((True, np.exp(a) + 1), (False, np.exp(a) * 2)):
        out = vm.run(np.array(flag), a)
        np.testing.assert_allclose(out[0].numpy(), want, rtol=1e-5)
        np.testing.assert_allclose(out[1].numpy(), np.exp(a), rtol=1e-5)


def count_to(limit):
    i, s = relay.var("i", shape=(), dtype="int32"), relay.var("s", shape=(), dtype="int32")
    loop = relay.while_loop(
        lambda i, s: relay.less(i, relay.const(limit)), [i, s], lambda i, s: [i + relay.const(1), s + i]
    )
    return relay.Function([], relay.TupleGetItem(loop(relay.const(0), relay.const(0)), 1))


def test_a_loop_takes_no_more_registers_for_more_iterations():
    # A quarter of a million frames of this function would need more registers than there are.
    assert evaluate(count_to(300_000)).numpy() == np.array(sum(range(300_000)), "int64").astype("int32")


def test_deep_recursion_needs_no_deep_stack():
    mod = parse(
        """
        def @sum(%n: int32) -> int32 {
          if (%n == 0) { 0 } else { %n + @sum(%n - 1) }
        }
        def @main(%n: int32) -> int32 { @sum(%n) }
        """
    )
    n = 200_000
    assert evaluate(mod, np.array(n, "int32")).numpy() == np.array(n * (n + 1) // 2, "int64").astype("int32")


def test_recursion_without_end_is_an_error_not_a_crash():
    mod = parse("def @f(%n: int32) -> int32 { 1 + @f(%n) }\ndef @main(%n: int32) -> int32 { @f(%n) }")
    vm = machine(mod)
    with pytest.raises(tvm.TVMError, match="called too deep"):
        vm.run(np.array(1, "int32"))


def test_closures_keep_what_they_captured():
    x, y, z = (relay.var(name, shape=(), dtype="int32") for name in "xyz")
    add = relay.var("add")
    inner = relay.Function([y], x + y)
    program = relay.Let(add, relay.Function([x], inner), relay.Call(relay.Call(add, [z]), [relay.const(5)]))
    assert evaluate(relay.Function([z], program), np.array(37, "int32")).numpy() == 42


def test_functions_are_values():
    mod = parse(
        """
        def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
        def @add_one(%x: int32) -> int32 { %x + 1 }
        def @main(%c: bool, %x: int32) -> int32 {
          let %k = %x * 10;
          let %f = if (%c) { @add_one } else { fn (%y: int32) -> int32 { %y * %k } };
          @twice(%f, %x)
        }
        """
    )
    vm = machine(mod)
    assert vm.run(np.array(True), np.array(3, "int32")).numpy() == 5
    assert vm.run(np.array(False), np.array(3, "int32")).numpy() == 2700


def test_a_recursive_closure_calls_itself_with_its_captures():
    mod = parse(
        """
        def @main(%step: int32) -> int32 {
          let %down = fn (%n: int32) -> int32 {
            if (%n <= 0) { 0 } else { %step + %down(%n - 1) }
          };
          %down(5)
        }
        """
    )
    assert evaluate(mod, np.array(7, "int32")).numpy() == 35


def prelude_module(text):
    mod = tvm.IRModule()
    prelude = Prelude(mod)
    mod.update(tvm.parser.parse('#[version = "0.0.5"]\n' + text, init_module=mod)) if text else None
    return mod, prelude


def test_lists_of_the_prelude():
    mod = tvm.IRModule()
    p = Prelude(mod)
    _, cons, nil = mod.get_type("List")
    items = nil()
    for value in (4, 3, 2, 1):
        items = cons(relay.const(value), items)
    x = relay.var("x", shape=(), dtype="int32")
    square = relay.Function([x], x * x)
    mod["main"] = relay.Function([], p.mod.get_global_var("sum")(p.mod.get_global_var("map")(square, items)))
    assert evaluate(mod).numpy() == 30


def test_a_data_type_is_taken_apart_by_nested_patterns():
    mod = parse(
        """
        type Shape { Square(int32), Box(int32, int32), Pair(Shape, Shape), }
        def @area(%s: Shape) -> int32 {
          match (%s) {
            Square(%a) => { %a * %a },
            Pair(Square(%a), Square(%b)) => { %a + %b },
            Pair(Box(%a, _), %rest) => { %a * 1000 + @area(%rest) },
            Pair(_, _) => { 0 - 1 },
            Box(%a, %b) => { %a * %b },
          }
        }
        def @main(%x: int32) -> (int32, int32, int32, int32) {
          (@area(Square(%x)), @area(Pair(Square(%x), Square(2))),
           @area(Pair(Box(%x, 9), Box(2, 3))), @area(Pair(Square(1), Box(1, 1))))
        }
        """
    )
    assert [int(v.numpy()) for v in evaluate(mod, np.array(3, "int32"))] == [9, 5, 3006, -1]


def test_an_incomplete_match_that_fails_says_so():
    mod = parse(
        """
        type Maybe { Just(int32), Nothing, }
        def @main() -> int32 { match? (Nothing) { Just(%x) => { %x }, } }
        """
    )
    with pytest.raises(tvm.TVMError, match="no clause of a match fits"):
        evaluate(mod)


def test_constructors_are_functions():
    mod = tvm.IRModule()
    p = Prelude(mod)
    _, some, _ = mod.get_type("Option")
    _, cons, nil = mod.get_type("List")
    x = relay.var("x", shape=(), dtype="int32")
    mod["main"] = relay.Function([x], p.mod.get_global_var("map")(some, cons(x, nil())))
    out = evaluate(mod, np.array(7, "int32"))
    assert (out.tag, out[0].tag) == (cons.tag, some.tag)
    assert out[0][0].numpy() == 7


def test_references_are_shared_and_change():
    mod = parse(
        """
        def @main(%x: int32) -> (int32, int32) {
          let %r = ref(%x);
          let %before = ref_read(%r);
          let %u = ref_write(%r, %before + 1);
          let %again = %r;
          let %v = ref_write(%again, ref_read(%r) * 2);
          (%before, ref_read(%r))
        }
        """
    )
    assert [int(v.numpy()) for v in evaluate(mod, np.array(20, "int32"))] == [20, 42]


def test_a_wrong_argument_is_named():
    x = relay.var("x", shape=(2, 3))
    vm = machine(tvm.IRModule.from_expr(relay.Function([x], x + x)))
    with pytest.raises(ValueError, match=r"argument 0 \(x\) of main is \(2, 3\) float32, but .* \(2, 4\) float32"):
        vm.run(floats(2, 4))
    with pytest.raises(ValueError, match="but the value given is .* float64"):
        vm.run(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="takes 1, 2 are given"):
        vm.run(floats(2, 3), floats(2, 3))
    with pytest.raises(ValueError, match='has no function "other"; it has main'):
        vm.invoke("other")
    np.testing.assert_allclose(vm.run(floats(2, 3)).numpy(), floats(2, 3) * 2)  # and it still works


def test_many_threads_run_one_executable():
    mod = tvm.IRModule.from_expr(count_to(200))
    exe = relay.vm.compile(mod, "llvm")
    results = []

    def work():
        vm = runtime_vm.VirtualMachine(exe, tvm.cpu())
        results.extend(int(vm.run().numpy()) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [sum(range(200))] * 160
