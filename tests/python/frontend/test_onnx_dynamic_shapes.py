"""Models whose extents are known only at run time, as detectors have them, against ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from tessera import onnx_backend  # noqa: E402

rng = np.random.default_rng(0)


def real(*shape):
    return rng.standard_normal(shape).astype("float32")


def check(nodes, inputs, shapes, kind=TensorProto.FLOAT, constants=None, rtol=1e-5):
    """`shapes`: those of the inputs, with names of dynamic extents."""
    types = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shapes[name])
        for name, value in inputs.items()
    ]
    held = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    result = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph(nodes, "graph", types, [result], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    prepared = onnx_backend.prepare(model)
    (got,), (want,) = prepared.run(inputs), session.run(None, inputs)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)
    assert not prepared._frozen, "nothing was compiled for one value"


MODES = [
    ("linear", "half_pixel", {}),
    ("linear", "align_corners", {}),
    ("cubic", "pytorch_half_pixel", {}),
    ("nearest", "asymmetric", {"nearest_mode": "floor"}),
    ("nearest", "half_pixel", {}),
]


@pytest.mark.parametrize(("mode", "coordinates", "more"), MODES)
def test_resize_to_sizes_that_the_program_computes(mode, coordinates, more):
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
    nodes = [
        helper.make_node("Shape", ["x"], ["whole"]),
        helper.make_node("Slice", ["whole", "zero", "two"], ["front"]),
        helper.make_node("Concat", ["front", "size"], ["sizes"], axis=0),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["z"], **attributes),
        helper.make_node("Conv", ["z", "w"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "two": np.array([2]), "w": real(4, 3, 1, 1)}
    inputs = {"x": real(2, 3, 7, 9), "size": np.array([10, 5])}
    check(nodes, inputs, {"x": ("n", 3, "h", "w"), "size": (2,)}, constants=constants, rtol=1e-4)


@pytest.mark.parametrize("axis", [2, -1])
def test_flatten_needs_one_side_of_its_axis(axis):
    check([helper.make_node("Flatten", ["x"], ["y"], axis=axis)], {"x": real(2, 3, 4, 5)}, {"x": ("n", 3, 4, 5)})


def test_resize_of_dynamic_extents_by_scales():
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
    constants = {"scales": np.array([1, 1, 1.5, 2], "float32")}
    check(nodes, {"x": real(1, 2, 6, 5)}, {"x": (1, 2, "h", "w")}, constants=constants)


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_pads_that_the_program_computes(mode):
    nodes = [
        helper.make_node("Concat", ["none", "before", "none", "after"], ["pads"], axis=0),
        helper.make_node("Pad", ["x", "pads", "value"], ["y"], mode=mode),
    ]
    inputs = {"x": real(2, 3, 5), "before": np.array([1, 0]), "after": np.array([2, 3])}
    constants = {"none": np.array([0]), "value": np.array(7, "float32")}
    check(nodes, inputs, {"x": (2, "h", 5), "before": (2,), "after": (2,)}, constants=constants)


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_any_number_of_regions_of_dynamic_images(mode):
    boxes = np.array([[0, 0, 20, 30], [5, 6, 25, 18], [-3, 2, 8, 9]], "float32")
    inputs = {"x": real(2, 4, 16, 20), "boxes": boxes, "image": np.array([0, 1, 1])}
    shapes = {"x": (2, 4, "h", "w"), "boxes": ("r", 4), "image": ("r",)}
    attributes = {"output_height": 3, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.5, "mode": mode}
    if mode == "max":
        attributes["coordinate_transformation_mode"] = "output_half_pixel"
    check([helper.make_node("RoiAlign", ["x", "boxes", "image"], ["y"], **attributes)], inputs, shapes)


def test_indices_counted_from_the_end_of_dynamic_data():
    inputs = {"x": real(5, 4, 3), "at": np.array([[0, -1], [-2, 1], [4, -4]])}
    check([helper.make_node("GatherND", ["x", "at"], ["y"])], inputs, {"x": ("a", "b", 3), "at": ("n", 2)})
    inputs["new"] = real(3, 3)
    nodes = [helper.make_node("ScatterND", ["x", "at", "new"], ["y"])]
    check(nodes, inputs, {"x": ("a", "b", 3), "at": ("n", 2), "new": ("n", 3)})


@pytest.mark.parametrize("count", [0, 4])
def test_branches_that_give_different_extents(count):
    """What detectors do with boxes: nothing where there are none."""
    empty = helper.make_tensor("e", TensorProto.INT64, [0], [])
    nothing = helper.make_graph(
        [helper.make_node("Constant", [], ["none"], value=empty)],
        "nothing",
        [],
        [helper.make_tensor_value_info("none", TensorProto.INT64, None)],
    )
    some = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["indices"]), helper.make_node("Squeeze", ["indices", "zero"], ["kept"])],
        "some",
        [],
        [helper.make_tensor_value_info("kept", TensorProto.INT64, None)],
    )
    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Equal", ["size", "none_left"], ["is_empty"]),
        helper.make_node("If", ["is_empty"], ["y"], then_branch=nothing, else_branch=some),
    ]
    constants = {"zero": np.array([0]), "none_left": np.array(0)}
    check(nodes, {"x": real(count)}, {"x": ("n",)}, TensorProto.INT64, constants)


def test_conditions_on_known_extents_of_dynamic_shapes_are_decided():
    """As torch.squeeze is exported: the branches differ in their number of dimensions."""
    branches = {}
    for name, op, inputs in [("then_branch", "Squeeze", ["x", "one"]), ("else_branch", "Identity", ["x"])]:
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(op, inputs, [name])], name, [], [out])
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["extent"], axis=0),
        helper.make_node("Equal", ["extent", "one"], ["is_one"]),
        helper.make_node("If", ["is_one"], ["y"], **branches),
    ]
    check(nodes, {"x": real(5, 1)}, {"x": ("n", 1)}, constants={"one": np.array([1])})


def names_of_operators(model):
    from tessera import relay

    mod, _ = relay.frontend.from_onnx(model)
    found = set()
    relay.analysis.post_order_visit(
        mod["main"], lambda e: found.add(e.op.name) if isinstance(e, relay.Call) and hasattr(e.op, "name") else None
    )
    return found


def windows_of_an_image():
    """As swin writes it: pads up to whole windows from the shape, then windows as a larger batch."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "two"], ["width"], axis=0),
        node("Mod", ["width", "seven"], ["over"]),
        node("Sub", ["seven", "over"], ["missing"]),
        node("Mod", ["missing", "seven"], ["pad"]),
        node("Unsqueeze", ["pad", "zeros"], ["pads_of_width"]),
        node("Concat", ["none", "none", "none", "pads_of_width", "none", "none", "none", "none"], ["pairs"], axis=0),
        node("Reshape", ["pairs", "by_pairs"], ["matrix"]),
        node("Slice", ["matrix", "last", "first", "axes", "back"], ["reversed"]),
        node("Transpose", ["reversed"], ["turned"], perm=[1, 0]),
        node("Reshape", ["turned", "flat"], ["pads"]),
        node("Pad", ["x", "pads"], ["padded"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Mul", ["batch", "four"], ["windows"]),
        node("Unsqueeze", ["windows", "zeros"], ["first_extent"]),
        node("Concat", ["first_extent", "rest"], ["target"], axis=0),
        node("Reshape", ["padded", "target"], ["y"]),
    ]
    ints = lambda *values: np.array(values, "int64")
    constants = {
        "two": np.array(2),
        "seven": np.array(7),
        "zero": np.array(0),
        "four": np.array(4),
        "zeros": ints(0),
        "none": ints(0),
        "by_pairs": ints(-1, 2),
        "last": ints(-1),
        "first": ints(-(2**62)),
        "axes": ints(0),
        "back": ints(-1),
        "flat": ints(-1),
        "rest": ints(7, 7, 3),
    }
    return nodes, constants


@pytest.mark.parametrize("batch", [1, 3])
def test_arithmetic_on_known_extents_beside_a_dynamic_batch(batch):
    nodes, constants = windows_of_an_image()
    constants = {name: value.astype("int64") for name, value in constants.items()}
    check(nodes, {"x": real(batch, 14, 12, 3)}, {"x": ("n", 14, 12, 3)}, constants=constants)


def test_numbers_that_are_computed_from_shapes_leave_no_dynamic_operators():
    nodes, constants = windows_of_an_image()
    held = [numpy_helper.from_array(value.astype("int64"), name) for name, value in constants.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", 14, 12, 3))]
    graph = helper.make_graph(
        nodes, "graph", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], held
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert names_of_operators(model) == {"nn.pad", "reshape"}


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_a_token_for_each_example_of_a_dynamic_batch(batch):
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "zeros"], ["extent"]),
        node("Concat", ["extent", "rest"], ["target"], axis=0),
        node("Expand", ["token", "target"], ["tokens"]),
        node("Concat", ["tokens", "x"], ["y"], axis=1),
    ]
    constants = {
        "zero": np.array(0, "int64"),
        "zeros": np.array([0], "int64"),
        "rest": np.array([-1, -1], "int64") * 0 + 1,
        "token": real(1, 1, 4),
    }
    check(nodes, {"x": real(batch, 5, 4)}, {"x": ("n", 5, 4)}, constants=constants)


def split_rows():
    """As decoders and vision transformers write it: a linear layer of all rows as one axis, and the two axes again."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", "zeros", "twos"], ["lead"]),
        node("Reshape", ["x", "rows"], ["flat"]),
        node("MatMul", ["flat", "w"], ["product"]),
        node("Concat", ["lead", "heads"], ["target"], axis=0),
        node("Reshape", ["product", "target"], ["y"]),
    ]
    constants = {"zeros": [0], "twos": [2], "rows": [-1, 8], "heads": [2, 3]}
    return nodes, {name: np.array(value, "int64") for name, value in constants.items()} | {"w": real(8, 6)}


@pytest.mark.parametrize("lead", [(2, 5), (1, 1), (3, 4)])
def test_an_extent_that_becomes_two_dynamic_ones(lead):
    nodes, constants = split_rows()
    check(nodes, {"x": real(*lead, 8)}, {"x": ("n", "t", 8)}, constants=constants)


def test_an_extent_that_becomes_two_of_another_tensor_needs_no_dynamic_operator():
    nodes, constants = split_rows()
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("n", "t", 8))]
    graph = helper.make_graph(
        nodes, "graph", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], held
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert names_of_operators(model) == {"nn.matmul", "reshape", "reshape_like"}
