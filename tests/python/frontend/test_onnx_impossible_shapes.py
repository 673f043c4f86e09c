"""Shapes that cannot be, in the constants of a model: an error that names the node, while it is read."""

import numpy as np
import pytest
import tessera
from tessera import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def load(nodes, constants, outputs=("y",)):
    types = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])]
    results = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in outputs]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "graph", types, results, held)
    return relay.frontend.from_onnx(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()
    )


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, list(outputs), name="guilty", **attributes)


def ints(*values):
    return np.array(values, "int64")


LARGE = 10**15
WRONG = {
    "expand to a negative size": (node("Expand", ["x", "c"]), {"c": ints(-3, 2, 6)}),
    "a constant of a negative shape": (node("ConstantOfShape", ["c"]), {"c": ints(2, -1)}),
    "reshape to -7": (node("Reshape", ["x", "c"]), {"c": ints(-7, 2)}),
    "reshape to Relay's -3": (node("Reshape", ["x", "c"]), {"c": ints(-3)}),
    "reshape to too many": (node("Reshape", ["x", "c"]), {"c": ints(2**62, 2**62, -1)}),
    "reshape to other elements": (node("Reshape", ["x", "c"]), {"c": ints(5, -1)}),
    "a range of 10^15": (node("Range", ["a", "b", "c"]), dict(zip("abc", (np.int64(0), np.int64(LARGE), np.int64(1))))),
    "a range of NaN": (node("Range", ["a", "b", "c"]), dict(zip("abc", np.array([0, np.nan, 1], "float32")))),
    "a range without end": (node("Range", ["a", "b", "c"]), dict(zip("abc", np.array([0, np.inf, 1], "float32")))),
    "a range of step 0": (node("Range", ["a", "b", "c"]), dict(zip("abc", np.array([0, 5, 0], "int64")))),
    "a pad of 10^10": (node("Pad", ["x", "c"]), {"c": ints(0, 0, 0, 10**10)}),
    "a pad that crops too much": (node("Pad", ["x", "c"]), {"c": ints(-2, 0, -2, 0)}),
    "a slice of step 0": (node("Slice", ["x", "a", "b", "a", "c"]), {"a": ints(0), "b": ints(2), "c": ints(0)}),
    "tiles of -2": (node("Tile", ["x", "c"]), {"c": ints(1, -2)}),
    "top -1": (node("TopK", ["x", "c"], ["y", "z"]), {"c": ints(-1)}),
    "top 2^32 + 1": (node("TopK", ["x", "c"], ["y", "z"]), {"c": ints(2**32 + 1)}),
    "a depth of -1": (node("OneHot", ["i", "c", "v"]), {"i": ints(0, 1), "c": ints(-1), "v": ints(0, 1)}),
    "a depth of 2^32 + 1": (node("OneHot", ["i", "c", "v"]), {"i": ints(0, 1), "c": ints(2**32 + 1), "v": ints(0, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_shape_that_cannot_be_is_an_error_of_its_node(what):
    broken, constants = WRONG[what]
    with pytest.raises((ValueError, TypeError, tessera.error.OpError), match=f"in node {broken.op_type} guilty"):
        load([broken], {name: np.asarray(value) for name, value in constants.items()})


def test_expand_to_a_negative_size_before_split_is_an_error():
    nodes = [node("Expand", ["x", "c"], ["z"]), helper.make_node("Split", ["z"], ["y", "w"], axis=0, num_outputs=2)]
    with pytest.raises(Exception, match="in node Expand guilty"):
        load(nodes, {"c": ints(-4, 2, 6)}, ("y", "w"))


def test_no_elements_are_the_top_0():
    mod, params = load([node("TopK", ["x", "k"], ["y", "z"])], {"k": ints(0)}, ("y", "z"))
    values, indices = tessera.compile(mod, params=params).run(np.ones((2, 6), "float32"))
    assert values.shape == (2, 0) and indices.shape == (2, 0)


def test_a_slice_that_begins_before_its_data_going_backwards_is_empty():
    constants = {"a": ints(-100), "b": ints(-(2**63)), "c": ints(1), "d": ints(-1)}
    mod, params = load([node("Slice", ["x", "a", "b", "c", "d"])], constants)
    assert tessera.compile(mod, params=params).run(np.ones((2, 6), "float32"))[0].shape == (2, 0)


def test_a_range_of_large_integers_is_exact():
    bounds = dict(zip("abc", np.array([2**60, 2**60 + 5, 2], "int64")))
    mod, params = load([node("Range", ["a", "b", "c"])], {k: np.asarray(v) for k, v in bounds.items()})
    (y,) = tessera.compile(mod, params=params).run(np.ones((2, 6), "float32"))
    np.testing.assert_array_equal(y.numpy(), np.arange(2**60, 2**60 + 5, 2))
