"""Patterns of dataflow: what fits, what is replaced, what is moved into functions."""

import pytest
import tessera as tvm
from tessera import relay
from tessera.relay.dataflow_pattern import (
    DFPatternCallback,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)


def call(op, *args):
    return relay.Call(tvm.ir.Op.get(op), list(args))


def var(name="x", *shape):
    return relay.var(name, shape=shape or (2,))


def test_calls_fit_by_operator_and_arguments():
    x, y = var("x"), var("y")
    assert is_op("exp")(wildcard()).match(call("exp", x))
    assert not is_op("exp")(wildcard()).match(call("tanh", x))
    assert is_op("subtract")(is_var("x"), is_var("y")).match(call("subtract", x, y))
    assert not is_op("subtract")(is_var("y"), is_var("x")).match(call("subtract", x, y))
    assert is_op("add")(is_var("y"), is_var("x")).match(call("add", x, y))
    assert is_op("add")(None).match(call("add", x, y))
    assert (is_var("x") + is_var("y")).match(call("add", x, y))


def test_a_pattern_used_twice_fits_one_expression():
    x, y = var("x"), var("y")
    same = wildcard()
    assert is_op("subtract")(same, same).match(call("subtract", x, x))
    assert not is_op("subtract")(same, same).match(call("subtract", x, y))


def test_products_and_quotients_fit_either_way_round():
    a, b, c = var("a"), var("b"), var("c")
    p = wildcard() * wildcard() / wildcard()
    assert p.match(call("divide", call("multiply", a, b), c))
    assert p.match(call("multiply", a, call("divide", b, c)))
    assert not p.match(call("divide", call("add", a, b), c))


def test_parts_of_the_language_have_patterns():
    x, c = var("x"), relay.var("c", shape=(), dtype="bool")
    t = relay.Tuple([x, relay.const(1)])
    assert is_tuple([is_var(), is_constant()]).match(t)
    assert not is_tuple([is_var()]).match(t)
    assert is_tuple(None).match(t)
    item = relay.TupleGetItem(t, 1)
    assert is_tuple_get_item(wildcard(), 1).match(item)
    assert not is_tuple_get_item(wildcard(), 0).match(item)
    assert is_tuple_get_item(wildcard()).match(item)
    assert is_if(is_var("c"), wildcard(), is_constant()).match(relay.If(c, x, relay.const(1)))
    v = relay.var("v")
    assert is_let(is_var("v"), is_constant(), is_var("v")).match(relay.Let(v, relay.const(1), v))
    assert is_expr(relay.const(1)).match(relay.const(1))
    assert (is_op("exp")(None) | is_op("tanh")(None)).match(call("tanh", x))
    assert is_op("exp")(wildcard()).optional(lambda p: is_op("tanh")(p)).match(call("tanh", call("exp", x)))


def test_types_are_asked_for():
    x = relay.var("x", shape=(2, 3))
    assert has_type(relay.TensorType((2, 3))).match(call("exp", x))
    assert not has_type(relay.TensorType((3, 2))).match(call("exp", x))
    assert has_dtype("float32").match(x)
    assert not has_dtype("int8").match(x)
    assert has_shape((2, 3)).match(x)
    assert not has_shape((2,)).match(x)


def test_attributes_of_operators_are_asked_for():
    x = var()
    assert is_op("exp").has_attr({"TOpPattern": 0})(wildcard()).match(call("exp", x))
    assert not is_op("exp").has_attr({"TOpPattern": 4})(wildcard()).match(call("exp", x))
    assert not is_op("exp").has_attr({"nonesuch": 0})(wildcard()).match(call("exp", x))


def test_attributes_of_functions_are_asked_for():
    x = var()
    f = relay.Function([x], x).with_attr("Composite", "add")
    assert wildcard().has_attr({"Composite": "add"}).match(f)
    assert not wildcard().has_attr({"Composite": "sub"}).match(f)


def test_a_dominator_sees_a_diamond():
    x = var()
    path = (is_op("exp")(wildcard())) | (is_op("add")(wildcard(), wildcard()))
    diamond = is_op("add")(wildcard(), wildcard()).dominates(is_op("tanh")(wildcard()), path)
    top = call("tanh", x)
    assert diamond.match(call("add", call("exp", top), call("exp", top)))
    assert not diamond.match(call("add", call("exp", top), call("negative", top)))
    assert not diamond.match(call("add", call("exp", top), call("exp", x)))


class DoubleNegation(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("negative")(is_op("negative")(self.x))

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]


def test_matches_are_replaced_until_none_is_left():
    x = var()
    e = x
    for _ in range(6):
        e = call("negative", e)
    assert rewrite(DoubleNegation(), e).same_as(x)
    seven = DoubleNegation().rewrite(call("exp", call("negative", e)))
    assert str(seven).endswith("exp(%0)") and seven.args[0].args[0].same_as(x)


def test_a_callback_may_run_once():
    class Grow(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            return call("exp", post)

    e = Grow().rewrite(call("exp", var()))
    assert e.args[0].op.name == "exp" and isinstance(e.args[0].args[0], relay.Var)


def test_types_are_inferred_for_a_callback_that_wants_them():
    seen = []

    class Look(DFPatternCallback):
        def __init__(self):
            super().__init__(require_type=True)
            self.pattern = is_op("exp")(wildcard())

        def callback(self, pre, post, node_map):
            seen.append(pre.checked_type)
            return post

    Look().rewrite(call("exp", var("x", 4)))
    assert seen[0] == relay.TensorType((4,))


def test_a_match_whose_inside_is_used_elsewhere_stays():
    x = var()
    inner = call("exp", x)
    e = relay.Tuple([call("tanh", inner), inner])
    pattern = is_op("tanh")(is_op("exp")(wildcard()))
    tvm.ir.assert_structural_equal(pattern.partition(e), e, map_free_vars=True)


def test_partition_moves_a_match_into_a_function():
    x, y = var("x"), var("y")
    e = call("negative", call("tanh", call("add", x, y)))
    pattern = is_op("tanh")(is_op("add")(wildcard(), wildcard()))
    out = pattern.partition(e, {"Composite": "fused"})
    inner = out.args[0]
    assert isinstance(inner.op, relay.Function)
    assert inner.op.attrs["PartitionedFromPattern"] == "add_tanh_"
    assert inner.op.attrs["Composite"] == "fused"
    assert [p.name_hint for p in inner.op.params] == ["FunctionVar_0_0", "FunctionVar_0_1"]
    assert [a.name_hint for a in inner.args] == ["x", "y"]
    # what was moved is not moved again
    tvm.ir.assert_structural_equal(pattern.partition(out), out, map_free_vars=True)


def test_partition_asks_before_it_moves():
    e = call("tanh", call("exp", var()))
    pattern = is_op("tanh")(is_op("exp")(wildcard()))
    tvm.ir.assert_structural_equal(pattern.partition(e, check=lambda m: False), e, map_free_vars=True)


def test_constants_the_pattern_asks_for_stay_inside():
    x = var()
    e = call("add", x, relay.const(1.0))
    out = is_op("add")(wildcard(), is_constant()).partition(e)
    assert len(out.args) == 1
    out = is_op("add")(wildcard(), wildcard()).partition(e)
    assert len(out.args) == 2


def test_a_callback_needs_a_pattern():
    with pytest.raises(ValueError, match="needs a pattern"):
        DFPatternCallback().rewrite(var())


def test_patterns_print_their_parts():
    relu = is_op("nn.relu")(wildcard())
    assert str(relu) == "CallPatternNode(Op(nn.relu), [*])"
    assert str(relu | is_constant()) == f"AltPattern({relu} | ConstantPattern())"
    assert str(is_tuple_get_item(is_var("x"), 1)) == "TupleGetItemPatternNode(VarPattern(x), 1)"
    assert str(wildcard().has_dtype("float32")) == "DataTypePattern(* has dtype float32)"
    assert str(wildcard().has_attr({"strides": [1]})) == 'AttrPattern(* has attributes {"strides": [1]})'


def test_nothing_is_partitioned_where_a_value_inside_leaves():
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    conv = relay.nn.conv2d(x, w)
    relu = relay.nn.relu(conv)
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard())
    pattern = is_op("add")(wildcard(), wildcard()).dominates(is_op("nn.conv2d")(wildcard(), wildcard()), path)
    leaves = relay.Tuple([relu + conv, relu])
    assert tvm.ir.structural_equal(pattern.partition(leaves), leaves)
    stays = relu + conv
    assert not tvm.ir.structural_equal(pattern.partition(stays), stays)
