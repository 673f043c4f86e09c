"""Networks of Darknet, read without Darknet, against NumPy. `make operators-by-framework FRAMEWORK=darknet` asks OpenCV."""

import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera.relay.testing.darknet import ACTIVATION, LAYERTYPE

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases._darknet_net import Network, values


def network():
    """A pointwise convolution with a norm, boxes of it, and behind them a smaller layer with boxes of its own."""
    net = Network(3, 2, 2)
    net.conv(7, 1, batch_normalize=1, activation="leaky").add("yolo", mask=1, anchors="1,2, 3,4", classes=2, num=2)
    net.add("route", (7, 2, 2), layers=0).add("maxpool", (7, 1, 1), size=2, stride=2)
    return net.add("region", (7, 1, 1), anchors="5,6", classes=2, num=1, softmax=1)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def by_hand(net, x):
    beta, gamma, mean, variance, weight = (one.reshape(-1, *[1] * (one.ndim == 1) * 2) for one in net.weights)
    out = np.einsum("oi,nihw->nohw", net.weights[4][:, :, 0, 0], x)
    out = (out - mean) / np.sqrt(variance + 1e-6) * gamma + beta
    out = np.where(out > 0, out, 0.1 * out)
    yolo = out.copy()
    yolo[:, :2], yolo[:, 4:] = logistic(out[:, :2]), logistic(out[:, 4:])
    region = out.max((2, 3), keepdims=True)
    scores = np.exp(region[:, 5:])
    parts = [logistic(region[:, :2]), region[:, 2:4], logistic(region[:, 4:5]), scores / scores.sum(1, keepdims=True)]
    return yolo, np.concatenate(parts, 1)


def run(model, x):
    mod, params = model
    return [one.numpy() for one in relay.create_executor("graph", mod).evaluate()(x, **params)]


def check(outputs, net, x):
    yolo, region = by_hand(net, x)
    expected = [region, [5, 6], [1, 7, 1, 1, 2, 4, 0], yolo, [1], [1, 2, 3, 4], [1, 7, 2, 2, 2, 2]]
    assert len(outputs) == len(expected)
    for got, want in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert [str(one.dtype) for one in outputs[1:3]] == ["float32", "int32"]


@pytest.mark.parametrize("named", ["net.cfg", "net.weights", "layers"])
def test_files_are_read_together_and_known_by_their_content(tmp_path, named):
    net, x = network(), values(1, 3, 2, 2)
    (tmp_path / ("layers" if named == "layers" else "net.cfg")).write_text("# comment\n; too\n\n " + net.text())
    (tmp_path / "net.weights").write_bytes(net.model())
    mod, params, form = tessera.get_global_func("frontend.load_model")(str(tmp_path / named), "", {}, "")
    assert form == "darknet" and not params
    check(run((mod, {}), x), net, x)
    check(run(relay.frontend.from_darknet(tmp_path / named), x), net, x)


class Pointer(list):
    """Something with elements, which knows no length."""

    __len__ = None


def loaded():
    """What Darknet's library would have loaded."""
    net = network()
    beta, gamma, mean, variance, weights = (Pointer(one.ravel().tolist()) for one in net.weights)
    conv = SimpleNamespace(
        type=LAYERTYPE.CONVOLUTIONAL,
        activation=ACTIVATION.LEAKY,
        batch_normalize=1,
        n=7,
        c=3,
        size=1,
        stride=1,
        pad=0,
        groups=1,
        weights=weights,
        biases=beta,
        scales=gamma,
        rolling_mean=mean,
        rolling_variance=variance,
    )
    boxes = {"classes": 2, "coords": 4, "background": 0, "softmax": 1}
    layers = [
        conv,
        SimpleNamespace(type=LAYERTYPE.YOLO, n=1, total=2, mask=Pointer([1]), biases=Pointer([1, 2, 3, 4]), **boxes),
        SimpleNamespace(type=LAYERTYPE.ROUTE, n=1, input_layers=Pointer([0])),
        SimpleNamespace(type=LAYERTYPE.MAXPOOL, size=2, stride=2, pad=0, w=2, out_w=1),
        SimpleNamespace(type=LAYERTYPE.REGION, n=1, biases=Pointer([5, 6]), **boxes),
    ]
    return net, SimpleNamespace(n=5, c=3, h=2, w=2, inputs=12, layers=layers)


def test_a_loaded_network_and_another_size():
    net, struct_of_network = loaded()
    x = values(1, 3, 2, 2)
    check(run(relay.frontend.from_darknet(struct_of_network), x), net, x)
    mod, _ = relay.frontend.from_darknet(struct_of_network, {"data": (2, 3, 4, 6)})
    assert str(mod["main"].ret_type.fields[0].shape) == "[2, 7, 2, 3]"
    with pytest.raises(ValueError, match="weights of Darknet are float32"):
        relay.frontend.from_darknet(struct_of_network, dtype="float16")


def test_linear_layers_from_both_ages_of_files():
    net = Network(3, 2, 2).dense(4, batch_normalize=1, activation="relu").dense(2, activation="linear")
    b, w, gamma, mean, variance, bias, last = net.weights
    x = values(1, 3, 2, 2)
    hidden = np.maximum((x.reshape(1, -1) @ w.T - mean) / np.sqrt(variance + 1e-6) * gamma + b, 0)
    old = struct.pack("<iiii", 1001, 0, 0, 0)  # of transposed weights, and a shorter header
    floats = [one.T if one.ndim == 2 else one for one in net.weights]
    for weights in (net.model(), old + b"".join(np.ascontiguousarray(one).tobytes() for one in floats)):
        model = tessera.get_global_func("frontend.darknet.import_bytes")(net.text(), weights, {}, {})
        out = relay.create_executor("graph", model[0]).evaluate()(x, **dict(model[1].items())).numpy()
        np.testing.assert_allclose(out, hidden @ last.T + bias, rtol=1e-4, atol=1e-6)


NET = "[net]\nchannels=3\nheight=4\nwidth=4\n"


@pytest.mark.parametrize(
    ("cfg", "error"),
    [
        ("", "its first section must be [net]"),
        ("x=1\n", "line 1: a value stands in front of all sections"),
        (NET + "[maxpool\n", "line 5: a section has no end"),
        (NET + "[maxpool]\nwhat\n", 'line 6: it is neither a section nor "name=value"'),
        ("[net]\nheight=4\n", "[net] in line 1: channels is 0; it must be at least 1"),
        (NET + "[wonder]\n[lstm]\n", "not supported for frontend Darknet: lstm, wonder"),
        (NET + "[maxpool]\nsize=x\n", '[maxpool] in line 5: "size" must be a whole number'),
        (NET + "[maxpool]\nstride=0\n", "stride is 0; it must be at least 1"),
        (NET + "[maxpool]\nsize=9\npadding=0\n", "the extent that it makes is"),
        (NET + "[convolutional]\nfilters=99999999999\n", "filters is 99999999999, which is too large"),
        (NET + "[convolutional]\nfilters=4\n", "convolutional_0 needs 4 numbers, 2 are left"),
        (NET + "[convolutional]\nfilters=3\ngroups=2\n", "groups do not divide the channels and filters"),
        (NET + "[connected]\noutput=2147483647\n", "needs 2147483647 numbers"),
        (NET + "[route]\nlayers=-1\n", "there is no layer -1 before it"),
        (NET + "[dropout]\n[shortcut]\nfrom=1\n", "there is no layer 1 before it"),
        (NET + "[reorg]\nstride=3\n", "the stride 3 does not divide the image"),
        (NET + "[upsample]\nstride=2147483647\n", "the height that it makes is"),
        (NET + "[yolo]\nmask=3\n", "the mask names the anchor 3 of 1"),
        (NET + "[yolo]\nclasses=1\n", "it needs 1 * 6 channels, and has 3"),
        (NET + "[region]\nclasses=0\ncoords=2\n", "anchors has 0 numbers, not 2"),
        (NET + "[dropout]\n", "has 8 bytes more than the layers need"),
        (NET + "[activation]\nactivation=wave\n", "the activation wave"),
    ],
)
def test_networks_that_make_no_sense_are_errors(cfg, error):
    import re

    weights = struct.pack("<iiiqff", 0, 2, 0, 0, 1, 2)
    if "wave" in cfg:
        weights = weights[:-8]
    with pytest.raises((tessera.error.TVMError, ValueError), match=re.escape(error)):
        tessera.get_global_func("frontend.darknet.import_bytes")(cfg, weights, {}, {})


def test_files_that_do_not_belong_together_are_errors(tmp_path):
    net = network()
    (tmp_path / "net.cfg").write_text(net.text())
    with pytest.raises(FileNotFoundError, match=r"the weights of the network must lie beside it, as net.weights"):
        relay.frontend.from_darknet(tmp_path / "net.cfg")
    whole = net.model()
    for size in (0, 11, 19, 20, len(whole) - 1):
        (tmp_path / "net.weights").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="it has no header|do the cfg and the weights belong together"):
            relay.frontend.from_darknet(tmp_path / "net.cfg")
