"""Helpers of `relay.testing`, and names that Relay's packages pass on."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay import testing
from tessera.relay.testing.temp_op_attr import TempOpAttr


def test_an_attribute_of_an_operator_is_replaced_for_a_while():
    x = relay.var("x", shape=(2, 3))
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))

    def legalize(attrs, inputs, types):
        return relay.maximum(inputs[0], relay.const(0.0))

    op = tessera.ir.Op.get("nn.relu")
    before = op.get_attr("FTVMLegalize")
    with TempOpAttr("nn.relu", "FTVMLegalize", legalize):
        assert testing.count_ops(relay.transform.Legalize()(mod)["main"]) == {"maximum": 1}
    assert testing.count_ops(relay.transform.Legalize()(mod)["main"]) == {"nn.relu": 1}
    assert op.get_attr("FTVMLegalize") == before
    with pytest.raises(RuntimeError, match="gone wrong"), TempOpAttr("nn.relu", "FTVMLegalize", legalize):
        raise RuntimeError("gone wrong")
    assert op.get_attr("FTVMLegalize") == before


def test_an_attribute_that_was_there_comes_back():
    op = tessera.ir.Op.get("nn.dense")
    level = op.get_attr("TOpPattern")
    with TempOpAttr("nn.dense", "TOpPattern", 8):
        assert op.get_attr("TOpPattern") == 8
    assert op.get_attr("TOpPattern") == level != 8


def test_operators_are_counted():
    x = relay.var("x", shape=(2,))
    assert testing.count_ops(relay.exp(x) + relay.exp(relay.tanh(x))) == {"add": 1, "exp": 2, "tanh": 1}


def test_numbers_for_tests():
    assert testing.rand("float32", 2, 3).shape == (2, 3) and testing.rand("float64", 4).dtype == "float64"
    numbers = testing._np_randn_from_type(relay.TensorType((200,), "float32"), scale=0.1, mean=5)
    assert numbers.shape == (200,) and abs(numbers.mean() - 5) < 0.1
    array = np.zeros((2, 3), "float32")
    testing.init.Constant(7)("some_weight", array)
    assert (array == 7).all()


def test_padding_is_told_for_both_sides():
    assert relay.nn.get_pad_tuple1d(1) == (1, 1)
    assert relay.nn.get_pad_tuple2d((1, 2)) == (1, 2, 1, 2) and relay.nn.get_pad_tuple2d([1, 2, 3, 4]) == (1, 2, 3, 4)
    assert relay.nn.get_pad_tuple3d(2) == (2,) * 6
    with pytest.raises(ValueError, match="padding takes 1, 2 or 4 values, got 3"):
        relay.nn.get_pad_tuple2d((1, 2, 3))


def test_the_old_name_of_the_pass_context_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"use tvm\.transform\.PassContext"):
        context = relay.build_config(opt_level=3, disabled_pass=["FoldConstant"])
    assert context.opt_level == 3 and list(context.disabled_pass) == ["FoldConstant"]
    with pytest.raises(ValueError, match="no trace"):
        relay.build_config(trace=print)


def test_names_that_packages_pass_on():
    assert relay.op.const is relay.const and relay.op.nn.Constant is relay.Constant
    assert testing.Prelude is relay.Prelude and testing.gradient is relay.transform.gradient
    assert testing.utils is tessera.testing.utils and testing.enabled_targets is tessera.testing.enabled_targets
    assert tessera.te.schedule.Buffer is tessera.tir.Buffer and tessera.tir.op.Op is tessera.ir.Op
