"""Values that are given to a graph take the types of its inputs."""

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.contrib import graph_executor

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), uint8], %y: Tensor[(2), float32], %z: float32) {
  add(add(cast(%x, dtype="float32"), %y), %z)
}"""


@pytest.fixture(scope="module")
def graph():
    return graph_executor.GraphModule(relay.build(tvm.parser.fromtext(TEXT), "llvm")["default"](tvm.cpu()))


def test_arrays_and_numbers_are_converted(graph):
    graph.set_input("x", np.array([1, 2], "int64"))
    graph.set_input(1, np.array([0.5, 0.25]))
    graph.set_input("z", 3)
    graph.run()
    np.testing.assert_array_equal(graph.get_output(0).numpy(), [4.5, 5.25])
    graph.run(x=[3, 4], y=np.array([1, 1]), z=0.5)
    np.testing.assert_array_equal(graph.get_output(0).numpy(), [4.5, 5.5])


def test_a_tensor_of_another_type_is_rejected(graph):
    with pytest.raises(tvm.TVMError, match="input y is"):
        graph.set_input("y", tvm.nd.array(np.array([1, 2], "int32")))
    with pytest.raises(ValueError, match="input y is"):
        graph.set_input("y", np.zeros(3))


def test_an_executor_converts_them_too():
    run = relay.create_executor("graph", tvm.parser.fromtext(TEXT)).evaluate()
    np.testing.assert_array_equal(run(np.array([1, 2]), np.array([0.5, 1.0]), 1).numpy(), [2.5, 4])


def test_what_inputs_are_is_told_by_maps(graph):
    shapes, types = graph.get_input_info()
    assert isinstance(shapes, tvm.ir.container.Map) and isinstance(types, tvm.ir.container.Map)
    assert list(shapes["x"]) == [2] and str(types["x"]) == "uint8"


def test_bits_are_the_values_of_bfloat16():
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), bfloat16]) { cast(%x, dtype="float32") }'
    run = relay.create_executor("graph", tvm.parser.fromtext(text)).evaluate()
    np.testing.assert_array_equal(run(np.array([0x3F80, 0xC000], "uint16")).numpy(), [1, -2])
    np.testing.assert_array_equal(run(np.array([0.5, 3])).numpy(), [0.5, 3])
