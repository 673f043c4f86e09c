"""Shapes known only at run time: every program gives what it gives with the shapes written down."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay, te
from tessera.contrib import graph_executor
from tessera.relay import testing
from tessera.runtime import vm as runtime_vm

ANY = None


def any_shape(shape):
    return tuple(relay.Any() if extent is ANY else extent for extent in shape)


def compile_function(params, body):
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function(params, body)), "llvm")
    return runtime_vm.VirtualMachine(exe, tvm.cpu())


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def flat(value):
    return [value.numpy()] if isinstance(value, tvm.nd.NDArray) else [part.numpy() for part in value]


def agree(make, *inputs):
    """`make(*vars)` with dynamic extents where an input (shape with ANY, then actual shapes...) says so."""
    opens = [shape[0] for shape in inputs]
    trials = list(zip(*[shape[1:] for shape in inputs]))
    dynamic_vars = [relay.var(f"x{i}", shape=any_shape(shape)) for i, shape in enumerate(opens)]
    dynamic = compile_function(dynamic_vars, make(*dynamic_vars))
    for trial, shapes in enumerate(trials):
        values = [floats(*shape, seed=trial + i) for i, shape in enumerate(shapes)]
        fixed_vars = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(shapes)]
        want = flat(compile_function(fixed_vars, make(*fixed_vars)).run(*values))
        got = flat(dynamic.run(*values))
        assert len(got) == len(want)
        for a, b in zip(got, want):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


CASES = {
    "relu": (lambda x: relay.nn.relu(x), ((ANY, ANY), (2, 3), (0, 4), (7, 33))),
    "chain": (lambda x: relay.exp(relay.nn.relu(x) + x) * x, ((ANY,), (5,), (1,), (0,))),
    "dense": (lambda x, w: relay.nn.dense(x, w), ((ANY, 8), (3, 8), (1, 8), (40, 8)), ((5, 8), (5, 8), (5, 8), (5, 8))),
    "dense of unknown weight": (
        lambda x, w: relay.nn.dense(x, w),
        ((ANY, ANY), (3, 8), (2, 1)),
        ((ANY, ANY), (5, 8), (4, 1)),
    ),
    "batch_matmul": (
        lambda x, y: relay.nn.batch_matmul(x, y),
        ((ANY, ANY, 4), (2, 3, 4), (1, 5, 4)),
        ((ANY, ANY, 4), (2, 6, 4), (1, 2, 4)),
    ),
    "conv2d": (
        lambda x, w: relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1), strides=(2, 2))),
        ((ANY, 3, ANY, ANY), (1, 3, 8, 8), (2, 3, 9, 5)),
        ((4, 3, 3, 3), (4, 3, 3, 3), (4, 3, 3, 3)),
    ),
    "max_pool2d": (
        lambda x: relay.nn.max_pool2d(x, (3, 3), strides=(2, 2), padding=(1, 1), ceil_mode=True),
        ((ANY, 2, ANY, ANY), (1, 2, 8, 8), (2, 2, 9, 6)),
    ),
    "avg_pool2d": (
        lambda x: relay.nn.avg_pool2d(x, (2, 2), strides=(2, 2), padding=(1, 1)),
        ((ANY, 2, ANY, ANY), (1, 2, 8, 8), (2, 2, 9, 7)),
    ),
    "global_avg_pool2d": (lambda x: relay.nn.global_avg_pool2d(x), ((ANY, 2, ANY, ANY), (1, 2, 8, 8), (2, 2, 9, 7))),
    "batch_flatten": (lambda x: relay.nn.batch_flatten(x), ((ANY, 2, ANY), (3, 2, 4), (1, 2, 1))),
    "reshape": (lambda x: relay.reshape(x, (-1, 2)) + relay.const(1.0), ((ANY, 4), (3, 4), (1, 4))),
    "reshape only": (lambda x: relay.reshape(x, (0, -1)), ((ANY, 4, 2), (3, 4, 2), (1, 4, 2))),
    "reshape to fixed": (lambda x: relay.reshape(x, (2, 6)), ((ANY, ANY), (3, 4), (12, 1))),
    "reshape -3 -4": (lambda x: relay.reshape(x, (-4, 2, -1, -3)), ((ANY, ANY, 3), (4, 5, 3), (2, 1, 3))),
    "transpose": (lambda x: relay.transpose(x, (2, 0, 1)), ((ANY, ANY, 3), (4, 5, 3), (2, 1, 3))),
    "expand and squeeze": (lambda x: relay.squeeze(relay.expand_dims(x, 1, 2), [1]), ((ANY, ANY), (4, 5), (2, 1))),
    "concatenate": (
        lambda x, y: relay.concatenate([x, y, x], 0),
        ((ANY, ANY), (4, 5), (2, 1)),
        ((ANY, ANY), (1, 5), (3, 1)),
    ),
    "stack": (lambda x, y: relay.stack([x, y], 1), ((ANY, 5), (4, 5), (2, 5)), ((ANY, 5), (4, 5), (2, 5))),
    "split": (lambda x: relay.split(x, 3, axis=1).astuple(), ((ANY, ANY), (4, 6), (2, 3))),
    "split at": (lambda x: relay.split(x, (2, 3), axis=1).astuple(), ((ANY, ANY), (4, 6), (2, 5))),
    "sum": (lambda x: relay.sum(x, axis=1), ((ANY, ANY), (4, 6), (2, 3))),
    "sum of all": (lambda x: relay.sum(x), ((ANY, ANY), (4, 6), (2, 3))),
    "mean keepdims": (lambda x: x - relay.mean(x, axis=[0, 2], keepdims=True), ((ANY, 3, ANY), (4, 3, 6), (2, 3, 5))),
    "max": (lambda x: relay.max(x, axis=-1), ((ANY, ANY), (4, 6), (2, 3))),
    "softmax": (lambda x: relay.nn.softmax(x), ((ANY, ANY), (4, 6), (2, 17))),
    "log_softmax": (lambda x: relay.nn.log_softmax(x), ((ANY, ANY), (4, 6), (2, 17))),
    "broadcast": (
        lambda x, y: x * y + y,
        ((ANY, ANY), (4, 6), (1, 5), (3, 1), (0, 4), (1, 0)),
        ((ANY, ANY), (4, 6), (2, 5), (1, 7), (1, 1), (1, 1)),
    ),
    "broadcast of ranks": (lambda x, y: x - y, ((ANY, ANY, 3), (4, 6, 3), (1, 5, 3)), ((ANY, 3), (6, 3), (1, 3))),
    "bias_add": (lambda x, y: relay.nn.bias_add(x, y), ((ANY, ANY, 2), (4, 6, 2), (1, 5, 2)), ((ANY,), (6,), (5,))),
    "multi output": (lambda x: relay.Tuple([x + x, relay.sum(x), relay.nn.relu(x)]), ((ANY, 2), (4, 2), (1, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_dynamic_extents_give_what_written_ones_give(name):
    agree(*CASES[name])


def test_a_kernel_is_compiled_once_for_all_shapes():
    x = relay.var("x", shape=any_shape((ANY, 4)))
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.relu(x)))), "llvm")
    assert len(exe.primitive_ops) == 1
    vm = runtime_vm.VirtualMachine(exe, tvm.cpu())
    for n in (1, 3, 1000):
        np.testing.assert_allclose(vm.run(floats(n, 4)).numpy(), np.maximum(floats(n, 4), 0))


def test_shapes_that_do_not_fit_together_are_an_error_that_names_them():
    x, y = relay.var("x", shape=any_shape((ANY, ANY))), relay.var("y", shape=any_shape((ANY, ANY)))
    vm = compile_function([x, y], x + y)
    with pytest.raises(ValueError, match=r"fused_add: the shapes .* \(2, 4\) float32, \(3, 4\) float32"):
        vm.run(floats(2, 4), floats(3, 4))
    w = relay.var("w", shape=(3, 4))
    vm = compile_function([x, w], relay.nn.dense(x, w))
    with pytest.raises(ValueError, match=r"arg0.shape\[1\] == 4 does not hold for \(2, 5\) float32"):
        vm.run(floats(2, 5), floats(3, 4))


def test_a_window_larger_than_the_picture_is_an_error():
    x, w = relay.var("x", shape=any_shape((1, 3, ANY, ANY))), relay.var("w", shape=(4, 3, 5, 5))
    vm = compile_function([x, w], relay.nn.conv2d(x, w))
    with pytest.raises(ValueError, match=r"fused_nn_conv2d: the result would have the shape \(1, 4, -2, 4\)"):
        vm.run(floats(1, 3, 2, 8), floats(4, 3, 5, 5))


def test_a_multilayer_perceptron_takes_any_batch():
    mod, params = testing.mlp.get_workload(batch_size=1)
    x = relay.var("data", shape=any_shape((ANY, 1, 28, 28)))
    body = relay.bind(mod["main"].body, {mod["main"].params[0]: x})
    dynamic = tvm.IRModule.from_expr(relay.Function([x, *mod["main"].params[1:]], body))
    vm = runtime_vm.VirtualMachine(relay.vm.compile(dynamic, "llvm", params=params), tvm.cpu())
    one = runtime_vm.VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tvm.cpu())
    batch = floats(5, 1, 28, 28)
    want = np.concatenate([one.run(batch[i : i + 1]).numpy() for i in range(5)])
    np.testing.assert_allclose(vm.run(batch).numpy(), want, rtol=1e-4, atol=1e-5)


def test_a_loop_may_run_over_a_sequence_of_any_length():
    xs = relay.var("xs", shape=any_shape((ANY, 4)))
    w = relay.var("w", shape=(4, 4))
    i, state = relay.var("i", shape=(), dtype="int32"), relay.var("state", shape=(1, 4))
    length = relay.take(relay.shape_of(xs), relay.const(0), axis=0)

    def step(i, state):
        row = relay.expand_dims(relay.take(xs, i, axis=0), 0)
        return [i + relay.const(1), relay.tanh(relay.nn.dense(state, w) + row)]

    loop = relay.while_loop(lambda i, state: relay.less(i, length), [i, state], step)
    last = relay.TupleGetItem(loop(relay.const(0), relay.zeros((1, 4), "float32")), 1)
    vm = compile_function([xs, w], last)
    weight = floats(4, 4, seed=3)
    for n in (0, 1, 6):
        rows, want = floats(n, 4), np.zeros((1, 4), "float32")
        for row in rows:
            want = np.tanh(want @ weight.T + row)
        np.testing.assert_allclose(vm.run(rows, weight).numpy(), want, rtol=1e-4, atol=1e-5)


def test_a_loop_may_grow_its_tensor():
    x = relay.var("x", shape=any_shape((ANY, 2)))
    i, acc = relay.var("i", shape=(), dtype="int32"), relay.var("acc", shape=any_shape((ANY, 2)))
    loop = relay.while_loop(
        lambda i, acc: relay.less(i, relay.const(3)),
        [i, acc],
        lambda i, acc: [i + relay.const(1), relay.concatenate([acc, x], 0)],
    )
    vm = compile_function([x], relay.TupleGetItem(loop(relay.const(0), x), 1))
    np.testing.assert_allclose(vm.run(floats(2, 2)).numpy(), np.concatenate([floats(2, 2)] * 4))


def test_extents_that_are_equal_whatever_they_are_are_not_broadcast():
    x = relay.var("x", shape=any_shape((ANY, ANY)))
    with tvm.transform.PassContext(opt_level=0):  # each operator is a kernel of its own
        exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x) + x)), "llvm")
    assert len(exe.primitive_ops) == 2
    assert "select #" not in exe.bytecode
    a = floats(3, 4)
    got = runtime_vm.VirtualMachine(exe, tvm.cpu()).run(a).numpy()
    np.testing.assert_allclose(got, np.maximum(a, 0) + a)


def test_branches_of_different_extents_meet():
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=any_shape((ANY, 2)))
    branch = relay.If(c, relay.concatenate([x, x], 0), x)
    vm = compile_function([c, x], relay.Tuple([branch * relay.const(2.0), x + relay.sum(branch)]))
    a = floats(3, 2)
    for flag, want in ((True, np.concatenate([a, a])), (False, a)):
        out = vm.run(np.array(flag), a)
        np.testing.assert_allclose(out[0].numpy(), want * 2)
        np.testing.assert_allclose(out[1].numpy(), a + want.sum(), rtol=1e-5)


def test_a_shape_that_values_decide_is_computed_before_the_call():
    start, stop, step = (relay.var(name, shape=(), dtype="int32") for name in ("start", "stop", "step"))
    vm = compile_function(
        [start, stop, step], relay.arange(start + relay.const(0), stop, step, "int32") * relay.const(2)
    )
    for args in ((1, 10, 3), (10, 1, -3), (10, 1, 3)):
        got = vm.run(*(np.array(arg, "int32") for arg in args)).numpy()
        np.testing.assert_array_equal(got, np.arange(*args, dtype="int32") * 2)


def test_build_takes_the_virtual_machine_where_a_graph_is_not_enough(tmp_path):
    x, w = relay.var("x", shape=any_shape((ANY, 4))), relay.var("w", shape=(3, 4))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.Tuple([relay.nn.dense(x, w), relay.sum(x)])))
    weight = floats(3, 4, seed=1)
    lib = relay.build(mod, "llvm", params={"w": weight})
    lib.export_library(str(tmp_path / "model.so"))
    for factory in (lib, tvm.runtime.load_module(str(tmp_path / "model.so"))):
        graph = graph_executor.GraphModule(factory["default"](tvm.cpu()))
        assert graph.get_num_inputs() == 1 and graph.get_input_index("x") == 0
        for n in (1, 6):
            a = floats(n, 4)
            graph.set_input("x", a)
            graph.run()
            assert graph.get_num_outputs() == 2
            np.testing.assert_allclose(graph.get_output(0).numpy(), a @ weight.T, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(graph.get_output(1).numpy(), a.sum(), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="the model has no input"):
        graph.set_input("y", floats(1, 4))
    with pytest.raises(ValueError, match="needs fixed shapes"):
        relay.build(mod, "llvm", executor=relay.backend.Executor("graph"), params={"w": weight})


@pytest.mark.skipif(not tvm.opencl(0).exist, reason="no OpenCL device")
def test_a_device_gets_kernels_and_the_host_computes_shapes():
    target = tvm.target.Target("opencl", host="llvm")

    def run(params, body, *args):
        exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function(params, body)), target)
        return runtime_vm.VirtualMachine(exe, tvm.opencl(0)).run(*args)

    x, c = relay.var("x", shape=any_shape((ANY, 8))), relay.var("c", shape=(), dtype="bool")
    out = run([c, x], relay.If(c, relay.exp(x) + x, x), np.array(True), floats(4, 8))
    assert out.device.device_type == tvm.opencl(0).device_type
    np.testing.assert_allclose(out.numpy(), np.exp(floats(4, 8)) + floats(4, 8), rtol=1e-5)
    n = relay.var("n", shape=(), dtype="int32")
    out = run([n], relay.arange(relay.const(0), n, relay.const(2), "int32"), np.array(7, "int32"))
    np.testing.assert_array_equal(out.numpy(), [0, 2, 4, 6])


def operator(name, num_inputs, compute):
    """An operator of one dimension whose type rule does not know how long the result is."""
    relay.op.register(name)
    op = relay.op.get(name)
    op.set_num_inputs(num_inputs)
    op.set_support_level(10)
    op.add_type_rel(name, lambda args, attrs: relay.TensorType((relay.Any(),), args[0].dtype))
    relay.op.register_compute(name, compute)
    relay.op.register_injective_schedule(name)


def test_a_users_shape_function_of_shapes_is_called():
    def every_other(attrs, inputs, out_type):
        return [te.compute(out_type.shape, lambda i: inputs[0][i * 2])]

    def shape(attrs, inputs, out_ndims):
        return [te.compute((1,), lambda i: (inputs[0][i] + 1) // 2)]

    operator("test.every_other", 1, every_other)
    relay.op.register_shape_func("test.every_other", False, shape)
    x = relay.var("x", shape=any_shape((ANY,)))
    vm = compile_function([x], relay.Call(relay.op.get("test.every_other"), [x + x]) * relay.const(3.0))
    for n in (1, 4, 7):
        np.testing.assert_allclose(vm.run(floats(n)).numpy(), floats(n)[::2] * 6, rtol=1e-6)


def test_a_users_shape_function_of_values_may_be_a_hybrid_script():
    def first(attrs, inputs, out_type):
        return [te.compute(out_type.shape, lambda i: inputs[0][i])]

    @te.hybrid.script
    def length(data_shape, count):
        out = output_tensor((1,), "int64")
        out[0] = min(data_shape[0], int64(count[0]))
        return out

    operator("test.first", 2, first)
    relay.op.register_shape_func("test.first", [False, True], lambda attrs, inputs, ndims: [length(*inputs)])
    x, count = relay.var("x", shape=any_shape((ANY,))), relay.var("count", shape=(1,), dtype="int32")
    vm = compile_function([x, count], relay.Call(relay.op.get("test.first"), [x, count]))
    for n, k in ((5, 3), (2, 9), (4, 0)):
        np.testing.assert_allclose(vm.run(floats(n), np.array([k], "int32")).numpy(), floats(n)[:k])


@pytest.mark.parametrize("swapped", [False, True])
def test_a_shape_that_a_run_decides_makes_a_view_and_no_copy(swapped):
    x, shape = relay.var("x", shape=any_shape((ANY, 4))), relay.var("shape", shape=(3,), dtype="int64")
    y = relay.nn.relu(relay.reshape(relay.nn.relu(x), shape))
    params = [shape, x] if swapped else [x, shape]
    exe = relay.vm.compile(tvm.IRModule.from_expr(relay.Function(params, y)), "llvm")
    assert exe.bytecode.count("# reshape_tensor") == 1
    assert "vm_mod_fused_dyn_reshape" not in exe.bytecode.replace("shape_func_vm_mod_fused_dyn_reshape", "")
    a = floats(6, 4)
    machine = runtime_vm.VirtualMachine(exe, tvm.cpu())
    for wanted in ([2, 3, 4], [8, 1, 3]):
        given = np.array(wanted, "int64")
        got = machine.run(*((given, a) if swapped else (a, given))).numpy()
        np.testing.assert_array_equal(got, np.maximum(a, 0).reshape(wanted))


def test_a_view_like_another_tensor_is_no_copy():
    x, like = relay.var("x", shape=any_shape((ANY, 4))), relay.var("like", shape=any_shape((ANY, ANY)))
    exe = relay.vm.compile(
        tvm.IRModule.from_expr(relay.Function([like, x], relay.reshape_like(x, like, 0, 1, 0, 2))), "llvm"
    )
    assert "# reshape_tensor" in exe.bytecode
    assert "# invoke_packed" not in exe.bytecode
    a = floats(6, 4)
    got = runtime_vm.VirtualMachine(exe, tvm.cpu()).run(floats(3, 2), a).numpy()
    np.testing.assert_array_equal(got, a.reshape(3, 2, 4))
