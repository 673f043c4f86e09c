"""Keras models from their configuration and weights, against NumPy. `make test-frameworks FRAMEWORK=keras` asks Keras itself."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

import_config = tessera.get_global_func("frontend.keras.import_config")
random = np.random.default_rng(0)


def tensor(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


def layer(kind, name, inbound=None, **config):
    return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": inbound or []}


def sequential(*layers, shape):
    first = layer("InputLayer", "x", batch_shape=shape)
    return {"class_name": "Sequential", "config": {"name": "model", "layers": [first, *layers]}, "keras_version": "3.0"}


def functional(*layers, inputs, outputs):
    config = {"name": "model", "layers": list(layers), "input_layers": inputs, "output_layers": outputs}
    return {"class_name": "Functional", "config": config, "keras_version": "2.15"}


def load(model, weights, layout="NHWC", shapes=None):
    held = {name: [tessera.nd.array(one) for one in values] for name, values in weights.items()}
    return import_config(json.dumps(model), held, layout, shapes or {})


def run(model, weights, *inputs, layout="NHWC"):
    mod, params = load(model, weights, layout)
    out = relay.create_executor("graph", mod).evaluate()(*inputs, **params)
    return [one.numpy() for one in out] if isinstance(out, (list, tuple)) or hasattr(out, "fields") else out.numpy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_layers_of_a_sequence_follow_each_other():
    x, kernel, bias = tensor(2, 3), tensor(3, 4), tensor(4)
    model = sequential(layer("Dense", "one", activation="relu"), layer("Dropout", "two", rate=0.5), shape=[2, 3])
    np.testing.assert_allclose(run(model, {"one": [kernel, bias]}, x), np.maximum(x @ kernel + bias, 0), rtol=1e-5)


def test_weights_are_parameters_by_the_name_of_their_layer():
    mod, params = load(sequential(layer("Dense", "one"), shape=[None, 3]), {"one": [tensor(3, 4), tensor(4)]})
    assert [param.name_hint for param in mod["main"].params] == ["x", "one.0", "one.1"]
    assert sorted(map(str, params)) == ["one.0", "one.1"]
    assert [int(extent) for extent in mod["main"].params[0].type_annotation.shape] == [1, 3]


def conv_by_hand(x, kernel):
    rows, columns = x.shape[1] - kernel.shape[0] + 1, x.shape[2] - kernel.shape[1] + 1
    out = np.zeros((x.shape[0], rows, columns, kernel.shape[3]), "float32")
    for i in range(rows):
        for j in range(columns):
            out[:, i, j] = np.tensordot(x[:, i : i + kernel.shape[0], j : j + kernel.shape[1]], kernel, 3)
    return out


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_the_layout_says_where_channels_of_inputs_and_outputs_lie(layout):
    x, kernel = tensor(1, 5, 6, 2), tensor(3, 3, 2, 4)
    model = sequential(
        layer("Conv2D", "conv", use_bias=False, activation="relu"),
        layer("BatchNormalization", "norm", axis=[3], scale=False),
        shape=[None, 5, 6, 2],
    )
    beta, mean, variance = tensor(4), tensor(4), np.abs(tensor(4)) + 0.5
    expected = (np.maximum(conv_by_hand(x, kernel), 0) - mean) / np.sqrt(variance + 1e-3) + beta
    if layout == "NCHW":
        mod, params = load(model, {"conv": [kernel], "norm": [beta, mean, variance]}, layout, {"x": [1, 2, 5, 6]})
        out = relay.create_executor("graph", mod).evaluate()(x.transpose(0, 3, 1, 2), **params).numpy()
        assert mod.astext().count("transpose(") == 1  # the kernel's
        expected = expected.transpose(0, 3, 1, 2)
    else:
        out = run(model, {"conv": [kernel], "norm": [beta, mean, variance]}, x)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


def test_rows_flatten_in_the_order_of_keras_whatever_the_layout():
    x, kernel = tensor(1, 3, 3, 2), tensor(1, 1, 2, 4)
    model = sequential(layer("Conv2D", "conv", use_bias=False), layer("Flatten", "flat"), shape=[None, 3, 3, 2])
    mod, params = load(model, {"conv": [kernel]}, "NCHW", {"x": [1, 2, 3, 3]})
    out = relay.create_executor("graph", mod).evaluate()(x.transpose(0, 3, 1, 2), **params).numpy()
    np.testing.assert_allclose(out, conv_by_hand(x, kernel).reshape(1, -1), rtol=1e-5)


@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize(("size", "stride"), [(3, 2), (2, 3)])
def test_transposed_convolutions_are_as_long_as_keras_says(padding, size, stride):
    x, kernel = tensor(1, 4, 2), tensor(size, 3, 2)
    model = sequential(
        layer("Conv1DTranspose", "up", use_bias=False, strides=[stride], padding=padding), shape=[None, 4, 2]
    )
    whole = np.zeros((1, 3 * stride + max(size, stride), 3), "float32")
    for i in range(4):
        for k in range(size):
            whole[:, i * stride + k] += x[:, i] @ kernel[k].T
    if padding == "same":
        start = max(size - stride, 0) // 2
        whole = whole[:, start : start + 4 * stride]
    np.testing.assert_allclose(run(model, {"up": [kernel]}, x), whole, rtol=1e-4, atol=1e-6)


def lstm_by_hand(x, kernel, recurrent, bias, units):
    h = c = np.zeros((x.shape[0], units), "float32")
    steps = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps, 1), h, c


def test_lstm_gives_its_states_where_they_are_asked_for():
    x, weights = tensor(2, 4, 3), [tensor(3, 20), tensor(5, 20), tensor(20)]
    config = {"units": 5, "return_sequences": True, "return_state": True}
    model = functional(
        layer("InputLayer", "x", batch_input_shape=[2, 4, 3]),
        layer("LSTM", "rnn", [[["x", 0, 0, {}]]], **config),
        inputs=[["x", 0, 0]],
        outputs=[["rnn", 0, 0], ["rnn", 0, 1], ["rnn", 0, 2]],
    )
    for out, expected in zip(run(model, {"rnn": weights}, x), lstm_by_hand(x, *weights, 5), strict=True):
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-6)


def test_a_bidirectional_layer_reads_both_ways():
    x, weights = tensor(1, 4, 3), [tensor(3, 8), tensor(2, 8), tensor(8), tensor(3, 8), tensor(2, 8), tensor(8)]
    inner = {"class_name": "LSTM", "config": {"name": "rnn", "units": 2, "return_sequences": True}}
    model = sequential(layer("Bidirectional", "both", layer=inner, merge_mode="concat"), shape=[1, 4, 3])
    forward = lstm_by_hand(x, *weights[:3], 2)[0]
    backward = lstm_by_hand(x[:, ::-1], *weights[3:], 2)[0][:, ::-1]
    np.testing.assert_allclose(
        run(model, {"both": weights}, x), np.concatenate([forward, backward], 2), rtol=1e-4, atol=1e-6
    )


def test_shared_layers_and_models_inside_are_written_out_at_each_call():
    kernel = tensor(3, 3)
    inner = functional(
        layer("InputLayer", "a", batch_input_shape=[None, 3]),
        layer("Dense", "dense", [[["a", 0, 0, {}]]], use_bias=False),
        inputs=[["a", 0, 0]],
        outputs=[["dense", 0, 0]],
    )
    shared = {**inner, "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]], [["y", 0, 0, {}]]]}
    shared["config"]["name"] = "inner"
    model = functional(
        layer("Subtract", "minus", [[["inner", 0, 0, {}], ["inner", 1, 0, {}]]]),  # before what makes its inputs
        layer("InputLayer", "y", batch_input_shape=[1, 3]),
        shared,
        layer("InputLayer", "x", batch_input_shape=[1, 3]),
        inputs=[["x", 0, 0], ["y", 0, 0]],
        outputs=[["minus", 0, 0]],
    )
    x, y = tensor(1, 3), tensor(1, 3)
    np.testing.assert_allclose(run(model, {"inner/dense": [kernel]}, x, y), (x - y) @ kernel, rtol=1e-4, atol=1e-6)


def test_calls_of_keras_3_have_their_tensors_among_the_arguments():
    def tensor_of(name):
        return {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": [name, 0, 0]}}

    model = functional(
        layer("InputLayer", "x", batch_shape=[None, 3]),
        {
            **layer("Add", "plus", [{"args": [tensor_of("x"), 2.0], "kwargs": {}}]),
            "module": "keras.src.ops.numpy",
        },
        layer("Add", "twice", [{"args": [[tensor_of("x"), tensor_of("plus")]], "kwargs": {}}]),
        inputs=[["x", 0, 0]],
        outputs=[["twice", 0, 0]],
    )
    x = tensor(1, 3)
    np.testing.assert_allclose(run(model, {}, x), 2 * x + 2, rtol=1e-5)


def test_a_layer_at_every_step():
    x, kernel = tensor(2, 3, 4), tensor(4, 5)
    inner = {"class_name": "Dense", "config": {"name": "dense", "units": 5, "use_bias": False}}
    model = sequential(layer("TimeDistributed", "steps", layer=inner), shape=[2, 3, 4])
    np.testing.assert_allclose(run(model, {"steps": [kernel]}, x), x @ kernel, rtol=1e-4, atol=1e-6)


def test_everything_that_is_unsupported_is_listed_at_once():
    model = sequential(layer("Dense", "fine"), layer("Wonder", "first"), layer("Marvel", "second"), shape=[1, 2])
    message = r"not supported for frontend Keras: Marvel, Wonder\n  in node Wonder first\n  in node Marvel second"
    with pytest.raises(tessera.error.OpNotImplemented, match=message):
        load(model, {"fine": [tensor(2, 2), tensor(2)]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["config"].update(output_layers=[["absent", 0, 0]]), "nothing makes the output absent:0:0"),
        (lambda m: m["config"]["layers"][1].update(inbound_nodes=[[["a", 0, 0, {}]]]), "in a circle"),
        (
            lambda m: m["config"]["layers"][1].update(inbound_nodes=[[["b", 0, 0, {}]]]),
            "takes b:0:0, which nothing makes",
        ),
        (lambda m: m["config"]["layers"][1]["config"].update(units=[]), "weight 0 is missing"),
        (lambda m: m.update(class_name="Mine"), "only Sequential and Functional models"),
        (lambda m: m["config"].update(output_layers=7), "must be a layer's name"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_an_error(change, message):
    model = functional(
        layer("InputLayer", "x", batch_input_shape=[1, 2]),
        layer("Dense", "a", [[["x", 0, 0, {}]]]),
        inputs=[["x", 0, 0]],
        outputs=[["a", 0, 0]],
    )
    change(model)
    with pytest.raises((tessera.error.TVMError, ValueError), match=message):
        load(model, {})


CORPUS = Path(__file__).resolve().parents[2] / "fuzz" / "corpus" / "keras_file"


def small_by_hand(x):
    """What the models in the corpus compute; weight number n is (0, 1, 2, ... + n) / 10 - 0.5."""
    weights = [
        (np.arange(np.prod(shape)) + n).reshape(shape) / 10 - 0.5 for n, shape in enumerate([(4, 3), 3, (3, 2), 2])
    ]
    return np.maximum(x @ weights[0] + weights[1], 0) @ weights[2] + weights[3]


@pytest.mark.parametrize("name", ["small.keras", "small.h5"])
def test_files_are_read_without_keras_and_known_by_their_content(name, tmp_path):
    path = tmp_path / "model"
    path.write_bytes((CORPUS / name).read_bytes())
    mod, params, form = tessera.get_global_func("frontend.load_model")(str(path), "", {}, "")
    assert form == "keras" and not params
    x = tensor(1, 4)
    out = relay.create_executor("graph", mod).evaluate()(x).numpy()
    np.testing.assert_allclose(out, small_by_hand(x), rtol=1e-4, atol=1e-5)
    mod, params = relay.frontend.from_keras(str(path), {"x": (3, 4)})
    assert sorted(map(str, params)) == ["first.0", "first.1", "inner/second.0", "inner/second.1"]
    assert [int(extent) for extent in mod["main"].params[0].type_annotation.shape] == [3, 4]


def test_weights_are_found_by_the_name_of_a_layer_or_by_its_kind(tmp_path):
    """Of the layers in a file, some versions of Keras name the groups of weights by their kinds, others by their names."""
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(CORPUS / "small.keras") as given, zipfile.ZipFile(path, "w") as made:
        for member in given.namelist():
            content = given.read(member)
            if member == "model.weights.h5":
                at = content.index(b"dense\0", content.index(b"input_layer\0"))  # in the group of the outer model
                content = content[:at] + b"first" + content[at + 5 :]
            made.writestr(member, content)
    _, want = relay.frontend.from_keras(CORPUS / "small.keras", {"x": (3, 4)})
    _, params = relay.frontend.from_keras(path, {"x": (3, 4)})
    assert path.read_bytes() != (CORPUS / "small.keras").read_bytes() and "first.0" in map(str, params)
    for name, value in want.items():
        np.testing.assert_array_equal(params[name].numpy(), value.numpy())


@pytest.mark.parametrize("name", ["small.keras", "small.h5"])
def test_damaged_files_are_errors(name, tmp_path):
    whole = (CORPUS / name).read_bytes()
    path = tmp_path / name
    for size in range(0, len(whole) - 1, 1999):
        path.write_bytes(whole[:size])
        with pytest.raises((tessera.error.TVMError, ValueError, OSError)):
            relay.frontend.from_keras(path)


def test_shapes_of_unknown_inputs_are_an_error():
    with pytest.raises(ValueError, match='no input "y" to give a shape; its inputs are x'):
        load(sequential(layer("Dropout", "one"), shape=[1, 3]), {}, shapes={"y": [1, 3]})
