"""The virtual machine runs what the language has: branches, loops, closures, data types, references."""

import gc
import resource
import threading
import weakref

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.prelude import Prelude
from tessera.runtime import profiler_vm
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
    assert exe.primitive_ops == ["vm_mod_fused_add_nn_relu"]
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


def two_results():
    x = relay.var("x", shape=(8, 16))
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([relay.exp(x), relay.sum(x, axis=1)])))


def test_results_may_be_computed_in_tensors_of_the_caller():
    vm = machine(two_results())
    first, second = tvm.nd.empty((8, 16)), tvm.nd.empty((8,))
    vm.set_outputs("main", first, second)
    a = floats(8, 16)
    out = vm.run(a)
    assert out[0].same_as(first) and out[1].same_as(second)
    np.testing.assert_allclose(first.numpy(), np.exp(a), rtol=1e-5)
    np.testing.assert_allclose(second.numpy(), a.sum(1), rtol=1e-4)
    vm.set_outputs("main")
    assert not vm.run(a)[0].same_as(first)


def test_results_of_branches_are_copied_into_tensors_of_the_caller():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    vm = machine(tvm.IRModule.from_expr(relay.Function([c, x], relay.If(c, x, x + x))))
    out = tvm.nd.empty((3,))
    vm.set_outputs("main", out)
    for flag, want in ((True, floats(3)), (False, floats(3) * 2)):
        assert vm.run(np.array(flag), floats(3)).same_as(out)
        np.testing.assert_allclose(out.numpy(), want)
    vm.set_outputs("main", tvm.nd.empty((4,)))
    with pytest.raises(ValueError, match=r"result 0 is \(3,\) float32, but the tensor set for it is \(4,\) float32"):
        vm.run(np.array(True), floats(3))


def test_inputs_are_set_once_and_results_kept():
    vm = machine(two_results())
    with pytest.raises(ValueError, match="the inputs of main are not set"):
        vm.invoke("main")
    vm.set_one_input("main", "x", floats(8, 16))
    vm.invoke_stateful("main")
    first, second = vm.get_outputs()
    np.testing.assert_allclose(first.numpy(), np.exp(floats(8, 16)), rtol=1e-5)
    assert second.shape == (8,)
    vm.set_input_with_index("main", 0, np.zeros((8, 16), "float32"))
    assert vm.invoke("main")[1].numpy().sum() == 0
    assert [out.numpy().sum() for out in vm.get_outputs()] == [8 * 16, 0]
    assert vm.get_input_index("x") == 0 and vm.get_input_index("y") == -1


def test_runs_are_timed():
    vm = machine(two_results())
    for end_to_end in (False, True):
        result = vm.benchmark(tvm.cpu(), floats(8, 16), repeat=2, number=3, end_to_end=end_to_end)
        assert len(result.results) == 2 and result.min > 0


def test_a_profile_names_each_kernel_once_per_call():
    exe = relay.vm.compile(two_results(), "llvm")
    vm = profiler_vm.VirtualMachineProfiler(exe, tvm.cpu())
    report = vm.profile(floats(8, 16), func_name="main")
    names = [str(call["Name"]) for call in report.calls]
    assert sorted(names) == sorted(exe.primitive_ops)
    assert "float32[8, 16]" in str(report.calls[0]["Argument Shapes"])
    assert "Duration (us)" in report.csv()


def test_a_profile_has_the_machine_s_own_instructions_that_take_time():
    x = relay.var("x", shape=(relay.Any(), 4))
    mod = tvm.IRModule.from_expr(relay.nn.relu(relay.nn.dense(x, relay.const(np.ones((4, 4), "float32")))))
    vm = profiler_vm.VirtualMachineProfiler(relay.vm.compile(mod, "llvm"), tvm.cpu())
    report = vm.profile(floats(8, 4), func_name="main")
    assert "VM::AllocTensorReg" in [str(call["Name"]) for call in report.calls] and "AllocTensorReg" in report.csv()


def test_registers_and_memory_are_used_again():
    x = relay.var("x", shape=(512, 512))
    y = x
    for _ in range(200):
        y = relay.nn.softmax(y)
    with tvm.transform.PassContext(opt_level=0):
        exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], y)), "llvm")
    size = next(line for line in exe.bytecode.splitlines() if "reg file size" in line)
    assert int(size.split("=")[1]) <= 3
    vm = runtime_vm.VirtualMachine(exe, tvm.cpu())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    vm.run(floats(512, 512))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB; all values together are 200 MB


def test_an_executor_evaluates_expressions_and_functions():
    x = relay.var("x", shape=(), dtype="int32")
    executor = relay.create_executor("vm", tvm.IRModule(), tvm.cpu(), "llvm")
    assert executor.evaluate(relay.const(20) + relay.const(22)).numpy() == 42
    assert executor.evaluate(relay.Function([x], x * x))(np.array(7, "int32")).numpy() == 49


BUILDS = {
    "the virtual machine": lambda mod: relay.vm.compile(mod, "llvm"),
    "a graph": lambda mod: relay.build(mod, "llvm"),
    "one pass": lambda mod: relay.transform.InferType()(mod),
    "several passes": lambda mod: tvm.transform.Sequential([relay.transform.InferType(), relay.transform.FuseOps(2)])(
        mod
    ),
}


@pytest.mark.parametrize("what", BUILDS)
def test_weights_are_freed_with_what_was_built_of_them(what):
    weights = floats(8, 16)
    alive = weakref.ref(weights)
    x = relay.var("x", shape=(1, 16))
    dense = relay.nn.dense(x, relay.const(tvm.nd.from_dlpack(weights)))
    mod = tvm.IRModule.from_expr(relay.Function([x], dense))
    built = BUILDS[what](mod)
    del weights
    gc.collect()
    assert alive() is not None
    del mod, dense, x, built
    gc.collect()
    assert alive() is None
