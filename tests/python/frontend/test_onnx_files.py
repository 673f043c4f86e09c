"""ONNX files that are damaged, forged or hostile give errors, and nothing outside the model's folder is read."""

import os

import numpy as np
import pytest
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


def test_a_truncated_file_is_refused_or_understood_at_every_length():
    data = simple().SerializeToString()
    refused = 0
    for length in range(len(data)):
        try:
            from_onnx(data[:length])
        except Exception as error:
            assert isinstance(error, (ValueError, TypeError, NotImplementedError, RuntimeError)), repr(error)
            refused += 1
    assert refused > len(data) // 2


def test_flipped_bits_never_crash():
    data = bytearray(simple().SerializeToString())
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            damaged[place] ^= 1 << int(rng.integers(8))
        try:
            from_onnx(bytes(damaged))
        except Exception as error:
            assert not isinstance(error, (MemoryError, SystemError)), repr(error)


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x00" * 100, b"\xff" * 100])
def test_other_files_are_refused(data):
    with pytest.raises(ValueError, match="no ONNX model"):
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
    with pytest.raises(NotImplementedError, match=r"Frobnicate.*Twist \(other\)"):
        from_onnx(unknown)


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
def test_paths_that_lead_elsewhere_are_refused(folders, location):
    inside, _ = folders
    with pytest.raises(ValueError, match="outside the file"):
        from_onnx(saved(inside, with_data_at(location)))


def test_links_are_refused(folders):
    inside, outside = folders
    (inside / "link.bin").symlink_to(outside / "data.bin")
    (inside / "sub").symlink_to(outside)
    os.link(outside / "data.bin", inside / "hard.bin")
    for location, why in (("link.bin", "symbolic link"), ("sub/data.bin", "link|directory"), ("hard.bin", "hard link")):
        with pytest.raises(ValueError, match=why):
            from_onnx(saved(inside, with_data_at(location)))


@pytest.mark.parametrize("more", [{"offset": 8}, {"length": 8}, {"offset": -4}, {"offset": "x"}, {"offset": 1 << 63}])
def test_wrong_places_in_the_data_are_refused(folders, more):
    inside, _ = folders
    with pytest.raises(ValueError, match="outside the file"):
        from_onnx(saved(inside, with_data_at("data.bin", **more)))


def test_a_model_in_memory_has_no_folder():
    with pytest.raises(ValueError, match="no folder"):
        from_onnx(with_data_at("data.bin"))
