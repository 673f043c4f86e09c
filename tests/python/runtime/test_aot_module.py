"""`runtime.executor.AotModule` over a module with an executor's functions."""

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.runtime.executor import AotModule


@pytest.fixture
def module():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    library = relay.build(tessera.IRModule.from_expr(relay.Function([x, y], x - y)), "llvm")
    return AotModule(library["default"](tessera.cpu()))


def test_inputs_are_set_by_name_and_by_index_and_outputs_read(module):
    module.set_input("x", np.array([5, 6, 7], "float32"))
    module.set_input(module.get_input_index("y"), np.array([1, 2, 3], "float32"))
    module.run()
    assert module.get_output(0).numpy().tolist() == [4, 4, 4]
    module.run(x=np.array([1, 1, 1], "float32"), y=np.array([0, 0, 1], "float32"))
    out = tessera.nd.empty((3,))
    assert module.get_output(0, out) is out and out.numpy().tolist() == [1, 1, 0]
    assert (module.get_num_inputs(), module.get_num_outputs()) == (2, 1)
    assert module.get_input("y").numpy().tolist() == [0, 0, 1]


def test_an_input_needs_a_value(module):
    with pytest.raises(ValueError, match="without a value"):
        module.set_input("x")
