"""Which schedule rule makes a kernel: the table, and the name of the choice on the kernel."""

import numpy as np
import pytest
import tessera as tvm
from kernel_checks import rules
from tessera import relay, te
from tessera.contrib.graph_executor import GraphModule
from tessera.relay.op.op import OpStrategy

TABLE = [tuple(str(word) for word in row) for row in tvm.get_global_func("kernel.schedule_rules")()]
failures = tvm.get_global_func("kernel.rule_failures")


def var(name, *shape):
    return relay.var(name, shape=shape)


def conv(channels=16, size=14, groups=1, **attrs):
    data, kernel = (
        var("data", 1, channels, size, size),
        relay.const(np.ones((channels, channels // groups, 3, 3), "float32")),
    )
    attrs.setdefault("padding", (1, 1))
    return relay.nn.conv2d(data, kernel, channels=channels, kernel_size=(3, 3), groups=groups, **attrs)


CASES = {
    "matmul": lambda: relay.nn.batch_matmul(var("a", 2, 24, 32), var("b", 2, 40, 32)),
    "pool": lambda: relay.nn.max_pool2d(var("x", 1, 16, 28, 28), (3, 3), (2, 2), padding=(1, 1, 1, 1)),
    "contraction": lambda: conv(groups=16, channels=16),
    "winograd": lambda: conv(channels=64, size=28),
    "reduction": lambda: relay.sum(var("x", 8, 64, 32), axis=1),
    "pad": lambda: conv(strides=(2, 2)),
    "concatenate": lambda: relay.concatenate([var("a", 4, 64, 64), var("b", 4, 32, 64)], axis=1),
    "transposition": lambda: relay.exp(relay.transpose(var("x", 64, 96))),
    "elements": lambda: relay.exp(var("x", 64, 64)),
    "rows": lambda: (lambda x: x - relay.mean(x, axis=-1, keepdims=True))(var("x", 16, 64)),
    "te_schedule(softmax_rows.cpu)": lambda: relay.nn.softmax(var("x", 16, 64)),
}


def function_of(body):
    return relay.Function(relay.analysis.free_vars(body), body)


@pytest.mark.parametrize("rule", CASES)
def test_a_kernel_names_the_rule_that_made_it(rule):
    before = failures()
    found = {
        name for rule in rules(function_of(CASES[rule]()), "llvm -mcpu=skylake-avx512") for name in rule.split(", ")
    }
    assert rule in found
    assert failures() == before, "a rule that fits does not fail here"


def test_every_named_rule_is_a_row():
    names = {name for name, _, _ in TABLE}
    for rule in CASES:
        assert rule.split("(")[0] in names
    assert {scope for _, _, scope in TABLE} == {"kernel", "program", "reduction", "stage"}
    assert len(names) == len(TABLE), "a name means one rule"


def test_the_program_of_a_kernel_has_the_name_too():
    x = var("x", 64, 64)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.exp(x))), "llvm")
    (info,) = [info for name, info in lib.function_metadata.items() if name != "__tvm_main__"]
    (program,) = info.tir_primfuncs.values()
    assert program.attrs["tessera.schedule_rule"] == "elements"


@pytest.mark.parametrize(
    "shape, axis", [((4, 4096), 1), ((4, 100), 1), ((5, 3, 333), (1, 2)), ((3, 5, 77), (0, 2)), ((7, 11, 13), None)]
)
def test_devices_have_rules_of_their_own(shape, axis):
    names = {name for name, target, _ in TABLE if target == "gpu"}
    x = var("x", *shape)
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(tvm.IRModule.from_expr(relay.Function([x], relay.sum(x, axis))), "opencl")
    found = [
        str(p.attrs["tessera.schedule_rule"]) for i in lib.function_metadata.values() for p in i.tir_primfuncs.values()
    ]
    assert found == ["rows_by_threads"] and set(found) <= names
    if not tvm.opencl(0).exist:
        return
    data = np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")
    module = GraphModule(lib["default"](tvm.opencl(0)))
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), data.sum(axis), rtol=1e-4, atol=1e-4)


def test_a_schedule_of_a_user_is_a_rule_by_its_name():
    op = relay.op.get("nn.relu")
    before = op.get_attr("FTVMStrategy")

    def strategy(attrs, inputs, out_type, target):
        out = OpStrategy()
        out.add_implementation(
            lambda attrs, inputs, out_type: [te.compute(inputs[0].shape, lambda *i: te.max(inputs[0](*i), 0.0))],
            lambda attrs, outs, target: te.create_schedule(outs[0].op),
            name="mine",
        )
        return out

    try:
        op.reset_attr("FTVMStrategy")
        op.set_attr("FTVMStrategy", strategy)
        assert rules(function_of(relay.nn.relu(var("x", 8, 8)))) == ["te_schedule(mine)"]
    finally:
        op.reset_attr("FTVMStrategy")
        op.set_attr("FTVMStrategy", before)
