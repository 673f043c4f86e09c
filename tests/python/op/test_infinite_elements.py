"""Reductions over elements that are infinite, on a CPU and, where there is one, an OpenCL device."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay

TARGETS = ["llvm", pytest.param("opencl", marks=pytest.mark.skipif(not tvm.opencl().exist, reason="no OpenCL device"))]
LOWEST = np.full((3, 40), -np.inf, "float32")


def run(target, body, x, value):
    device = tvm.device(target, 0)
    executor = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x], body(x))), device, target)
    return executor.evaluate()(value).numpy()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_maximum_of_minus_infinities_is_one(target, dtype):
    x = relay.var("x", shape=(3, 40), dtype=dtype)
    assert np.all(run(target, lambda x: relay.max(x, axis=1), x, LOWEST.astype(dtype)) == -np.inf)
    assert np.all(run(target, lambda x: relay.min(x, axis=0), x, -LOWEST.astype(dtype)) == np.inf)


@pytest.mark.parametrize("last", [False, True])
def test_the_index_of_an_infinite_extreme_is_in_the_tensor(last):
    x = relay.var("x", shape=(3, 40))
    wanted = 39 if last else 0
    for value, op in ((LOWEST, relay.argmax), (-LOWEST, relay.argmin)):
        assert np.all(run("llvm", lambda x, op=op: op(x, axis=1, select_last_index=last), x, value) == wanted)


def test_the_border_of_a_maximum_pool_is_below_all_elements():
    x = relay.var("x", shape=(1, 1, 4, 4))
    value = np.full((1, 1, 4, 4), -np.inf, "float32")
    assert np.all(run("llvm", lambda x: relay.nn.max_pool2d(x, (3, 3), padding=(1, 1)), x, value) == -np.inf)
