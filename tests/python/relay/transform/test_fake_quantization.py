"""FakeQuantizationToInteger: what lies between dequantize and quantize is written in operators of integers."""

import numpy as np
import pytest
import tessera
from tessera import relay


def real(x, scale, zero):
    return relay.qnn.op.dequantize(x, relay.const(np.float32(scale)), relay.const(zero))


def whole(x, scale, zero, dtype="int8"):
    return relay.qnn.op.quantize(x, relay.const(np.float32(scale)), relay.const(zero), out_dtype=dtype)


def var(name, shape, dtype="int8"):
    return relay.var(name, shape=shape, dtype=dtype)


def changed(expr, **options):
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(expr))
    return relay.transform.FakeQuantizationToInteger(**options)(mod)


def operators(mod):
    found = []
    relay.analysis.post_order_visit(
        mod["main"], lambda node: found.append(node.op.name) if isinstance(node, relay.Call) else None
    )
    return found


def network():
    """Two layers, a maximum of windows and a linear layer."""
    rng = np.random.default_rng(0)
    weight = relay.const(rng.integers(-127, 128, (8, 4, 3, 3)).astype("int8"))
    last = relay.const(rng.integers(-127, 128, (5, 32)).astype("int8"))
    x = var("x", (1, 4, 6, 6))
    first = whole(
        relay.nn.relu(relay.nn.conv2d(real(x, 0.5, 2), real(weight, 0.25, 0), channels=8, kernel_size=(3, 3))), 60.0, 0
    )
    pooled = relay.nn.batch_flatten(relay.nn.max_pool2d(real(first, 60.0, 0), (2, 2), strides=(2, 2)))
    return whole(relay.nn.dense(pooled, real(last, 0.25, 0)), 4000.0, 3)


def test_all_of_a_network_is_integers():
    names = operators(changed(network()))
    assert names.count("qnn.requantize") == 2 and "qnn.conv2d" in names and "qnn.dense" in names
    assert "qnn.quantize" not in names and "qnn.dequantize" not in names


def test_answers_stay_within_a_step():
    x = np.random.default_rng(1).integers(-128, 128, (1, 4, 6, 6)).astype("int8")
    answers = []
    for mod in (tessera.IRModule.from_expr(network()), changed(network())):
        answers.append(relay.create_executor("graph", mod, tessera.cpu(), "llvm").evaluate()(x).numpy().astype("int32"))
    assert np.abs(answers[0] - answers[1]).max() <= 1 and answers[0].std() > 10


@pytest.mark.parametrize(
    "op, name", [(relay.add, "qnn.add"), (relay.subtract, "qnn.subtract"), (relay.multiply, "qnn.mul")]
)
def test_two_operands(op, name):
    out = whole(op(real(var("a", (3, 4)), 0.5, 0), real(var("b", (4,)), 0.25, 1)), 0.5, 1)
    assert operators(changed(out)) == [name]


def test_parts_side_by_side():
    parts = [real(var("a", (1, 4)), 0.5, 0), real(var("b", (1, 4)), 0.25, 0)]
    assert operators(changed(whole(relay.concatenate(parts, 1), 0.5, 0))) == ["qnn.concatenate"]


def test_what_has_no_rule_stays():
    out = whole(relay.sin(real(var("a", (3,)), 0.5, 0)), 0.1, 0)
    assert operators(changed(out)) == ["qnn.dequantize", "sin", "qnn.quantize"]
    with pytest.raises(Exception, match="no rule for sin"):
        changed(out, hard_fail=True)


@pytest.fixture
def rule_of_users():
    """A rule for nn.leaky_relu, which has none of ours; what it was asked is kept."""
    asked = []

    def rule(expr, type_map):
        kind = type_map[expr.args[0]]
        asked.append((kind, type_map.get(expr)))
        out = relay.qnn.op.leaky_relu(
            expr.args[0], expr.attrs.alpha, kind.scale, kind.zero_point, kind.scale, kind.zero_point
        )
        return [out, tessera.ir.TensorAffineType(kind.scale, kind.zero_point, kind.dtype, kind.axis)]

    relay.op.register_fake_quantization_to_integer("nn.leaky_relu", rule)
    yield asked
    tessera.ir.Op.get("nn.leaky_relu").reset_attr("FTVMFakeQuantizationToInteger")


def test_rules_that_users_register_are_asked(rule_of_users):
    x = var("x", (4,))
    body = relay.reshape(relay.nn.leaky_relu(real(x, 0.5, 3), 0.1), (2, 2))
    affine = [relay.const(np.float32(0.5)), relay.const(3)]
    wanted = relay.reshape(relay.qnn.op.leaky_relu(x, 0.1, *affine, *affine), (2, 2))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(wanted))
    tessera.ir.assert_structural_equal(changed(whole(body, 0.5, 3))["main"].body, mod["main"].body, map_free_vars=True)
    ((kind, last),) = rule_of_users
    assert (kind.dtype, kind.axis, last) == ("int8", -1, None)
    changed(whole(relay.nn.leaky_relu(real(x, 0.5, 3), 0.1), 0.25, 1, "uint8"))
    assert rule_of_users[1][1].dtype == "uint8" and float(rule_of_users[1][1].scale.data.numpy()) == 0.25


def test_a_rule_that_gives_something_else_is_said_so():
    relay.op.register_fake_quantization_to_integer("tan", lambda expr, type_map: [expr])
    try:
        with pytest.raises(TypeError, match="for tan must give an expression and its TensorAffineType"):
            changed(whole(relay.tan(real(var("x", (4,)), 0.5, 0)), 1.0, 0))
    finally:
        tessera.ir.Op.get("tan").reset_attr("FTVMFakeQuantizationToInteger")


def test_what_no_quantize_follows_is_converted_when_asked_for():
    rng = np.random.default_rng(0)
    weight = relay.const(rng.integers(-127, 128, (5, 16)).astype("int8"))
    x = var("x", (2, 4, 4))
    layer = relay.nn.relu(relay.nn.dense(relay.nn.batch_flatten(real(x, 0.5, 2)), real(weight, 0.25, 0)))
    program = relay.exp(layer * relay.const(1e-4))
    assert "qnn.dense" not in operators(changed(program))
    after = changed(program, use_qat=True)
    names = operators(after)
    assert names.index("qnn.dense") < names.index("maximum") < names.index("qnn.dequantize") < names.index("multiply")
    assert names.count("qnn.dequantize") == 1
    data = rng.integers(-128, 128, (2, 4, 4)).astype("int8")
    answers = [
        relay.create_executor("graph", mod, tessera.cpu(), "llvm").evaluate()(data).numpy()
        for mod in (tessera.IRModule.from_expr(program), after)
    ]
    np.testing.assert_allclose(*answers, rtol=1e-5)
