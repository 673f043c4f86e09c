"""Small files of TensorFlow and TFLite (tests/frameworks/tensorflow/export_tiny.py) answer as they did there; damaged ones are
rejected."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import relay
from tessera.driver import tvmc
from tessera.error import TVMError

FOLDER = Path(__file__).resolve().parents[2] / "frameworks" / "tiny_tensorflow"
MODELS = sorted(path for path in FOLDER.iterdir() if path.suffix != ".npz")
OUTPUTS = {"frames.pb": ["out"], "operators.pb": [f"out{i}" for i in range(5)]}


def load(path):
    if path.suffix == ".tflite":
        return relay.frontend.from_tflite(path)
    return relay.frontend.from_tensorflow(path, outputs=OUTPUTS.get(path.name))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_a_small_file_answers_as_in_tensorflow(path):
    data = np.load(path.with_suffix("").with_suffix(".npz"))
    inputs = [data[name] for name in data if name.startswith("in.")]
    want = [data[f"out.{i}"] for i in range(len(data) - len(inputs))]
    mod, params = load(path)
    result = relay.create_executor("vm", mod=mod, device=tvm.cpu(), target="llvm", params=params).evaluate()(*inputs)
    got = [result] if hasattr(result, "numpy") else list(result)
    assert len(got) == len(want)
    for g, w in zip(got, want):
        g = g.numpy()
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        # Quantised: the rounding of one step at most.
        atol = 1 if w.dtype.kind == "i" else 1e-4 * np.abs(w).max()
        np.testing.assert_allclose(g.astype("float64"), w.astype("float64"), rtol=0, atol=atol)


def test_there_are_small_files_of_each_kind():
    assert {path.suffix for path in MODELS} == {".tflite", ".pb", ".saved_model"}


def test_quantised_models_stay_in_integers():
    mod, params = relay.frontend.from_tflite(FOLDER / "network_int8.tflite")
    text = str(mod)
    assert "qnn.conv2d" in text and "qnn.dense" in text and "qnn.requantize" in text
    assert {str(value.dtype) for value in params.values()} <= {"int8", "int32"}


def test_sums_of_integers_are_rounded_once():
    data = np.load(FOLDER / "sums_int8.npz")
    inputs = [data["in.a"], data["in.b"]]
    step = lambda scale: np.float64(np.float32(scale))
    a, b = (inputs[0].astype("float64") - 5) * step(0.037), (inputs[1].astype("float64") + 9) * step(0.021)
    means = (inputs[0].astype("float64") - 5).mean(1, keepdims=True)  # a quarter of them lies between two integers
    want = [
        ((a + b) / step(0.049), 3),
        ((a - b) / step(0.045), -4),
        (means, 5),
        (b.mean(1, keepdims=True) / step(0.013), 11),
        (b.sum(1) / step(0.05), -20),
    ]
    mod, params = load(FOLDER / "sums_int8.tflite")
    got = relay.create_executor("graph", mod=mod, device=tvm.cpu(), target="llvm", params=params).evaluate()(*inputs)
    for result, (real, zero) in zip(got, want, strict=True):
        whole = np.clip(np.trunc(real + np.copysign(0.5, real)) + zero, -128, 127)
        np.testing.assert_array_equal(result.numpy(), whole)


def test_formats_are_known_by_content(tmp_path):
    for name in ("network_float.tflite", "network.pb"):
        copy = tmp_path / "model.bin"
        copy.write_bytes((FOLDER / name).read_bytes())
        model = tvmc.load(copy)
        assert "main" in [str(var.name_hint) for var in model.mod.get_global_vars()]
    assert tvmc.load(FOLDER / "recurrent.saved_model").mod is not None


def test_inputs_get_other_shapes_by_name():
    mod, _ = relay.frontend.from_tflite(
        FOLDER / "network_float.tflite", {"serving_default_keras_tensor:0": (1, 8, 8, 3)}
    )
    assert [int(e) for e in mod["main"].params[0].type_annotation.shape] == [1, 8, 8, 3]
    mod, _ = relay.frontend.from_tensorflow(FOLDER / "network.pb", shape={"x": (4, 8, 8, 3)})
    assert int(relay.transform.InferType()(mod)["main"].ret_type.shape[0]) == 4


def test_channels_first_is_computed_between_transposes():
    mod, params = relay.frontend.from_tensorflow(FOLDER / "network.pb", "NCHW", {"x": (1, 8, 8, 3)})
    assert 'data_layout="NHWC"' not in str(mod) and "nn.conv2d" in str(mod)
    data = np.load(FOLDER / "network.npz")
    lib = relay.build(mod, "llvm", params=params)
    got = tvm.Model(lib).run({"x": data["in.x"]})[0].numpy()
    np.testing.assert_allclose(got, data["out.0"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["network_int8.tflite", "loop.tflite", "frames.pb", "network.pb"])
def test_damaged_files_are_rejected_or_read(name):
    content = (FOLDER / name).read_bytes()
    load_bytes = relay.frontend.from_tflite if name.endswith("tflite") else relay.frontend.from_tensorflow
    rng = np.random.default_rng(0)
    rejected = 0
    for i in range(60):
        damaged = bytearray(content[: rng.integers(0, len(content))] if i % 2 else content)
        for at in rng.integers(0, max(len(damaged), 1), 4) if damaged else []:
            damaged[at] = rng.integers(0, 256)
        try:
            load_bytes(bytes(damaged))
        except (TVMError, ValueError, TypeError, NotImplementedError) as error:
            assert "InternalError" not in type(error).__name__
            rejected += 1
    assert rejected > 20


def varint(number):
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def table_of_variables(entries):
    """A table with one block: of each entry how much of its key it shares with the last one, the rest, and its value."""
    block = b"".join(varint(a) + varint(len(b)) + varint(len(c)) + b + c for a, b, c in entries) + bytes(4)
    where = varint(0) + varint(len(block))
    index = varint(0) + varint(1) + varint(len(where)) + b"z" + where + bytes(4)
    footer = varint(0) + varint(0) + varint(len(block) + 5) + varint(len(index))
    magic = 0xDB4775248B80FB57.to_bytes(8, "little")
    return block + bytes(5) + index + bytes(5) + footer.ljust(40, b"\0") + magic


@pytest.mark.parametrize(
    "table, words",
    [
        (b"", "its table is too short"),
        (bytes(100), "its table does not end as one does"),
        (table_of_variables([(3, b"", b"")]), "a key shares more than there is"),
        (table_of_variables([(0, b"key", b"\x12\x7f")]), "an entry of its table cannot be read"),
        (table_of_variables([(i, b"k", b"") for i in range(12_000)]), "its table unpacks to more than 64 MiB"),
        (table_of_variables([(0, b"key", b"")]), r"has no variable .* in its table of 1 entries"),
    ],
)
def test_damaged_tables_of_variables_are_rejected(tmp_path, table, words):
    model = tmp_path / "model"
    shutil.copytree(FOLDER / "recurrent.saved_model", model)
    (model / "variables" / "variables.index").write_bytes(table)
    with pytest.raises(ValueError, match=words):
        relay.frontend.from_tensorflow(model)


def test_a_file_of_something_else_says_so():
    with pytest.raises(ValueError, match="this is no TFLite model, or it is damaged: it does not carry the mark TFL3"):
        relay.frontend.from_tflite(b"not a model at all")
    with pytest.raises(ValueError, match="this is no TensorFlow graph, or it is damaged"):
        relay.frontend.from_tensorflow(b"\x00\x01\x02")


def test_a_saved_model_names_its_signatures():
    with pytest.raises(TVMError, match="has no signature"):
        relay.frontend.tensorflow.import_graph(FOLDER / "recurrent.saved_model", None, None, None, "missing")


def test_the_parser_of_v0_10_finds_the_graph():
    parse = relay.frontend.tensorflow_parser.TFParser
    mod, _ = relay.frontend.from_tensorflow(parse(FOLDER / "recurrent.saved_model").parse())
    assert len(mod["main"].body.fields if hasattr(mod["main"].body, "fields") else []) == 2
    mod, _ = relay.frontend.tensorflow2.from_tensorflow(parse(FOLDER / "network.pb").parse())
    assert str(mod["main"].params[0].name_hint) == "x"
    with pytest.raises(RuntimeError, match="there is no TensorFlow model at"):
        parse(FOLDER / "nowhere").parse()
