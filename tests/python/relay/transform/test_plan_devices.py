"""relay.transform.PlanDevices: where values are, and where they are copied."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.relay import transform
from tessera.relay.op.annotation import on_device

CPU, GPU = tvm.cpu(0), tvm.cuda(0)
CONFIG = tvm.target.make_compilation_config(
    None, {tvm.cpu(): tvm.target.Target("llvm"), tvm.cuda(): tvm.target.Target("cuda -arch=sm_80")}
)


def plan(function):
    mod = function if isinstance(function, tvm.IRModule) else tvm.IRModule.from_expr(function)
    return transform.PlanDevices(CONFIG)(transform.InferType()(mod))


def device(expr):
    return expr.virtual_device_.device_type


def calls(mod, name="main"):
    out = []
    relay.analysis.post_order_visit(
        mod[name], lambda e: out.append(e) if isinstance(e, relay.Call) and isinstance(e.op, tvm.ir.Op) else None
    )
    return [(call.op.name, device(call)) for call in out]


def run(mod, *args):
    return relay.create_executor("debug", mod=mod).evaluate()(*args).numpy()


x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
DATA = np.array([1, 2, 3], "float32"), np.array([4, 5, 6], "float32")


def test_without_marks_everything_is_on_the_default_device():
    mod = plan(relay.Function([x, y], relay.exp(relay.add(x, y))))
    assert calls(mod) == [("add", 1), ("exp", 1)]
    assert [device(param) for param in mod["main"].params] == [1, 1]
    assert device(mod["main"]) == 1


def test_a_marked_value_that_is_used_elsewhere_is_copied():
    before = relay.Function([x, y], relay.subtract(on_device(relay.exp(x), GPU), relay.negative(y)))
    mod = plan(before)
    assert sorted(calls(mod)) == [("device_copy", 1), ("exp", 2), ("negative", 1), ("subtract", 1)]
    assert [device(param) for param in mod["main"].params] == [2, 1]
    (copy,) = (arg for arg in mod["main"].body.args if arg.op.name == "device_copy")
    assert copy.attrs.src_virtual_device.device_type == 2 and copy.attrs.dst_virtual_device.device_type == 1
    assert "cuda" in str(copy.attrs.src_virtual_device.target)
    np.testing.assert_allclose(run(mod, *DATA), np.exp(DATA[0]) + DATA[1], rtol=1e-6)


def test_a_mark_that_constrains_its_result_moves_what_uses_it():
    mod = plan(relay.Function([x, y], relay.add(on_device(relay.exp(x), GPU, constrain_result=True), y)))
    assert calls(mod) == [("exp", 2), ("add", 2)]
    assert device(mod["main"]) == 2


def test_functions_lets_and_branches_pass_devices_on():
    f, c = relay.var("f"), relay.var("c", shape=(), dtype="bool")
    a = relay.var("a", shape=(3,))
    body = relay.If(c, relay.Call(f, [x]), on_device(relay.Call(f, [relay.negative(x)]), GPU, constrain_result=True))
    mod = plan(relay.Function([c, x], relay.Let(f, relay.Function([a], relay.exp(a)), body)))
    assert set(calls(mod)) == {("exp", 2), ("negative", 2)}
    assert [device(param) for param in mod["main"].params] == [1, 2]  # a condition is on the host


def test_calls_of_globals_agree_with_their_definitions():
    mod = tvm.IRModule()
    a = relay.var("a", shape=(3,))
    helper = relay.GlobalVar("helper")
    mod[helper] = relay.Function([a], relay.exp(a), relay.TensorType((3,)))
    mod["main"] = relay.Function([x], on_device(relay.Call(helper, [x]), GPU))
    mod = plan(mod)
    assert calls(mod, "helper") == [("exp", 2)]
    assert device(mod["helper"].params[0]) == 2 and device(mod["main"].params[0]) == 2


def test_a_copy_that_the_program_makes_stays():
    mod = plan(relay.Function([x], relay.exp(relay.device_copy(relay.negative(x), GPU, CPU))))
    assert calls(mod) == [("negative", 2), ("device_copy", 1), ("exp", 1)]


def test_contradictions_are_rejected():
    both = relay.add(
        on_device(relay.exp(x), GPU, constrain_result=True), on_device(relay.exp(y), CPU, constrain_result=True)
    )
    with pytest.raises(ValueError, match=r"on cuda\(0\) and on cpu\(0\) at once|on cpu\(0\) and on cuda\(0\) at once"):
        plan(relay.Function([x, y], both))
    with pytest.raises(ValueError, match="none of the targets is for such a device"):
        plan(relay.Function([x], on_device(relay.exp(x), "opencl")))


def test_a_long_chain_is_planned():
    z = x
    for i in range(20000):
        z = relay.negative(z) if i != 10000 else on_device(relay.negative(z), GPU)
    mod = plan(relay.Function([x], z))
    assert sum(1 for _, kind in calls(mod) if kind == 2) == 10001
