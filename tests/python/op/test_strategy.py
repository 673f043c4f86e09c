"""Which implementation of an operator is compiled, and how a user's own takes effect."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay, te
from tessera.contrib import graph_executor
from tessera.relay.backend import te_compiler
from tessera.relay.op import strategy as _strategy
from tessera.relay.op.op import OpStrategy


def run(mod, *inputs, target="llvm"):
    lib = relay.build(mod, target)
    module = graph_executor.GraphModule(lib["default"](tvm.device(str(tvm.target.Target(target).kind.name))))
    for i, value in enumerate(inputs):
        module.set_input(i, value)
    module.run()
    return module.get_output(0).numpy(), lib


def unary_module(op_name, shape=(4, 8), dtype="float32"):
    x = relay.var("x", shape=shape, dtype=dtype)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Call(relay.op.get(op_name), [x])))


@pytest.fixture
def relu():
    """The operator nn.relu, with its strategy put back afterwards."""
    op = relay.op.get("nn.relu")
    before = op.get_attr("FTVMStrategy")
    yield op
    op.reset_attr("FTVMStrategy")
    op.set_attr("FTVMStrategy", before)
    op.reset_attr("FTVMSchedule")


@pytest.fixture
def dense_for_cpu():
    """Leaves no implementation of dense for a key behind."""
    yield _strategy.dense_strategy
    native = _strategy.dense_strategy.generic_func_node
    native.register(lambda *args: plain_dense(*args), ["test_key"], True)


def plain_dense(attrs, inputs, out_type, target):
    out = OpStrategy()
    out.add_implementation(relay.op.get("nn.dense").get_attr("FTVMCompute"), None, name="plain")
    return out


def tensors(*types):
    return [te.placeholder(shape, dtype) for shape, dtype in types]


def test_every_operator_with_a_compute_offers_an_implementation():
    x = relay.var("x", shape=(2, 3))
    call = relay.transform.InferTypeLocal(relay.tanh(x))
    found = te_compiler.get_valid_implementations(
        relay.op.get("tanh"), None, tensors(((2, 3), "float32")), call, "llvm"
    )
    assert [(str(one.name), one.plevel) for one in found] == [("tanh.cpu", 10)]


def test_the_highest_level_is_chosen_and_the_first_of_equals():
    def compute(attrs, inputs, out_type):
        return [te.compute(inputs[0].shape, lambda *i: inputs[0](*i))]

    out = OpStrategy()
    for name, level in [("a", 10), ("b", 15), ("c", 15), ("d", 5)]:
        out.add_implementation(compute, None, name=name, plevel=level)
    relay.op.register("test.highest_level")
    relay.op.register_strategy("test.highest_level", lambda *_: out)
    chosen, (tensor,) = te_compiler.select_implementation(
        relay.op.get("test.highest_level"), None, tensors(((3,), "float32")), relay.TensorType((3,)), "llvm"
    )
    assert str(chosen.name) == "b"
    assert [int(extent) for extent in tensor.shape] == [3]


def test_an_implementation_whose_condition_is_not_proven_is_left_out():
    n = te.var("n")
    out = OpStrategy()
    out.add_implementation(lambda *_: None, None, name="always")
    with te.SpecializedCondition(n > 16):
        out.add_implementation(lambda *_: None, None, name="large", plevel=20)
    with te.SpecializedCondition(n + 1 > n):
        out.add_implementation(lambda *_: None, None, name="true", plevel=15)
    assert [len(one.implementations) for one in out.specializations] == [1, 1, 1]
    relay.op.register("test.condition")
    relay.op.register_strategy("test.condition", lambda *_: out)
    found = te_compiler.get_valid_implementations(
        relay.op.get("test.condition"), None, [], relay.TensorType((3,)), "llvm"
    )
    assert [str(one.name) for one in found] == ["always", "true"]


def test_a_strategy_of_a_higher_level_replaces_the_first(relu):
    seen = []

    def mine(attrs, inputs, out_type, target):
        def compute(attrs, inputs, out_type):
            return [te.compute(inputs[0].shape, lambda *i: te.max(inputs[0](*i), 0.5), name="mine")]

        def schedule(attrs, outs, target):
            seen.append([str(out.op.name) for out in outs])
            s = te.create_schedule([out.op for out in outs])
            s[outs[0]].unroll(outs[0].op.axis[1])
            return s

        out = OpStrategy()
        out.add_implementation(compute, schedule, name="mine")
        return out

    relay.op.register_strategy("nn.relu", mine, level=11)
    x = np.random.rand(4, 8).astype("float32")
    answer, lib = run(unary_module("nn.relu"), x)
    np.testing.assert_allclose(answer, np.maximum(x, 0.5))
    assert seen == [["mine"]]


def test_a_second_strategy_of_the_same_level_is_rejected(relu):
    with pytest.raises(Exception, match="nn.relu"):
        relay.op.register_strategy("nn.relu", lambda *_: OpStrategy())


def test_a_schedule_in_the_slot_is_used_with_the_own_compute(relu):
    seen = []

    def schedule(attrs, outs, target):
        seen.append(str(target.kind.name))
        return te.create_schedule([out.op for out in outs])

    tvm.ir.register_op_attr("nn.relu", "FTVMSchedule", schedule)
    x = np.random.randn(4, 8).astype("float32")
    np.testing.assert_allclose(run(unary_module("nn.relu"), x)[0], np.maximum(x, 0))
    assert seen == ["llvm"]


def test_the_most_complex_operator_of_a_fused_function_schedules_it(relu):
    """The schedule of dense sees relu, whose own is not asked."""
    asked = []

    def of_relu(attrs, outs, target):
        asked.append("relu")
        return te.create_schedule([out.op for out in outs])

    def of_dense(attrs, outs, target):
        asked.append([str(outs[0].op.name), int(attrs.units)])
        s = te.create_schedule([outs[0].op])
        s[outs[0].op.input_tensors[0]].compute_at(s[outs[0]], outs[0].op.axis[0])
        return s

    tvm.ir.register_op_attr("nn.relu", "FTVMSchedule", of_relu)
    tvm.ir.register_op_attr("nn.dense", "FTVMSchedule", of_dense)
    try:
        x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
        mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w, units=6))))
        a, b = np.random.randn(4, 8).astype("float32"), np.random.randn(6, 8).astype("float32")
        answer, _ = run(mod, a, b)
        np.testing.assert_allclose(answer, np.maximum(a @ b.T, 0), rtol=1e-5, atol=1e-5)
        assert asked == [["compute", 6]]
    finally:
        relay.op.get("nn.dense").reset_attr("FTVMSchedule")


def test_a_strategy_for_a_key_of_targets_is_used_for_those_alone(dense_for_cpu):
    called = []

    @dense_for_cpu.register("test_key")
    def of_key(attrs, inputs, out_type, target):
        called.append(str(target))
        return plain_dense(attrs, inputs, out_type, target)

    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))
    a, b = np.random.randn(4, 8).astype("float32"), np.random.randn(6, 8).astype("float32")
    run(mod, a, b)
    assert not called
    answer, _ = run(mod, a, b, target="llvm -keys=test_key,cpu")
    np.testing.assert_allclose(answer, a @ b.T, rtol=1e-5, atol=1e-5)
    assert len(called) == 1


def test_equal_functions_are_chosen_for_and_lowered_once(relu):
    calls = []

    def mine(attrs, inputs, out_type, target):
        calls.append(1)
        out = OpStrategy()
        out.add_implementation(relu.get_attr("FTVMCompute"), None)
        return out

    relay.op.register_strategy("nn.relu", mine, level=11)
    x = relay.var("x", shape=(4, 8))
    stop = relay.annotation.stop_fusion
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(stop(relay.nn.relu(stop(relay.nn.relu(x)))))))
    with tvm.transform.PassContext(opt_level=0):
        run(mod, np.random.randn(4, 8).astype("float32"))
    assert len(calls) == 1


def test_an_operator_of_python_is_compiled():
    relay.op.register("test.plus_two", "Adds two.")
    op = relay.op.get("test.plus_two")
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "what is added to")
    op.add_type_rel("PlusTwo", lambda args, attrs: relay.TensorType(args[0].shape, args[0].dtype))
    relay.op.register_pattern("test.plus_two", relay.op.OpPattern.ELEMWISE)
    relay.op.register_stateful("test.plus_two", False)

    @relay.op.register_compute("test.plus_two")
    def compute(attrs, inputs, out_type):
        return [te.compute(inputs[0].shape, lambda *i: inputs[0](*i) + 2.0)]

    relay.op.register_injective_schedule("test.plus_two")
    x = np.random.rand(4, 8).astype("float32")
    np.testing.assert_allclose(run(unary_module("test.plus_two"), x)[0], x + 2)


def test_errors_in_a_users_functions_name_the_operator(relu):
    def strategy(attrs, inputs, out_type, target):
        def schedule(attrs, outs, target):
            raise ValueError("no loop fits")

        out = OpStrategy()
        out.add_implementation(relu.get_attr("FTVMCompute"), schedule, name="wrong")
        return out

    relay.op.register_strategy("nn.relu", strategy, level=11)
    with pytest.raises(ValueError, match="nn.relu: the schedule of wrong failed: no loop fits") as caught:
        run(unary_module("nn.relu"))
    assert str(caught.value.__cause__) == "no loop fits"

    def broken(attrs, inputs, out_type, target):
        raise KeyError("units")

    relay.op.register_strategy("nn.relu", broken, level=12)
    with pytest.raises(KeyError, match="nn.relu: its strategy failed"):
        run(unary_module("nn.relu"))
    relay.op.register_strategy("nn.relu", lambda *_: OpStrategy(), level=13)
    with pytest.raises(tvm.TVMError, match="nn.relu: its strategy offers no implementation"):
        run(unary_module("nn.relu"))


def test_lower_call_gives_tensors_and_the_implementation():
    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.nn.dense(x, w)))
    call = mod["main"].body
    out = te_compiler.lower_call(call, tensors(((4, 8), "float32"), ((6, 8), "float32")), "llvm")
    assert str(out.implementation.name) == "dense.cpu"
    assert [int(extent) for extent in out.outputs[0].shape] == [4, 6]
    s = out.implementation.schedule(call.attrs, out.outputs, tvm.target.Target("llvm"))
    assert isinstance(s, te.Schedule)


def test_wrapped_functions_of_topi_take_the_attributes_of_calls(dense_for_cpu):
    def dense(data, weight, bias, out_dtype):
        assert bias is None and out_dtype == "float32"
        k = te.reduce_axis((0, data.shape[1]))
        return te.compute((data.shape[0], weight.shape[0]), lambda i, j: te.sum(data[i, k] * weight[j, k], axis=k))

    @dense_for_cpu.register("test_key")
    def of_key(attrs, inputs, out_type, target):
        out = OpStrategy()
        out.add_implementation(
            _strategy.wrap_compute_dense(dense),
            _strategy.wrap_topi_schedule(tvm.topi.generic.schedule_dense),
            name="dense.test",
        )
        return out

    x, w = relay.var("x", shape=(4, 8)), relay.var("w", shape=(6, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    a, b = np.random.randn(4, 8).astype("float32"), np.random.randn(6, 8).astype("float32")
    answer, _ = run(mod, a, b, target="llvm -keys=test_key,cpu")
    np.testing.assert_allclose(answer, np.maximum(a @ b.T, 0), rtol=1e-5, atol=1e-5)
