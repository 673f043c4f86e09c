"""Model files of any format as Relay: what the command line and tvmc read."""

import numpy as np
import pytest
import tessera
from tessera import relay

load = tessera.get_global_func("frontend.load_model")
parse_shapes = tessera.get_global_func("frontend.parse_input_shapes")
guess = tessera.get_global_func("frontend.guess_model_format")

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 8), float32], %w: Tensor[(4, 8), float32], %n: Tensor[(4), int32]) {
  add(nn.dense(%x, %w, units=None), cast(%n, dtype="float32"))
}
"""


@pytest.fixture
def dense(tmp_path):
    path = tmp_path / "dense.relay"
    path.write_text(DENSE)
    return str(path)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x:[1,3,224,224]", {"x": [1, 3, 224, 224]}),
        ("a:[1, 2] b:[3]", {"a": [1, 2], "b": [3]}),
        ("model/input:0:[1,8]", {"model/input:0": [1, 8]}),
        (" x : [ 5 , 6 ] ", {"x": [5, 6]}),
        ("scalar:[]", {"scalar": []}),
    ],
)
def test_shapes_are_read_as_tvmc_does(text, shapes):
    found = parse_shapes(text)
    assert {str(name): [int(extent) for extent in shape] for name, shape in found.items()} == shapes


def test_minus_one_leaves_an_extent_dynamic():
    assert [type(extent).__name__ for extent in parse_shapes("x:[-1,3]")["x"]] == ["Any", "IntImm"]


@pytest.mark.parametrize(
    "text", ["", "x", "x:1,2", "x:[1,2", ":[1]", "x:[1;2]", "x:[-2]", "x:[1] x:[2]", "a b:[1]", "x:[1] y"]
)
def test_other_texts_are_no_shapes(text):
    with pytest.raises(ValueError, match="must be of the form"):
        parse_shapes(text)


def test_parameters_of_a_relay_text_are_inputs(dense):
    mod, params, form = load(dense, "", {}, "")
    assert [param.name_hint for param in mod["main"].params] == ["x", "w", "n"]
    assert len(params) == 0 and form == "relay"


def test_with_shapes_the_other_parameters_are_weights_that_are_always_the_same(dense):
    mod, params, _ = load(dense, "", {"x": [2, 8]}, "")
    assert list(mod["main"].params[0].checked_type.shape) == [2, 8]
    assert sorted(params) == ["n", "w"]
    again = load(dense, "", {"x": [2, 8]}, "")[1]
    for name in ("n", "w"):
        np.testing.assert_array_equal(params[name].numpy(), again[name].numpy())
    assert params["w"].numpy().std() > 0.1 and set(params["n"].numpy()) <= set(range(10))


def test_a_shape_for_no_input_is_an_error_that_names_the_inputs(dense):
    with pytest.raises(ValueError, match='no input "y".*x, w, n'):
        load(dense, "", {"y": [1]}, "")


def test_a_shape_that_does_not_fit_is_an_error_of_types(dense):
    with pytest.raises(tessera.TVMError, match="8"):
        load(dense, "", {"x": [2, 9]}, "")


def test_formats_are_guessed_by_name_and_by_what_archives_hold(tmp_path, dense):
    assert guess(dense) == "relay" and guess("a/b.c/net.onnx") == "onnx" and guess("net.h5") == "keras"
    assert guess("net.keras") == "keras" and guess("net.pt") == guess("net.pth") == "pytorch"
    with pytest.raises(ValueError, match="--model-format"):
        guess("net.bin")
    with pytest.raises(ValueError, match="--model-format"):
        guess("no.suffix/net")
    with pytest.raises(ValueError, match='no model format "cobol"'):
        load(dense, "cobol", {}, "")
    with pytest.raises(OSError, match="it is a folder"):
        load(str(tmp_path), "onnx", {}, "")


def test_a_text_without_main_is_no_model(tmp_path):
    (tmp_path / "a.relay").write_text('#[version = "0.0.5"]\ndef @other() { 1f }\n')
    with pytest.raises(ValueError, match='no Relay function "main"'):
        load(str(tmp_path / "a.relay"), "", {}, "")


def test_a_saved_model_is_loaded_and_a_compiled_one_is_told_apart(tmp_path):
    from tessera.driver import tvmc

    x = relay.var("x", shape=(2, 3))
    w = relay.var("w", shape=(3,))
    model = tvmc.TVMCModel(
        tessera.IRModule.from_expr(relay.Function([x, w], x * w)),
        {"w": tessera.nd.array(np.arange(3, dtype="float32"))},
    )
    model.save(str(tmp_path / "model.tar"))
    assert guess(str(tmp_path / "model.tar")) == "model"
    mod, params, form = load(str(tmp_path / "model.tar"), "", {}, "")
    assert form == "model" and len(mod["main"].params) == 2
    np.testing.assert_array_equal(params["w"].numpy(), [0, 1, 2])
    tvmc.compile(model, target="llvm", package_path=str(tmp_path / "m.tar"))
    with pytest.raises(ValueError, match="compiled model already"):
        load(str(tmp_path / "m.tar"), "", {}, "")
