"""ONNX files that are damaged, forged or hostile give errors, and nothing outside the model's folder is read."""

import os

import numpy as np
import pytest
import tessera
from tessera.relay.frontend import from_onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model(nodes, inputs, outputs, initializers=(), functions=(), opsets=(("", 21),)):
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        list(initializers),
    )
    sets = [helper.make_opsetid(domain, version) for domain, version in opsets]
    return helper.make_model(graph, functions=list(functions), opset_imports=sets)


def simple():
    weight = numpy_helper.from_array(np.ones((3, 4), "float32"), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", (2, 3))], ["y"], [weight])


def test_a_truncated_file_is_rejected_or_understood_at_every_length():
    data = simple().SerializeToString()
    rejected = 0
    for length in range(len(data)):
        try:
            from_onnx(data[:length])
        except Exception as error:
            assert isinstance(error, (ValueError, TypeError, NotImplementedError, RuntimeError)), repr(error)
            rejected += 1
    assert rejected > len(data) // 2


def test_flipped_bits_never_crash():
    data = bytearray(simple().SerializeToString())
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data)
        for offset in rng.integers(0, len(data), 3):
            damaged[offset] ^= 1 << int(rng.integers(8))
        try:
            from_onnx(bytes(damaged))
        except Exception as error:
            assert not isinstance(error, (MemoryError, SystemError)), repr(error)


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x00" * 100, b"\xff" * 100])
def test_other_files_are_rejected(data):
    with pytest.raises(ValueError, match="no ONNX model"):
        from_onnx(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (simple().SerializeToString()[:-7], "the data ends in the middle of a field"),
        (b"\x08" + b"\xff" * 11, "a number has more than ten bytes"),
        (b"\x0e\x00", "a field is of a type that protobuf does not have"),
        (b"\x00\x00", "a field has a number that protobuf does not allow"),
        (b"\x3a\x0a\x2a\x08\x22\x03\x00\x00\x00\x00\x00\x00", "the length of a field does not fit what it holds"),
    ],
)
def test_what_is_wrong_with_a_damaged_file_is_said_in_our_words(data, words):
    with pytest.raises(ValueError, match=f"this is no ONNX model, or it is damaged: {words}"):
        from_onnx(data)


def test_fields_of_another_wire_type_are_rejected():
    for data in (b"\x08\x08\x38\x05", b"\x08\x08\x3a\x02\x08\x05", b"\x0a\x01\x08", b"\x08\x08\x3d\x00\x00\x00\x00"):
        with pytest.raises(ValueError, match="a field is not of the type it must have"):
            from_onnx(data)


@pytest.mark.parametrize("dims", [(1 << 40, 1 << 40), (1 << 33,), (-1, 4), (1 << 62, 4)])
def test_forged_shapes_of_tensors_take_no_memory(dims):
    forged = simple()
    del forged.graph.initializer[0].dims[:]
    forged.graph.initializer[0].dims.extend(dims)
    with pytest.raises(ValueError, match="shape|extent|bytes"):
        from_onnx(forged)


def test_a_cycle_is_an_error():
    loop = model([helper.make_node("Relu", ["b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])], [("x", (2,))], ["a"])
    with pytest.raises(ValueError, match='uses "b" before anything makes it'):
        from_onnx(loop)


def test_functions_that_call_each_other_forever_are_an_error():
    def function(name, calls):
        return helper.make_function(
            "mine",
            name,
            ["x"],
            ["y"],
            [helper.make_node(calls, ["x"], ["y"], domain="mine")],
            [helper.make_opsetid("mine", 1)],
        )

    endless = model(
        [helper.make_node("f", ["x"], ["y"], domain="mine")],
        [("x", (2,))],
        ["y"],
        functions=[function("f", "g"), function("g", "f")],
        opsets=(("", 21), ("mine", 1)),
    )
    with pytest.raises(ValueError, match="deeper than"):
        from_onnx(endless)


def test_thousands_of_nested_functions_are_an_error():
    sets = [helper.make_opsetid("mine", 1), helper.make_opsetid("", 21)]
    nested = [
        helper.make_function(
            "mine", f"f{i}", ["x"], ["y"], [helper.make_node(f"f{i + 1}", ["x"], ["y"], domain="mine")], sets
        )
        for i in range(3000)
    ]
    nested.append(helper.make_function("mine", "f3000", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], sets))
    deep = model(
        [helper.make_node("f0", ["x"], ["y"], domain="mine")],
        [("x", (2,))],
        ["y"],
        functions=nested,
        opsets=(("", 21), ("mine", 1)),
    )
    with pytest.raises(ValueError, match="deeper than"):
        from_onnx(deep)


def test_all_unknown_operators_are_named_at_once():
    unknown = model(
        [helper.make_node("Frobnicate", ["x"], ["a"]), helper.make_node("Twist", ["a"], ["y"], domain="other")],
        [("x", (2,))],
        ["y"],
    )
    with pytest.raises(
        NotImplementedError, match=r"Frobnicate.*Twist \(other\)\n  in node Frobnicate a\n  in node Twist y"
    ):
        from_onnx(unknown)


@pytest.mark.parametrize(("name", "told"), [("sum_3", "node Add sum_3"), ("", "node Add, which makes b")])
def test_what_does_not_fit_is_the_fault_of_the_node_that_makes_it(name, told):
    """Not of one that uses it, nor of the whole model."""
    sums = model(
        [
            helper.make_node("Relu", ["x"], ["a"], name="first"),
            helper.make_node("Add", ["a", "w"], ["b"], name=name),
            helper.make_node("Softmax", ["b"], ["y"], name="last"),
        ],
        [("x", (2, 3)), ("w", (4,))],
        ["y"],
    )
    with pytest.raises(Exception, match=rf"\n  in {told}$"):
        from_onnx(sums)


def test_a_fault_inside_a_function_names_the_way_to_it():
    sets = [helper.make_opsetid("mine", 1), helper.make_opsetid("", 21)]
    body = [helper.make_node("MatMul", ["x", "x"], ["y"], name="square")]
    call = helper.make_node("f", ["x"], ["y"], name="caller", domain="mine")
    function = helper.make_function("mine", "f", ["x"], ["y"], body, sets)
    calls = model([call], [("x", (2, 3))], ["y"], functions=[function], opsets=(("", 21), ("mine", 1)))
    with pytest.raises(Exception, match=r"\n  in node MatMul square\n  in node f caller$"):
        from_onnx(calls)


def chain_of_functions(length, calls, last="Relu"):
    """f0 calls f1 `calls` times, f1 calls f2, and so on; the last one is an operator."""
    sets = [helper.make_opsetid("mine", 1), helper.make_opsetid("", 21)]
    functions = []
    for i in range(length):
        op, domain = (f"f{i + 1}", "mine") if i + 1 < length else (last, "")
        names = ["x", *(f"h{j}" for j in range(calls - 1)), "y"]
        body = [helper.make_node(op, [a], [b], domain=domain) for a, b in zip(names, names[1:])]
        functions.append(helper.make_function("mine", f"f{i}", ["x"], ["y"], body, sets))
    call = helper.make_node("f0", ["x"], ["y"], domain="mine")
    return model([call], [("x", (2,))], ["y"], functions=functions, opsets=(("", 21), ("mine", 1)))


def test_functions_that_double_at_each_level_are_an_error():
    from_onnx(chain_of_functions(10, 2))  # a thousand nodes
    with pytest.raises(ValueError, match="more than 1000000 nodes"):
        from_onnx(chain_of_functions(60, 2))


def test_loops_that_multiply_are_an_error():
    def loop(depth):
        body = [helper.make_node("Relu", ["v"], ["w"])] if depth == 0 else [loop(depth - 1)]
        inputs = [
            helper.make_tensor_value_info("i", TensorProto.INT64, ()),
            helper.make_tensor_value_info("c", TensorProto.BOOL, ()),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, (2,)),
        ]
        outputs = [inputs[1], helper.make_tensor_value_info("w", TensorProto.FLOAT, (2,))]
        graph = helper.make_graph(body, "body", inputs, outputs)
        return helper.make_node("Loop", ["n", "yes", "x" if depth == 5 else "v"], ["w"], body=graph)

    known = [numpy_helper.from_array(np.array(60), "n"), numpy_helper.from_array(np.array(True), "yes")]
    with pytest.raises((ValueError, NotImplementedError), match="more than 1000000 nodes|not supported"):
        from_onnx(model([loop(5)], [("x", (2,))], ["w"], known))


def test_thousands_of_nested_graphs_are_an_error():
    leaf = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2,))]
    )
    data = leaf.SerializeToString()

    def field(number, payload):
        size, out = len(payload), bytearray([number << 3 | 2])
        while size > 127:
            out.append(size & 127 | 128)
            size >>= 7
        return bytes(out) + bytes([size]) + payload

    for _ in range(3000):  # written byte by byte: Python's protobuf has a limit of its own
        attribute = field(1, b"then_branch") + field(6, data) + bytes([20 << 3 & 127 | 128, 1, 5])
        data = field(1, field(4, b"If") + field(5, attribute))
    with pytest.raises(ValueError, match="nested deeper than 100 levels"):
        from_onnx(b"\x08\x08" + field(7, data))


def test_millions_of_empty_nodes_take_no_memory():
    graph = b"\x0a\x00" * 5_000_000  # ten megabytes
    size = len(graph)
    data = b"\x08\x08" + b"\x3a" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21])
    with pytest.raises(ValueError, match="more than 4000000 nodes"):
        from_onnx(data + graph)


def test_a_graph_that_refers_to_itself_through_an_attribute_ends():
    """A function hands its attribute to a node, and the graph it is given asks for that attribute again."""
    inner = helper.make_node("If", ["c"], ["z"])
    for name in ("then_branch", "else_branch"):
        attribute = inner.attribute.add()
        attribute.name, attribute.ref_attr_name, attribute.type = name, "g", onnx.AttributeProto.GRAPH
    graph = helper.make_graph([inner], "g", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, (2,))])
    sets = [helper.make_opsetid("mine", 1), helper.make_opsetid("", 21)]
    function = helper.make_function("mine", "f", ["x", "c"], ["z"], [inner], sets, ["g"])
    call = helper.make_node("f", ["x", "c"], ["y"], domain="mine", g=graph)
    endless = model([call], [("x", (2,))], ["y"], functions=[function], opsets=(("", 21), ("mine", 1)))
    endless.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, ()))
    with pytest.raises((ValueError, NotImplementedError)):
        from_onnx(endless)


def test_a_cycle_through_the_graph_inside_a_node_is_an_error():
    branch = helper.make_graph(
        [helper.make_node("Relu", ["y"], ["z"])], "g", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, (2,))]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    loop = model([node], [("x", (2,))], ["y"], [numpy_helper.from_array(np.array(True), "c")])
    with pytest.raises(ValueError, match='uses "y" before anything makes it'):
        from_onnx(loop)


@pytest.mark.parametrize("shape, why", [((1 << 31,), "at most 2147483647"), ((1 << 20, 1 << 20, 64), "4 TiB")])
def test_forged_shapes_of_inputs_are_rejected(shape, why):
    with pytest.raises(ValueError, match=why):
        from_onnx(model([helper.make_node("Relu", ["x"], ["y"])], [("x", shape)], ["y"]))


def test_more_dimensions_than_tensors_can_have_are_rejected():
    with pytest.raises(ValueError, match="100 dimensions; at most 64"):
        from_onnx(model([helper.make_node("Relu", ["x"], ["y"])], [("x", (1,) * 100)], ["y"]))
    weight = numpy_helper.from_array(np.ones(1, "float32"), "w")
    del weight.dims[:]
    weight.dims.extend([1] * 100)
    with pytest.raises(ValueError, match="100 dimensions; at most 64"):
        from_onnx(model([helper.make_node("Add", ["x", "w"], ["y"])], [("x", (1,))], ["y"], [weight]))


@pytest.mark.parametrize(
    "op, attributes, shapes",
    [
        ("MaxPool", {"kernel_shape": [5, 5], "strides": [0, 3]}, [(1, 3, 32, 32)]),
        ("MaxPool", {"kernel_shape": [1 << 40, 1 << 40]}, [(1, 3, 32, 32)]),
        ("Conv", {"strides": [2], "auto_pad": "SAME_LOWER"}, [(1, 1, 5, 5), (1, 1, 3, 3)]),
        ("Conv", {"dilations": [0, 0]}, [(1, 1, 5, 5), (1, 1, 3, 3)]),
        ("Conv", {"pads": [1]}, [(1, 1, 5, 5), (1, 1, 3, 3)]),
        ("Conv", {}, [(1, 1, 7, 5), ()]),
        ("Conv", {}, [(4,), (4,)]),
        ("ConvTranspose", {"output_shape": [4]}, [(1, 1, 5, 5), (1, 1, 3, 3)]),
        ("MaxUnpool", {"kernel_shape": [2, 2]}, [(1, 1, 2), (1, 1, 2)]),
        ("GatherND", {}, [(), (2, 2)]),
        ("GatherND", {"batch_dims": 7}, [(2, 2), (2, 2)]),
        ("ScatterND", {}, [(4,), (2, 9), (2,)]),
        ("Reshape", {}, [(2, 3), (1 << 30,)]),
        ("GRU", {"hidden_size": 5}, [(), (1, 15, 2), (1, 15, 5)]),
        ("RNN", {"hidden_size": 4}, [(3, 1, 2), (1, 4, 2), (1, 4)]),
        ("Attention", {"q_num_heads": 9, "kv_num_heads": 3}, [(2, 72), (2, 6, 24), (2, 6, 24)]),
        ("Split", {"num_outputs": 1 << 31}, [(7,)]),
    ],
)
def test_forged_numbers_of_nodes_are_rejected(op, attributes, shapes):
    integers = {"GatherND": [1], "ScatterND": [1], "MaxUnpool": [1], "Reshape": [1]}.get(op, [])
    forged = model([helper.make_node(op, [f"x{i}" for i in range(len(shapes))], ["y"], **attributes)], [], ["y"])
    for i, shape in enumerate(shapes):
        kind = TensorProto.INT64 if i in integers else TensorProto.FLOAT
        forged.graph.input.append(helper.make_tensor_value_info(f"x{i}", kind, shape))
    with pytest.raises((ValueError, TypeError, NotImplementedError, RuntimeError)) as error:
        from_onnx(forged)
    assert type(error.value).__name__ != "InternalError", error.value


@pytest.mark.parametrize("scale", [1e12, -1.0, float("nan"), float("inf")])
def test_a_forged_scale_is_rejected(scale):
    scales = numpy_helper.from_array(np.array([1, 1, scale, 2], "float32"), "s")
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")
    with pytest.raises(ValueError, match="cannot be resized"):
        from_onnx(model([node], [("x", (1, 1, 4, 4))], ["y"], [scales]))


def test_an_attribute_that_claims_to_be_a_graph_is_rejected():
    node = helper.make_node("If", ["c"], ["y"])
    for name in ("then_branch", "else_branch"):
        attribute = node.attribute.add()
        attribute.name, attribute.type = name, onnx.AttributeProto.GRAPH
    forged = model([node], [("x", (2,))], ["y"], [numpy_helper.from_array(np.array(True), "c")])
    with pytest.raises(ValueError, match="has no graph"):
        from_onnx(forged)


def test_a_hundred_thousand_nodes_in_a_row_are_read():
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(100_000)]
    mod, _ = from_onnx(model(nodes, [("x0", (2,))], ["x100000"]))
    assert mod["main"].params[0].name_hint == "x0"


# ---- data beside the file --------------------------------------------------------------------------------------------


def with_data_at(location, **more):
    external = simple()
    tensor = external.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, str(value)
    return external


def saved(folder, external):
    path = folder / "model.onnx"
    path.write_bytes(external.SerializeToString())
    return path


@pytest.fixture
def folders(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    np.arange(12, dtype="float32").tofile(outside / "data.bin")
    np.arange(12, dtype="float32").tofile(inside / "data.bin")
    return inside, outside


def test_data_beside_the_file_is_read(folders):
    inside, _ = folders
    mod, _ = from_onnx(saved(inside, with_data_at("data.bin")))
    assert "Tensor[(3, 4), float32]" in str(mod)


@pytest.mark.parametrize(
    "location", ["../outside/data.bin", "sub/../../outside/data.bin", "/etc/passwd", "", "a\0b", "missing.bin", "."]
)
def test_paths_that_lead_elsewhere_are_rejected(folders, location):
    inside, _ = folders
    with pytest.raises(ValueError, match="outside the file"):
        from_onnx(saved(inside, with_data_at(location)))


def test_links_are_rejected(folders):
    inside, outside = folders
    (inside / "link.bin").symlink_to(outside / "data.bin")
    (inside / "sub").symlink_to(outside)
    os.link(outside / "data.bin", inside / "hard.bin")
    for location, why in (("link.bin", "symbolic link"), ("sub/data.bin", "link|directory"), ("hard.bin", "hard link")):
        with pytest.raises(ValueError, match=why):
            from_onnx(saved(inside, with_data_at(location)))


def test_links_into_a_folder_can_be_allowed(tmp_path):
    """As a Hugging Face cache has them: each file of a snapshot, the model too, is a link to a blob."""
    snapshot, blobs = tmp_path / "cache" / "snapshots" / "1" / "onnx", tmp_path / "cache" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    np.arange(12, dtype="float32").tofile(blobs / "4711")
    saved(blobs, with_data_at("model.onnx_data"))
    (snapshot / "model.onnx").symlink_to("../../../blobs/model.onnx")
    (snapshot / "model.onnx_data").symlink_to("../../../blobs/4711")
    with pytest.raises(
        ValueError, match=r"model.onnx_data is a symbolic link; allow_links .--allow-links FOLDER. allows"
    ):
        from_onnx(snapshot / "model.onnx")
    mod, _ = from_onnx(snapshot / "model.onnx", allow_links=tmp_path / "cache")
    assert "Tensor[(3, 4), float32]" in str(mod)
    assert tessera.compile(snapshot / "model.onnx", allow_links=str(blobs)).inputs


def test_links_out_of_the_allowed_folder_are_rejected(folders):
    inside, outside = folders
    (outside / "deep").mkdir()
    np.arange(12, dtype="float32").tofile(outside / "deep" / "data.bin")
    (inside / "to_outside").symlink_to(outside)
    (inside / "near.bin").symlink_to(outside / "deep" / "data.bin")
    (inside / "far.bin").symlink_to(outside / "data.bin")
    (inside / "nothing.bin").symlink_to(outside / "deep" / "gone.bin")
    (outside / "deep" / "back").symlink_to(outside / "data.bin")
    (inside / "chain.bin").symlink_to(outside / "deep" / "back")
    os.link(outside / "deep" / "data.bin", outside / "deep" / "hard.bin")
    os.mkfifo(outside / "deep" / "pipe")
    (outside / "deep2").mkdir()
    np.arange(12, dtype="float32").tofile(outside / "deep2" / "data.bin")
    for location, why in (
        ("far.bin", "leads out of"),
        ("chain.bin", "leads out of"),
        ("to_outside/data.bin", "leads out of"),
        ("to_outside/deep2/data.bin", "leads out of"),
        ("to_outside/../outside/deep/data.bin", "leads out of the folder of the model"),
        (str(outside / "deep" / "data.bin"), "is absolute"),
        ("nothing.bin", "to a file that is not there"),
        ("near.bin", "hard link"),
        ("to_outside/deep/pipe", "not a plain file"),
    ):
        with pytest.raises(ValueError, match=why):
            from_onnx(saved(inside, with_data_at(location)), allow_links=outside / "deep")
    with pytest.raises(ValueError, match="there is no folder .*missing"):
        from_onnx(saved(inside, with_data_at("far.bin")), allow_links=outside / "missing")


@pytest.mark.parametrize("more", [{"offset": 8}, {"length": 8}, {"offset": -4}, {"offset": "x"}, {"offset": 1 << 63}])
def test_wrong_offsets_in_the_data_are_rejected(folders, more):
    inside, _ = folders
    with pytest.raises(ValueError, match="outside the file"):
        from_onnx(saved(inside, with_data_at("data.bin", **more)))


def test_a_model_in_memory_has_no_folder():
    with pytest.raises(ValueError, match="no folder"):
        from_onnx(with_data_at("data.bin"))


def test_a_forged_shape_of_data_beside_the_file_takes_no_memory(folders):
    inside, _ = folders
    forged = with_data_at("data.bin")
    del forged.graph.initializer[0].dims[:]
    forged.graph.initializer[0].dims.extend([1 << 20, 1 << 20])
    with pytest.raises(ValueError, match="has 48 bytes; 4398046511104 are needed"):
        from_onnx(saved(inside, forged))


def test_what_is_no_plain_file_is_not_waited_for(folders):
    inside, _ = folders
    os.mkfifo(inside / "pipe")
    with pytest.raises(ValueError, match="not a plain file"):
        from_onnx(saved(inside, with_data_at("pipe")))
    with pytest.raises(OSError, match="it is no plain file"):
        from_onnx(inside / "pipe")
    with pytest.raises(OSError, match="it is no plain file"):
        from_onnx("/dev/zero")


def test_reading_writes_nothing(folders):
    inside, outside = folders
    path = saved(inside, with_data_at("../outside/data.bin"))
    before = {f: f.read_bytes() for f in (*inside.iterdir(), *outside.iterdir())}
    with pytest.raises(ValueError, match="leads out of the folder"):
        from_onnx(path)
    assert before == {f: f.read_bytes() for f in (*inside.iterdir(), *outside.iterdir())}
