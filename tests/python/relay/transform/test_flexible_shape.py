"""Versions of a program for some extents, chosen at run time."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.transform import FlexibleShapeDispatch


def model(batch):
    x = relay.var("x", shape=(batch, 3), dtype="float32")
    weight = relay.const(np.arange(12, dtype="float32").reshape(4, 3))
    return tessera.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, weight))))


def run(mod, *inputs):
    executable = relay.vm.compile(mod, "llvm")
    return tessera.runtime.vm.VirtualMachine(executable, tessera.cpu()).run(*map(tessera.nd.array, inputs)).numpy()


@pytest.mark.parametrize("auto_pad", [False, True])
def test_every_extent_gives_what_the_static_program_gives(auto_pad):
    mod = FlexibleShapeDispatch([1, 4], auto_pad=auto_pad)(model(1))
    assert {"main", "main_1", "main_4"} <= {var.name_hint for var in mod.get_global_vars()}
    assert "main_4" in str(mod["main"]) and "(4, 3), float32" in str(mod["main_4"])
    weight = np.arange(12, dtype="float32").reshape(4, 3)
    for batch in (1, 3, 4) if auto_pad else (1, 4):
        data = np.random.default_rng(0).random((batch, 3)).astype("float32")
        np.testing.assert_allclose(run(mod, data), np.maximum(data @ weight.T, 0), 1e-5)


def test_extents_without_a_version_take_the_dynamic_program():
    x = relay.var("x", shape=(relay.Any(), 3))
    mod = FlexibleShapeDispatch([2])(tessera.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    for batch in (2, 5):
        data = np.random.default_rng(0).random((batch, 3)).astype("float32")
        np.testing.assert_allclose(run(mod, data), np.exp(data), 1e-5)


def test_only_the_inputs_that_are_named_are_dynamic():
    x, y = relay.var("x", shape=(relay.Any(), 3)), relay.var("y", shape=(1, 3))
    program = tessera.IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))
    mod = FlexibleShapeDispatch([4], input_indices=[0])(program)
    assert [tuple(map(int, p.type_annotation.shape)) for p in mod["main_4"].params] == [(4, 3), (1, 3)]
    data, other = np.ones((4, 3), "float32"), np.full((1, 3), 2, "float32")
    np.testing.assert_array_equal(run(mod, data, other), data + other)
