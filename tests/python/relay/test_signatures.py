"""Functions show the parameters that v0.10 names."""

import inspect

import pytest
from tessera import relay, tir, topi


@pytest.mark.parametrize(
    "function, names",
    [
        (relay.add, "lhs rhs"),
        (relay.exp, "data"),
        (relay.nn.cross_entropy, "predictions targets"),
        (tir.generic.add, "lhs rhs span"),
        (relay.backend.Executor.list_registered_options, "executor"),
        (relay.backend.Runtime.list_registered_options, "runtime"),
    ],
)
def test_parameters_have_their_names(function, names):
    assert list(inspect.signature(function).parameters) == names.split()


def test_arguments_may_be_given_by_name():
    x = relay.var("x", shape=(2,))
    assert relay.add(lhs=x, rhs=x).op.name == "add" and relay.exp(data=x).op.name == "exp"
    with pytest.raises(TypeError, match=r"add\(lhs, rhs\) takes 2 arguments"):
        relay.add(x)
    data, weight = relay.var("d", shape=(1, 1, 4, 4, 8)), relay.var("w", shape=(1, 1, 3, 3, 8, 8))
    conv = relay.op.nn.contrib_conv2d_nchwc(data, kernel=weight, kernel_size=(3, 3), channels=8)
    assert (
        conv.args[1] == weight and list(inspect.signature(relay.op.nn.contrib_conv2d_nchwc).parameters)[1] == "kernel"
    )
    assert topi.add is not None
