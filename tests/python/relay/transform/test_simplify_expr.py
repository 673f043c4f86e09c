"""SimplifyExpr: algebra on graphs."""

import pytest
import tessera
from pass_checks import check, module
from tessera import relay
from tessera.relay.transform import SimplifyExpr


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def scalar(value):
    return relay.const(float(value))


X = var("x", 2, 3, 4)
Y = var("y", 2, 3, 4)
V = var("v", 3)

RULES = {
    "reshapes are merged": (
        lambda: relay.reshape(relay.reshape(X, (6, 4)), (24,)),
        lambda: relay.reshape(X, (24,)),
    ),
    "a reshape alone stays": (lambda: relay.reshape(X, (2, 3, 4)), None),
    "a transpose and its inverse vanish": (
        lambda: relay.transpose(relay.transpose(X, (0, 2, 1)), (0, 2, 1)) + Y,
        lambda: X + Y,
    ),
    "transposes are merged": (
        lambda: relay.transpose(relay.transpose(X, (1, 2, 0)), (1, 2, 0)),
        lambda: relay.transpose(X, (2, 0, 1)),
    ),
    "a transpose that moves nothing vanishes": (lambda: relay.transpose(X, (0, 1, 2)) + Y, lambda: X + Y),
    "a cast to the same type vanishes": (lambda: relay.cast(X, "float32") + Y, lambda: X + Y),
    "a wider cast in between vanishes": (
        lambda: relay.cast(relay.cast(X, "float64"), "float32") + Y,
        lambda: X + Y,
    ),
    "a narrower cast in between stays": (
        lambda: relay.cast(relay.cast(X, "int32"), "float32"),
        None,
    ),
    "zero and one are neutral": (
        lambda: (((X + scalar(0)) * scalar(1)) - scalar(0)) / scalar(1) + Y,
        lambda: X + Y,
    ),
    "zero minus x and one over x stay": (lambda: (scalar(0) - X) + scalar(1) / Y, None),
    "filled tensors are their value": (
        lambda: relay.multiply(X, relay.full(scalar(3), (2, 3, 4), "float32")),
        lambda: X * scalar(3),
    ),
    "ones and zeros are neutral too": (
        lambda: relay.multiply(X, relay.ones((2, 3, 4), "float32")) + relay.zeros_like(X),
        lambda: X,
    ),
    "a fill that broadcasts the other stays": (
        lambda: relay.add(var("s", 1), relay.ones((3,), "float32")),
        None,
    ),
    "constants are added first": (
        lambda: (X + scalar(1)) + scalar(2),
        lambda: X + (scalar(1) + scalar(2)),
    ),
    "one over a root": (lambda: scalar(1) / relay.sqrt(V), lambda: relay.rsqrt(V)),
    "something over a root": (lambda: V / relay.sqrt(V), lambda: V * relay.rsqrt(V)),
    "layouts there and back": (
        lambda: relay.layout_transform(
            relay.layout_transform(var("i", 1, 8, 4, 4), "NCHW", "NCHW4c"), "NCHW4c", "NCHW"
        ),
        lambda: var("i", 1, 8, 4, 4),
    ),
    "layouts on their way": (
        lambda: relay.layout_transform(relay.layout_transform(var("i", 1, 8, 4, 4), "NCHW", "NHWC"), "NHWC", "NCHW4c"),
        lambda: relay.layout_transform(var("i", 1, 8, 4, 4), "NCHW", "NCHW4c"),
    ),
}


@pytest.mark.parametrize("name", sorted(RULES))
def test_rule(name):
    before, after = RULES[name]
    changed = before()
    free = relay.analysis.free_vars(changed)
    wanted = changed if after is None else after()
    if after is None:
        check(SimplifyExpr(), changed)
        return
    # both as functions of the same parameters, so that variables which vanish do not matter
    after_free = {v.name_hint: v for v in relay.analysis.free_vars(wanted)}
    params = [after_free.get(v.name_hint, v) for v in free]
    wanted = relay.Function(params, wanted)
    check(SimplifyExpr(), relay.Function(free, changed), wanted)


def test_a_long_chain_is_simplified_in_one_walk():
    x = var("x", 3)
    y = x
    for _ in range(5000):
        y = relay.cast(relay.cast(y, "float64"), "float32")
    mod = SimplifyExpr()(module(relay.Function([x], y)))
    assert mod["main"].body.same_as(mod["main"].params[0])


def test_rules_apply_inside_functions_and_lets():
    x, t = var("x", 3), relay.var("t")
    before = relay.Let(t, x + scalar(0), t * scalar(1))
    after = relay.Let(t, x, t)
    mod = SimplifyExpr()(module(before))
    tessera.ir.assert_structural_equal(mod["main"], module(after)["main"])


def test_operators_with_attributes_keep_the_shape_of_a_filled_argument():
    x = var("x", 1, 4, 3)
    biased = relay.nn.bias_add(x, relay.full(relay.const(2.0), (4,), "float32"))
    check(SimplifyExpr(), relay.Function([x], biased), relay.Function([x], biased))


def test_a_filled_tensor_of_dynamic_extents_may_broadcast_and_stays():
    x, y = (relay.var(name, shape=(relay.Any(), relay.Any())) for name in "xy")
    before = module(relay.maximum(x, relay.zeros_like(y)))
    tessera.ir.assert_structural_equal(SimplifyExpr()(before)["main"], before["main"])
