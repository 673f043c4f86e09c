"""Networks of Caffe2, written by hand, against NumPy. `make operators-by-framework FRAMEWORK=caffe2` has all operators."""

import sys
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import relay

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
from framework_cases._caffe2_net import fill, net, operator
from framework_cases._caffe_net import values
from framework_cases._wire import message

W, B = values(3, 4), values(3, seed=1)


def small():
    """A linear layer and, in place, its activation; the weights are external inputs, as Caffe2 writes them."""
    operators = [operator("FC", ["data", "w", "b"], "y"), operator("Relu", "y", "y")]
    return net([fill("w", W), fill("b", B)]), net(operators, ["data", "w", "b"], ["y"])


def by_hand(x):
    return np.maximum(x.reshape(len(x), -1) @ W.T + B, 0)


def run(model, *inputs):
    mod, params = model
    return relay.create_executor("graph", mod).evaluate()(*inputs, **params).numpy()


def test_weights_are_parameters_and_messages_are_taken():
    class Message:
        def __init__(self, data):
            self.SerializeToString = lambda: data

    x = values(2, 4)
    mod, params = relay.frontend.from_caffe2(*map(Message, small()), {"data": (2, 4)}, {"data": "float32"})
    assert [str(v.name_hint) for v in mod["main"].params] == ["data", "w", "b"] and sorted(map(str, params)) == [
        "b",
        "w",
    ]
    np.testing.assert_allclose(run((mod, params), x), by_hand(x), rtol=1e-5, atol=1e-6)


TEXT = """
op { input: "data" input: "w" input: "b" output: "y" name: "" type: "FC" arg { name: "axis" i: 1 } }
op { input: "y" output: "y" type: "Relu" arg { name: "order" s: "NCHW" } device_option { device_type: 0 } }
external_input: "data" external_input: "w" external_input: "b" external_output: "y"
"""


@pytest.mark.parametrize(
    "names", [("init_net.pb", "predict_net.pb"), ("a_init.pb", "a_predict.pb"), ("init_net.pb", "predict_net.pbtxt")]
)
def test_files_are_read_together_and_known_by_their_content(tmp_path, names):
    x = values(2, 4)
    for name, content in zip(names, small(), strict=True):
        (tmp_path / name).write_bytes(TEXT.encode() if name.endswith("txt") else content)
    for name in names:
        mod, params, form = tessera.get_global_func("frontend.load_model")(
            str(tmp_path / name), "", {"data": [2, 4]}, ""
        )
        assert form == "caffe2" and not params
        np.testing.assert_allclose(run((mod, {}), x), by_hand(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        run(relay.frontend.from_caffe2(tmp_path / names[0], None, {"data": (2, 4)}), x), by_hand(x), rtol=1e-5
    )


def test_the_other_file_must_be_there(tmp_path):
    (tmp_path / "predict_net.pb").write_bytes(small()[1])
    with pytest.raises(
        FileNotFoundError, match=r"fills tensors with the weights must lie beside it, as init_net.pb or init_net.pbtxt"
    ):
        relay.frontend.from_caffe2(tmp_path / "predict_net.pb")


def test_tensors_of_all_kinds():
    init = net(
        [
            operator("ConstantFill", [], "c", shape=[2], value=1.5),
            operator("ConstantFill", [], "i", shape=[2], value=3, dtype=10),
            operator("GivenTensorInt64Fill", [], "j", shape=[2], values=[4, -5]),
            operator("GivenTensorFill", [], "s", shape=[], values=np.array([2.5], "float32")),
        ]
    )
    operators = [operator("Mul", ["x", "c"], "a"), operator("Add", ["i", "j"], "k"), operator("Mul", ["a", "s"], "b")]
    mod, params = relay.frontend.from_caffe2(init, net(operators, ["x"], ["b", "k"]), {"x": (2,)})
    b, k = relay.create_executor("graph", mod).evaluate()(np.array([1, 2], "float32"), **params)
    np.testing.assert_allclose(b.numpy(), [3.75, 7.5])
    assert k.numpy().tolist() == [7, -2] and str(k.dtype) == "int64"


def test_everything_that_is_unsupported_is_listed_at_once():
    predict = net([operator("Wonder", "x", "one"), operator("Marvel", "one", "two")], ["x"], ["two"])
    error = "not supported for frontend Caffe2: Marvel, Wonder\n  in node Wonder one\n  in node Marvel two"
    with pytest.raises(tessera.error.OpNotImplemented, match=error):
        relay.frontend.from_caffe2(b"", predict, {"x": (1,)})


def one(kind, inputs="x", **arguments):
    return b"", net([operator(kind, inputs, "y", **arguments)], ["x"], ["y"])


@pytest.mark.parametrize(
    ("nets", "error"),
    [
        ((b"", b""), "has no operators"),
        ((b"\x12", small()[1]), "damaged: the data ends in the middle of a field"),
        ((b"", message((2, 3))), "the field op of a NetDef is of another type"),
        ((net([operator("XavierFill", [], "w", shape=[1])]), small()[1]), "w is made by XavierFill"),
        (
            (net([operator("GivenTensorFill", [], "w", shape=[2], values=B)]), small()[1]),
            "w has 3 values; its shape says 2",
        ),
        ((net([operator("ConstantFill", [], "w", shape=[1 << 20, 1 << 20])]), small()[1]), "w has an impossible shape"),
        ((net([operator("ConstantFill", [], "w", shape=[-1])]), small()[1]), "w has an impossible shape"),
        (one("Relu", []), "input 0 is missing"),
        (one("MaxPool", kernel=2, stride=0), "strides"),
        (one("MaxPool", kernel=1 << 40), "kernel is"),
        (one("Softmax", axis=9), "axis"),
        (one("Conv", ["x", "x"], kernel=3, order="CHWN"), "the order is CHWN; it is NCHW or NHWC"),
        (one("ResizeNearest", height_scale=1e30), "a scale is"),
        (one("SpatialBN", ["x"] * 5), "is_test is 0"),
        (one("Add", ["x", "x"], broadcast=1, axis=3), "more dimensions than the first from the axis on"),
    ],
)
def test_networks_that_make_no_sense_are_errors(nets, error):
    with pytest.raises((tessera.error.TVMError, ValueError), match=error):
        relay.frontend.from_caffe2(*nets, {"x": (1, 3, 4, 4)} if "x" in nets[1].decode("latin1") else {"data": (2, 4)})
