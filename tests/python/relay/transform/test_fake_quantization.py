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
    """A rule for atan, which has none of ours; what it was asked is kept."""
    asked = []

    def rule(expr, type_map):
        kind = type_map[expr.args[0]]
        asked.append((kind, type_map[expr]))
        out = relay.qnn.op.leaky_relu(expr.args[0], 0.1, kind.scale, kind.zero_point, kind.scale, kind.zero_point)
        return [out, tessera.ir.TensorAffineType(kind.scale, kind.zero_point, kind.dtype, kind.axis)]

    relay.op.register_fake_quantization_to_integer("atan", rule)
    yield asked
    tessera.ir.Op.get("atan").reset_attr("FTVMFakeQuantizationToInteger")


def test_rules_that_users_register_are_asked(rule_of_users):
    x = var("x", (4,))
    body = relay.reshape(relay.atan(real(x, 0.5, 3)), (2, 2))
    affine = [relay.const(np.float32(0.5)), relay.const(3)]
    wanted = relay.reshape(relay.qnn.op.leaky_relu(x, 0.1, *affine, *affine), (2, 2))
    mod = relay.transform.InferType()(tessera.IRModule.from_expr(wanted))
    tessera.ir.assert_structural_equal(changed(whole(body, 0.5, 3))["main"].body, mod["main"].body, map_free_vars=True)
    ((kind, result),) = rule_of_users
    assert (kind.dtype, kind.axis, result.dtype, float(result.scale.data.numpy())) == ("int8", -1, "int8", 0.5)
    changed(whole(relay.atan(real(x, 0.5, 3)), 0.25, 1, "uint8"))
    assert rule_of_users[1][1].dtype == "uint8" and float(rule_of_users[1][1].scale.data.numpy()) == 0.25


def test_a_rule_that_gives_something_else_is_said_so():
    relay.op.register_fake_quantization_to_integer("tan", lambda expr, type_map: [expr])
    try:
        with pytest.raises(TypeError, match="for tan must give an expression and its TensorAffineType"):
            changed(whole(relay.tan(real(var("x", (4,)), 0.5, 0)), 1.0, 0), hard_fail=True)
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


def test_a_rule_that_fails_leaves_the_floats():
    def rule(expr, type_map):
        raise RuntimeError("no")

    relay.op.register_fake_quantization_to_integer("tan", rule)
    out = whole(relay.tan(real(var("x", (4,)), 0.5, 0)), 1.0, 0)
    try:
        assert operators(changed(out)) == ["qnn.dequantize", "tan", "qnn.quantize"]
        with pytest.raises(RuntimeError, match="no"):
            changed(out, hard_fail=True)
    finally:
        tessera.ir.Op.get("tan").reset_attr("FTVMFakeQuantizationToInteger")


def channels(x, axis=1):
    """Integers with a scale and a zero point for each of three channels."""
    return relay.qnn.op.dequantize(x, relay.const(np.array([0.25, 0.5, 1.0], "float32")), relay.const([1, 2, 0]), axis)


IMAGE = (1, 3, 6, 6)
C = relay.const
CASES = {
    "abs": lambda x: relay.abs(x),
    "add a constant": lambda x: relay.add(x, C(1.5)),
    "add constants": lambda x: relay.add(x, C(np.array([-1, 2, 3], "float32").reshape(3, 1, 1))),
    "subtract from a constant": lambda x: relay.subtract(C(4.0), x),
    "multiply by a constant": lambda x: relay.multiply(x, C(0.01)),
    "maximum": lambda x: relay.maximum(x, C(2.0)),
    "minimum": lambda x: relay.minimum(x, C(2.0)),
    "clip": lambda x: relay.clip(x, 0.0, 6.0),
    "erf": lambda x: relay.erf(x),
    "exp": lambda x: relay.exp(relay.clip(x, -9.0, 3.0)),
    "log": lambda x: relay.log(relay.maximum(x, C(1.0))),
    "leaky_relu": lambda x: relay.nn.leaky_relu(x, 0.1),
    "rsqrt": lambda x: relay.rsqrt(relay.maximum(x, C(1.0))),
    "sigmoid": lambda x: relay.sigmoid(x),
    "sqrt": lambda x: relay.sqrt(relay.maximum(x, C(1.0))),
    "tanh": lambda x: relay.tanh(x),
    "mean": lambda x: relay.mean(x, axis=[2, 3]),
    "avg_pool2d": lambda x: relay.nn.avg_pool2d(x, (3, 3), (2, 2), padding=(1, 1), count_include_pad=True),
    "adaptive_avg_pool2d": lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 3)),
    "global_avg_pool2d": lambda x: relay.nn.global_avg_pool2d(x),
    "max": lambda x: relay.max(x, axis=1),
    "pad": lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), 1.0),
    "resize2d": lambda x: relay.image.resize2d(x, (12, 12), None, method="nearest_neighbor"),
    "split": lambda x: relay.add(relay.split(x, 3, 1)[0], relay.split(x, 3, 1)[2]),
    "strided_slice": lambda x: relay.strided_slice(x, [0, 1, 0, 2], [1, 3, 6, 6]),
    "topk": lambda x: relay.topk(x, 2, ret_type="values"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("zero", [0, 3])
def test_each_operator_becomes_one_of_integers(name, zero):
    x = var("x", IMAGE)
    out = whole(CASES[name](real(x, 0.125, zero)), 0.0625, -4)
    mod = changed(out, hard_fail=True)
    assert not {"qnn.dequantize", "qnn.quantize"} & set(operators(mod)) - {"qnn.quantize"}
    assert operators(mod).count("qnn.quantize") <= 2  # of constants only
    data = np.random.default_rng(3).integers(-128, 128, IMAGE).astype("int8")
    answers = [
        relay.create_executor("graph", one, tessera.cpu(), "llvm").evaluate()(data).numpy().astype("int32")
        for one in (tessera.IRModule.from_expr(out), mod)
    ]
    assert np.abs(answers[0] - answers[1]).max() <= 2 and answers[0].std() > 0


@pytest.mark.parametrize("name", ["relu", "clip", "bias_add"])
def test_scales_of_channels_stay_with_their_channels(name):
    bias = relay.const(np.array([1, -2, 3], "float32"))
    functions = {
        "relu": relay.nn.relu,
        "clip": lambda x: relay.clip(x, -1.0, 2.0),
        "bias_add": lambda x: relay.nn.bias_add(x, bias),
    }
    x = var("x", IMAGE)
    out = whole(functions[name](channels(x)), 0.5, 1)
    mod = changed(out, hard_fail=True)
    assert "qnn.dequantize" not in operators(mod)
    data = np.random.default_rng(4).integers(-100, 100, IMAGE).astype("int8")
    answers = [
        relay.create_executor("graph", one, tessera.cpu(), "llvm").evaluate()(data).numpy().astype("int32")
        for one in (tessera.IRModule.from_expr(out), mod)
    ]
    assert np.abs(answers[0] - answers[1]).max() <= 1 and answers[0].std() > 1


def test_a_transposed_convolution_is_one_of_integers():
    rng = np.random.default_rng(0)
    weight = relay.const(rng.integers(-127, 128, (3, 4, 3, 3)).astype("int8"))
    layer = relay.nn.conv2d_transpose(
        real(var("x", IMAGE), 0.5, 2), real(weight, 0.25, 0), channels=4, kernel_size=(3, 3)
    )
    assert operators(changed(whole(layer, 30.0, 1))) == ["qnn.conv2d_transpose", "qnn.requantize"]


def test_integers_of_batched_matrices_have_the_axis_of_their_first_operand():
    a, b = var("a", (2, 3, 4)), var("b", (2, 5, 4))
    out = relay.nn.batch_matmul(real(a, 0.5, 1), real(b, 0.25, 2))
    mod = changed(relay.exp(out), use_qat=True)
    found = []
    relay.analysis.post_order_visit(mod["main"], found.append)
    (last,) = [e for e in found if isinstance(e, relay.Call) and e.op.name == "qnn.dequantize"]
    assert last.attrs.axis == -1
