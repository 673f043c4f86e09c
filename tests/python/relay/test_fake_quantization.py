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
