"""Networks of CoreML, written by hand, against NumPy. `make operators-by-framework FRAMEWORK=coreml` has all layers."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases._caffe_net import values
from framework_cases._wire import message

RGB, FLOAT32 = 20, 65568
CONVOLUTION, INNER_PRODUCT, ACTIVATION, SOFTMAX, ADD = 100, 140, 130, 175, 230


def array(name, *shape):
    return message((1, name), (3, message((5, message((1, np.array(shape, "int64")), (2, FLOAT32))))))


def image(name, height, width):
    return message((1, name), (3, message((4, message((1, width), (2, height), (3, RGB))))))


def layer(name, kind, parameters=b"", inputs=("x",), outputs=("y",)):
    return message((1, name), *[(2, one) for one in inputs], *[(3, one) for one in outputs], (kind, parameters))


def model(inputs, layers, outputs=("y",), kind=500, network=(), more=()):
    description = message(
        *[(1, one) for one in inputs], *[(10, one if isinstance(one, bytes) else array(one, 1)) for one in outputs]
    )
    return message((1, 3), (2, description), *more, (kind, message(*[(1, one) for one in layers], *network)))


def weights(value):
    return message((1, np.asarray(value, "float32")))


def linear(w, b, **names):
    numbers = message((1, w.shape[1]), (2, w.shape[0]), (10, True), (20, weights(w)), (21, weights(b)))
    return layer("fc", INNER_PRODUCT, numbers, **names)


W, B = values(3, 4), values(3, seed=1)


def small():
    """A linear layer and an activation."""
    relu = layer("relu", ACTIVATION, message((10, b"")), ["h"], ["y"])
    return model([array("x", 2, 4)], [linear(W, B, outputs=["h"]), relu])


def by_hand(x):
    return np.maximum(x @ W.T + B, 0)


def run(imported, *inputs):
    mod, params = imported
    return relay.create_executor("graph", mod).evaluate()(*inputs, **params).numpy()


def test_weights_are_parameters_and_messages_are_taken():
    class Model:
        def __init__(self, data):
            self.SerializeToString = lambda: data

    class MLModel:
        def get_spec(self):
            return Model(small())

    x = values(2, 4)
    mod, params = relay.frontend.from_coreml(MLModel())
    assert sorted(map(str, params)) == ["fc_bias", "fc_weights"]
    np.testing.assert_allclose(run((mod, params), x), by_hand(x), rtol=1e-5, atol=1e-6)
    five = values(5, 4)
    np.testing.assert_allclose(
        run(relay.frontend.from_coreml(small(), {"x": (5, 4)}), five), by_hand(five), rtol=1e-5, atol=1e-6
    )


def test_a_file_is_known_by_its_content(tmp_path):
    path = tmp_path / "network"
    path.write_bytes(small())
    mod, params, form = tessera.get_global_func("frontend.load_model")(str(path), "", {}, "")
    assert form == "coreml" and not params
    x = values(2, 4)
    np.testing.assert_allclose(run((mod, {}), x), by_hand(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(run(relay.frontend.from_coreml(path), x), by_hand(x), rtol=1e-5, atol=1e-6)


def test_a_classifier_gives_its_probabilities_and_scales_images():
    scaler = message((1, "x"), (10, message((10, 0.5), (20, 3.0), (21, 2.0), (22, 1.0))))
    flat = layer("flat", 301, b"", ["x"], ["v"])
    w = values(3, 3 * 2 * 2)
    layers = [flat, linear(w, B, inputs=["v"], outputs=["h"]), layer("soft", SOFTMAX, b"", ["h"], ["p"])]
    labels = message((1, "classProbability"), (3, message((6, b""))))
    network = [(2, scaler), (200, "p")]
    data = model([image("x", 2, 2)], layers, [labels], 403, network)
    x = values(1, 3, 2, 2)
    scores = (0.5 * x + np.array([1, 2, 3], "float32")[:, None, None]).reshape(1, -1) @ w.T + B
    want = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(run(relay.frontend.from_coreml(data), x), want, rtol=1e-5, atol=1e-6)


def test_a_layer_may_write_over_what_it_reads():
    twice = layer("one", ADD, message((1, 1.0)), ["x"], ["x2"]), layer("copy", 600, b"", ["x2"], ["x"])
    data = model([array("x", 3)], [*twice, layer("two", ADD, b"", ["x", "x2"], ["y"])])
    x = values(3)
    np.testing.assert_allclose(run(relay.frontend.from_coreml(data), x), 2 * (x + 1), rtol=1e-6)


def ints(*values):
    return np.array(values, "int64")


def erf(x):
    return np.vectorize(math.erf)(x)


X, Y = values(2, 3, 4) + np.float32(1.5), values(2, 3, 4, seed=1) + np.float32(1.5)
NORM = message((1, ints(3, 4)), (2, 1e-3), (3, weights(values(3, 4))), (4, weights(values(3, 4, seed=1))))
LAYERS = [
    (880, b"", [X, Y[:, :1]], X + Y[:, :1]),
    (890, b"", [X, Y], X / Y),
    (895, b"", [X, Y], np.floor(X / Y)),
    (865, b"", [X, Y], np.mod(X, Y)),
    (885, b"", [X, Y], X**Y),
    (830, b"", [X, Y], (X > Y).astype("float32")),
    (825, message((2, 1.5)), [X], (X < 1.5).astype("float32")),
    (850, b"", [np.float32([0, 1, 2])], np.float32([1, 0, 0])),
    (845, b"", [np.float32([0, 1, 2]), np.float32([0, 0, 3])], np.float32([0, 1, 0])),
    (660, message((1, 1.0), (2, 2.0)), [X], np.clip(X, 1, 2)),
    (1460, message((1, 0.5), (2, 1.0)), [X - 2], np.minimum(np.where(X - 2 > 0, X - 2, (X - 2) / 2), 1)),
    (700, b"", [X], 2**X),
    (790, b"", [X], erf(X)),
    (795, b"", [X], X * (1 + erf(X / np.sqrt(2))) / 2),
    (795, message((1, 2)), [X], X / (1 + np.exp(-1.702 * X))),
    (985, message((1, ints(2, 0, 1))), [X], X.transpose(2, 0, 1)),
    (1140, message((1, ints(4, -1))), [X], X.reshape(4, 6)),
    (1150, message((1, ints(0, -1, 2))), [X], X.reshape(2, 6, 2)),
    (1130, message((1, 1)), [X], X.reshape(2, 12)),
    (1125, message((1, ints(0, 2))), [X], X[None, :, None]),
    (1120, message((1, ints(1))), [X[:, :1]], X[:, 0]),
    (980, message((1, -2)), [X, Y], np.concatenate([X, Y], 1)),
    (925, message((1, 1)), [X, Y], np.stack([X, Y], 1)),
    (950, message((1, 1)), [X], np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    (1045, message((2, True)), [X, Y], X @ Y.transpose(0, 2, 1)),
    (
        1045,
        message((5, 4), (6, 2), (7, True), (8, weights(values(4, 2))), (9, weights(values(2)))),
        [X],
        X @ values(4, 2) + values(2),
    ),
    (
        1350,
        NORM,
        [X],
        (X - X.mean((1, 2), keepdims=True)) / np.sqrt(X.var((1, 2), keepdims=True) + 1e-3) * values(3, 4)
        + values(3, 4, seed=1),
    ),
    (1040, message((1, 5), (2, 3), (20, weights(values(3, 5)))), [np.float32([[4], [0]])], values(3, 5).T[[4, 0]]),
    (930, message((1, 1)), [X, np.float32([2, 0])], X[:, [2, 0]]),
    (960, message((1, ints(0, 1, 0))), [X], X[:, ::-1]),
    (1155, message((1, 9.0), (2, ints(0, 0, 1, 2, 0, 3))), [X], np.pad(X, ((0, 0), (1, 2), (0, 3)), constant_values=9)),
    (920, message((1, ints(2, 1, 3))), [X], np.tile(X, (2, 1, 3))),
    (1280, message((1, ints(1)), (2, True)), [X], X.mean(1, keepdims=True)),
    (1285, message((3, True)), [X], np.log(X.sum())),
    (1295, message((1, ints(-1))), [X], np.log(np.exp(X).sum(-1))),
    (1025, message((1, 1), (2, True)), [X], X.argmax(1).astype("float32")),
    (
        1330,
        b"",
        [np.float32([1, 0, 2])[None, :, None], X, Y],
        np.where(np.array([True, False, True])[None, :, None], X, Y),
    ),
    (
        995,
        message(
            (1, ints(0, -1, 1)),
            (2, ints(1, 0, 0)),
            (3, ints(0, 0, 4)),
            (4, ints(1, 0, 0)),
            (5, ints(1, 1, 2)),
            (6, ints(0, 1, 0)),
        ),
        [X],
        X[:, -1, 1:4:2],
    ),
    (1455, message((1, 2)), [X], X.cumsum(2)),
    (1450, message((1, 4), (2, -1), (3, 2.0), (4, 1.0)), [np.float32([0, 3])], np.eye(4, dtype="float32")[[0, 3]] + 1),
    (1070, message((1, ints(2, 2)), (2, weights(values(2, 2)))), [], values(2, 2)),
    (1085, message((1, 3.0), (2, ints(2, 2))), [], np.full((2, 2), 3, "float32")),
]


@pytest.mark.parametrize(
    ("kind", "numbers", "inputs", "want"), LAYERS, ids=[f"{i}_{row[0]}" for i, row in enumerate(LAYERS)]
)
def test_layers_of_tensors_of_any_rank(kind, numbers, inputs, want):
    names = [f"in{i}" for i in range(len(inputs))]
    arrays = [array(name, *value.shape) for name, value in zip(names, inputs, strict=True)]
    data = model(arrays, [layer("l", kind, numbers, names)], network=[(5, 1)])
    got = run(relay.frontend.from_coreml(data), *[np.asarray(one, "float32") for one in inputs])
    assert got.dtype == np.float32 and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_everything_that_is_unsupported_is_listed_at_once():
    layers = [layer("one", 615, b"", ["x"], ["h"]), layer("two", 500, b"", ["h"], ["y"])]
    error = "not supported for frontend CoreML: custom, loop\n  in node loop one\n  in node custom two"
    with pytest.raises(tessera.error.OpNotImplemented, match=error):
        relay.frontend.from_coreml(model([array("x", 3)], layers))


def one(kind, parameters=b"", shape=(1, 3, 4, 4), inputs=("x",)):
    return model([array("x", *shape)], [layer("l", kind, parameters, inputs)])


def conv(*fields):
    return one(CONVOLUTION, message((1, 2), (2, 3), (20, np.array([3, 3])), *fields))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x08\x03\x12", "damaged: the data ends in the middle of a field"),
        (message((1, 3)), "has no neural network"),
        (message((1, 3), (502, b"")), "of the kind mlProgram; neural networks are supported"),
        (model([array("x", 3)], [message((1, "l"), (3, "y"))]), "the layer l is of no kind"),
        (one(ADD, inputs=["z"]), "the layer l reads z, which no layer before it makes"),
        (model([array("x", 1 << 40)], []), "the input x has an impossible shape"),
        (conv((90, weights(np.zeros(5)))), "l_weights has 5 numbers; its shape says 54"),
        (conv((90, weights([])), (1, -1)), "l_weights has an impossible shape"),
        (conv((30, np.array([0, 1])), (90, weights(np.zeros(54)))), "stride must be above zero"),
        (conv((30, np.array([1])), (90, weights(np.zeros(54)))), "stride must have two numbers"),
        (conv((90, message((2, b"abc")))), "an odd number of bytes"),
        (
            conv((90, message((30, b"abc"), (40, message((1, 8)))))),
            "l_weights has 3 bytes; 54 numbers of 8 bits need 54",
        ),
        (conv((90, message((30, b"abc"), (40, message((1, 80)))))), "weights of 80 bits"),
        (
            conv((90, message((30, bytes(7)), (40, message((1, 1), (102, weights([1]))))))),
            "a table of 2 numbers is needed",
        ),
        (
            conv((90, message((30, bytes(54)), (40, message((1, 8), (101, weights([1, 2, 3]))))))),
            "3 scales or biases for 2 channels",
        ),
        (one(120, message((10, np.array([1 << 40, 1])))), "kernelSize is"),
        (one(210, message((1, np.array([1 << 30, 1])))), "a scale is"),
        (one(330, message((1, 0))), "cannot be split into 0 parts"),
        (one(350, message((1, 2), (2, 1), (3, 1))), "the slice lies outside of the data"),
        (one(310, message((1, np.array([0, 1, 2, 9])))), "an axis is 9"),
        (one(190, message((1, message((10, message((1, 9))), (10, b""))))), "the crop lies outside of the data"),
        (one(180, message((3, 0))), "localSize is 0"),
        (one(140, message((1, 5), (2, 3), (20, weights(np.zeros(15))))), "nn.dense|reshape"),
        (one(ACTIVATION), "an activation of this kind"),
        (model([message((1, "x"), (3, message((5, b""))))], []), "does not say the shape of its input x"),
    ],
)
def test_networks_that_make_no_sense_are_errors(data, error):
    with pytest.raises((tessera.error.TVMError, ValueError), match=error):
        relay.frontend.from_coreml(data)
