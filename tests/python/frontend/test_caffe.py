"""Networks of Caffe, read without Caffe, against NumPy. `make operators-by-framework FRAMEWORK=caffe` asks OpenCV."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases._caffe_net import Net, values
from framework_cases._wire import message

WEIGHT, BIAS, GAMMA, BETA = values(4, 3, 1, 1), values(4, seed=1), values(4, seed=2), values(4, seed=3)
MEAN, VARIANCE = values(4, seed=4), np.abs(values(4, seed=5)) + 0.5


def small():
    """A pointwise convolution and, in place, its norm, its scale and its activation."""
    net = Net()
    net.input("data", 1, 3, 2, 2)
    net.layer("Convolution", "data", "c", "convolution_param { num_output: 4 kernel_size: 1 }", [WEIGHT, BIAS])
    net.layer("BatchNorm", "c", "c", "", [MEAN * 2, VARIANCE * 2, np.float32([2])])
    net.layer("Scale", "c", "c", "scale_param { bias_term: true }", [GAMMA, BETA])
    net.layer("ReLU", "c", "c", "relu_param { negative_slope: 0.25 }")
    return net


def small_by_hand(x):
    def channels(v):
        return v[:, None, None]

    out = np.einsum("oi,nihw->nohw", WEIGHT[:, :, 0, 0], x) + channels(BIAS)
    out = (out - channels(MEAN)) / np.sqrt(channels(VARIANCE) + 1e-5) * channels(GAMMA) + channels(BETA)
    return np.where(out > 0, out, out / 4)


def run(model, *inputs):
    mod, params = model
    return relay.create_executor("graph", mod).evaluate()(*inputs, **params).numpy()


def test_layers_that_write_over_what_they_read():
    net, x = small(), values(1, 3, 2, 2)
    mod, params = relay.frontend.from_caffe(net.model(), net.text(), {"data": (1, 3, 2, 2)}, {"data": "float32"})
    assert [str(v.name_hint) for v in mod["main"].params][:2] == ["data", "c_Convolution:0"]
    assert [str(name) for name in mod["main"].attrs["output_tensor_names"]] == ["c"] and "c_BatchNorm:1" in params
    np.testing.assert_allclose(run((mod, params), x), small_by_hand(x), rtol=1e-5, atol=1e-6)


def test_messages_are_taken_as_well():
    class Message:
        def __init__(self, data):
            self.SerializeToString = lambda: data

    layer = message((1, "p"), (2, "Power"), (3, "data"), (4, "p"), (122, message((1, 2.0), (3, 0.5))))
    shape = message((1, 1), (1, 4))  # not packed
    predict = Message(message((1, "net"), (3, "data"), (8, shape), (100, layer)))
    x = values(1, 4)
    model = relay.frontend.from_caffe(Message(b""), predict, {}, {})
    np.testing.assert_allclose(run(model, x), (x + 0.5) ** 2, rtol=1e-5)


@pytest.mark.parametrize("named", ["net.prototxt", "net.caffemodel", "layers.txt"])
def test_files_are_read_together_and_known_by_their_content(tmp_path, named):
    net, x = small(), values(1, 3, 2, 2)
    (tmp_path / ("layers.txt" if named == "layers.txt" else "net.prototxt")).write_text(net.text())
    (tmp_path / "net.caffemodel").write_bytes(net.model())
    mod, params, form = tessera.get_global_func("frontend.load_model")(str(tmp_path / named), "", {}, "")
    assert form == "caffe" and not params
    np.testing.assert_allclose(run((mod, {}), x), small_by_hand(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        run(relay.frontend.from_caffe(tmp_path / named), x), small_by_hand(x), rtol=1e-5, atol=1e-6
    )


def test_the_other_file_must_be_there(tmp_path):
    (tmp_path / "net.prototxt").write_text(small().text())
    with pytest.raises(FileNotFoundError, match=r"a caffemodel, must lie beside it, as net.caffemodel; no such file"):
        relay.frontend.from_caffe(tmp_path / "net.prototxt")
    for name in ("a.caffemodel", "b.caffemodel"):
        (tmp_path / name).write_bytes(small().model())
    with pytest.raises(FileNotFoundError, match=r"it is not clear which: a.caffemodel, b.caffemodel"):
        relay.frontend.from_caffe(tmp_path / "net.prototxt")


def test_text_in_all_its_forms_and_layers_of_old_files():
    text = """
    name: 'a ' "net"  # two texts are one
    input: "\\x64ata", input_dim: [1, 2, 0x3, 4];
    layers < name: "t" type: TANH bottom: "data" top: "t" include { phase: TEST } >
    layers { name: "loss" type: SOFTMAX_LOSS bottom: "t" top: "loss" include: { phase: TRAIN } }
    layers { name: "k" type: 5 bottom: "t" top: "u" exclude { phase: TEST not_stage: "x" } }
    layers { name: "p" type: 26 bottom: "t" top: "p" power_param { power: 2. scale: -1e0f shift: +0.5 } new_field: -inf }
    """
    x = values(1, 2, 3, 4)
    np.testing.assert_allclose(
        run(relay.frontend.from_caffe(b"", text), x), (0.5 - np.tanh(x)) ** 2, rtol=1e-4, atol=1e-6
    )


def test_everything_that_is_unsupported_is_listed_at_once():
    net = Net()
    net.layer("Marvel", net.layer("Wonder", net.input("x", 1), "one"), "two")
    message = (
        "not supported for frontend Caffe: Marvel, Wonder\n  in node Wonder one_Wonder\n  in node Marvel two_Marvel"
    )
    with pytest.raises(tessera.error.OpNotImplemented, match=message):
        relay.frontend.from_caffe(b"", net.text())


DATA = 'input: "data" input_shape { dim: [1, 3, 4, 4] }\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name: 'layer { top: '", "has no layers"),
        ('layer { top: "x" ', "line 1: the text ends inside of a message"),
        ('layer { top: "x\n}', "a text does not end"),
        ('layer { top: 3 type: "ReLU" }', "the field top cannot be 3"),
        ('layer { top: "x" relu_param { negative_slop: 1 } }', "a ReLUParameter has no field negative_slop"),
        ('layer { top: "x" lrn_param { norm_region: HERE } }', "the field norm_region cannot be HERE"),
        ('\nlayer { top: "x" relu_param: 3 }', "line 2: the field relu_param cannot be 3"),
        ("layer { top: 'x' " + "a { " * 200, "deeper than 100 levels"),
        ("layer { top: 'x' " + "a: [{ " * 200, "deeper than 100 levels"),
        ('layer { top: "x" type: "ReLU" bottom: "gone" }', "reads gone, which no layer before it makes"),
        ('input: "d" layer { bottom: "d" top: "x" type: "ReLU" }', "does not say the shape of its input d"),
        (DATA + 'layer { bottom: "data" top: "x" type: "InnerProduct" }', '"num_output" is missing'),
        (DATA + 'layer { bottom: "data" top: "x" type: "PReLU" }', "weight 0 is missing"),
        (
            DATA + 'layer { bottom: "data" top: "x" type: "Pooling" pooling_param { kernel_size: 2 stride: 0 } }',
            "strides",
        ),
        (DATA + 'layer { bottom: "data" top: "x" type: "Crop" }', "input 1 is missing"),
        (DATA + 'layer { bottom: "data" top: "x" type: "Slice" slice_param { slice_point: 9 } }', "does not fit"),
    ],
)
def test_layers_that_make_no_sense_are_errors(text, error):
    with pytest.raises((tessera.error.TVMError, ValueError), match=error):
        relay.frontend.from_caffe(b"", text)


def test_damaged_weights_are_errors():
    net = small()
    whole, text = net.model(), net.text()
    for size in range(5, len(whole), 11):
        with pytest.raises((ValueError, tessera.error.TVMError)):
            relay.frontend.from_caffe(whole[:size], text)
    blob = message((7, message((1, 1 << 40), (1, 1 << 40))), (5, WEIGHT))
    for given, error in (
        (message((100, message((1, "c_Convolution"), (7, blob)))), "c_Convolution has an impossible shape"),
        (
            message((100, message((1, "c_Convolution"), (7, message((5, WEIGHT), (1, 5)))))),
            "has 12 numbers; its shape says 5",
        ),
        (message((100, 7)), "the field layer of a NetParameter is of another type"),
        (whole + b"\xff\xff", "damaged"),
    ):
        with pytest.raises(ValueError, match=error):
            relay.frontend.from_caffe(given, text)


PRIORS = np.array([[0.1, 0.1, 0.5, 0.5], [0.12, 0.1, 0.5, 0.5], [0.6, 0.6, 0.9, 0.9]], "float32")
SSD = "detection_output_param { num_classes: 3 %s nms_param { nms_threshold: 0.5 top_k: 2 } }"


def detector(parameters, boxes=3, inputs=3):
    net = Net()
    shapes = [(1, 4 * 3), (1, 3 * 3), (1, 2, 4 * boxes), (1, 1)][:inputs]
    net.layer("DetectionOutput", [net.input(f"i{i}", *shape) for i, shape in enumerate(shapes)], "out", parameters)
    return net


def test_boxes_of_ssd():
    """The second box overlaps the first one; the third has the background's class."""
    scores = np.array([[0.1, 0.7, 0.2], [0.3, 0.5, 0.2], [0.9, 0.04, 0.06]], "float32")
    variances = np.full((3, 4), 0.1, "float32")
    model = relay.frontend.from_caffe(b"", detector(SSD % "confidence_threshold: 0.1 keep_top_k: 5").text())
    moves = np.tile(np.float32([0.1, 0, 0, 0.2]), (3, 1))
    out = run(model, moves.reshape(1, -1), scores.reshape(1, -1), np.stack([PRIORS, variances]).reshape(1, 2, -1))
    moved = PRIORS + 0.1 * moves
    want = np.zeros((4, 7), "float32")  # two classes of two boxes are fewer than five
    want[0] = [0, 1, 0.7, *moved[0]]
    want[1] = [0, 2, 0.2, *moved[0]]
    np.testing.assert_allclose(out, want[None, None], rtol=1e-6)


@pytest.mark.parametrize(
    ("net", "error"),
    [
        (detector(SSD % "", boxes=2), "do not fit the prior boxes"),
        (detector(SSD % "", inputs=2), "a second stage"),
        (detector(SSD % "normalized_bbox: false"), "boxes in pixels"),
        (detector(SSD.replace("top_k: 2", "eta: 0.5") % ""), "an overlap that adapts"),
        (detector("detection_output_param { num_classes: 1 }"), "do not fit|no class but the background"),
        (detector("detection_output_param { num_classes: 99999999999 }"), "num_classes is"),
    ],
)
def test_detectors_that_make_no_sense_are_errors(net, error):
    with pytest.raises((tessera.error.TVMError, ValueError), match=error):
        relay.frontend.from_caffe(b"", net.text())


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ("", "min_size is missing"),
        ("min_size: 5 max_size: 4", "above its min_size"),
        ("min_size: 5 max_size: [6, 7]", "of one length"),
        ("min_size: 5 aspect_ratio: 0", "must be above zero"),
        ("min_size: 5 variance: [1, 2]", "one or four variances"),
    ],
)
def test_prior_boxes_that_make_no_sense_are_errors(parameters, error):
    net = Net()
    net.layer(
        "PriorBox",
        [net.input("a", 1, 1, 2, 2), net.input("b", 1, 3, 8, 8)],
        "out",
        f"prior_box_param {{ {parameters} }}",
    )
    with pytest.raises((tessera.error.TVMError, ValueError), match=error):
        relay.frontend.from_caffe(b"", net.text())
