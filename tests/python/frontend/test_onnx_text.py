"""Strings, which are known while importing, and operators of ai.onnx.ml."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import onnx_backend, relay  # noqa: E402
from tessera.error import OpNotImplemented  # noqa: E402

KINDS = {"O": TensorProto.STRING}


def kind_of(value):
    return KINDS.get(value.dtype.kind) or helper.np_dtype_to_tensor_dtype(value.dtype)


def model_of(node, inputs, kind):
    types = [helper.make_tensor_value_info(name, kind_of(value), value.shape) for name, value in inputs.items()]
    graph = helper.make_graph([node], "graph", types, [helper.make_tensor_value_info("y", kind, None)])
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5 if node.op_type == "TreeEnsemble" else 4)]
    return helper.make_model(graph, opset_imports=sets)


def run(op, inputs, kind, domain="", **attributes):
    model = model_of(helper.make_node(op, list(inputs), ["y"], domain=domain, **attributes), inputs, kind)
    return onnx_backend.prepare(model).run(inputs)[0], model


def words(*items):
    return np.array(items, dtype=object)


def test_numbers_are_read_from_strings_and_written_to_them():
    got, _ = run("Cast", {"x": words("1.5", "-2e3", "INF", "-INF", "NaN")}, TensorProto.FLOAT, to=TensorProto.FLOAT)
    np.testing.assert_array_equal(got, np.array([1.5, -2000, np.inf, -np.inf, np.nan], "float32"))
    x = np.array([0.1, 1.0, 1e-3, 314.15926], "float32")
    got, _ = run("Cast", {"x": x}, TensorProto.STRING, to=TensorProto.STRING)
    assert got.tolist() == ["0.1", "1", "0.001", "314.15927"]


def test_strings_are_split_with_and_without_a_delimiter():
    got, _ = run("StringSplit", {"x": words(" a  b c ", "")}, TensorProto.STRING)
    assert got.tolist() == [["a", "b", "c"], ["", "", ""]]
    got, _ = run("StringSplit", {"x": words("a,b,,c")}, TensorProto.STRING, delimiter=",", maxsplit=2)
    assert got.tolist() == [["a", "b", ",c"]]


def test_patterns_that_look_around_are_rejected():
    with pytest.raises(OpNotImplemented, match="the pattern"):
        run("RegexFullMatch", {"x": words("ab")}, TensorProto.BOOL, pattern="(?=a)ab")


def test_from_onnx_names_the_inputs_that_are_strings():
    inputs = {"x": words("a")}
    model = model_of(helper.make_node("StringConcat", ["x", "x"], ["y"]), inputs, TensorProto.STRING)
    with pytest.raises(
        OpNotImplemented, match="strings must be known while importing; the model depends on the inputs: x"
    ):
        relay.frontend.from_onnx(model)


def test_labels_of_numbers():
    x = np.array([3, 1, 7, 3], "int64")
    ml = {"domain": "ai.onnx.ml", "keys_int64s": [3, 1], "values_floats": [0.5, 1.5], "default_float": -1.0}
    got, _ = run("LabelEncoder", {"x": x}, TensorProto.FLOAT, **ml)
    assert got.tolist() == [0.5, 1.5, -1, 0.5]
    x = np.array([np.nan, 1.0, 2.0], "float32")
    got, _ = run(
        "LabelEncoder", {"x": x}, TensorProto.INT64, "ai.onnx.ml", keys_floats=[float("nan"), 1.0], values_int64s=[7, 8]
    )
    assert got.tolist() == [7, 8, -1]


def test_features_are_scaled_normalised_and_filled_in():
    x = np.array([[1, -2, 3], [0, 0, 0], [4, 5, -6]], "float32")
    cases = [
        ("Scaler", {"offset": [1.0, 2.0, 3.0], "scale": [0.5, 2.0, 1.0]}),
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("Imputer", {"imputed_value_floats": [9.0, 8.0, 7.0], "replaced_value_float": 0.0}),
        ("LinearRegressor", {"coefficients": [1.0, 2, 3, 4, 5, 6], "intercepts": [0.5, -0.5], "targets": 2}),
    ]
    for op, attributes in cases:
        got, model = run(op, {"x": x}, TensorProto.FLOAT, "ai.onnx.ml", **attributes)
        (want,) = ReferenceEvaluator(model).run(None, {"x": x})
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=op)


def test_trees_that_differ_in_depth():
    x = np.random.default_rng(0).uniform(-1, 1, (20, 3)).astype("float32")
    got, model = run(
        "TreeEnsembleRegressor",
        {"x": x},
        TensorProto.FLOAT,
        "ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0, 0, 0, 0, 0, 1, 1, 1],
        nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2],
        nodes_featureids=[0, 1, 0, 0, 0, 2, 0, 0],
        nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
        nodes_truenodeids=[1, 2, 0, 0, 0, 1, 0, 0],
        nodes_falsenodeids=[4, 3, 0, 0, 0, 2, 0, 0],
        target_treeids=[0, 0, 0, 1, 1],
        target_nodeids=[2, 3, 4, 1, 2],
        target_ids=[0, 0, 0, 0, 0],
        target_weights=[1.0, 2.0, 4.0, 8.0, 16.0],
    )
    first = np.where(x[:, 0] <= 0.1, np.where(x[:, 1] <= -0.2, 1, 2), 4)
    want = first + np.where(x[:, 2] <= 0.3, 8, 16)
    np.testing.assert_array_equal(got[:, 0], want)


def test_a_tree_that_goes_round_is_rejected():
    one = numpy_helper.from_array(np.array([0.5], "float32"), "t")
    with pytest.raises(ValueError, match="goes round"):
        run(
            "TreeEnsemble",
            {"x": np.zeros((1, 1), "float32")},
            TensorProto.FLOAT,
            "ai.onnx.ml",
            n_targets=1,
            nodes_featureids=[0, 0],
            nodes_truenodeids=[1, 0],
            nodes_falsenodeids=[1, 0],
            nodes_trueleafs=[0, 0],
            nodes_falseleafs=[0, 0],
            nodes_modes=numpy_helper.from_array(np.array([0, 0], "uint8"), "m"),
            nodes_splits=numpy_helper.from_array(np.array([0.5, 0.5], "float32"), "s"),
            leaf_targetids=[0],
            leaf_weights=one,
            tree_roots=[0],
        )


def test_dropout_in_training_keeps_what_numpy_would():
    x = np.ones((3, 5), "float32")
    ratio = np.array(0.25, "float32")
    got, _ = run("Dropout", {"x": x, "r": ratio, "t": np.array(True)}, TensorProto.FLOAT, seed=3)
    mask = np.random.RandomState(3).uniform(0, 1, x.shape) >= 0.25
    np.testing.assert_allclose(got, mask / np.float32(0.75), rtol=1e-6)


def test_dropout_in_training_without_a_seed_keeps_some():
    x = np.ones((100, 100), "float32")
    got, _ = run("Dropout", {"x": x, "r": np.array(0.25, "float32"), "t": np.array(True)}, TensorProto.FLOAT)
    kept = got != 0
    np.testing.assert_allclose(got[kept], 1 / 0.75, rtol=1e-6)
    assert 0.7 < kept.mean() < 0.8


@pytest.mark.parametrize("op", ["RandomUniform", "RandomNormal"])
def test_random_numbers_of_a_seed_are_numpys(op):
    got, _ = run(op, {}, TensorProto.FLOAT, shape=[4, 5], seed=7.0)
    state = np.random.RandomState(7)
    want = state.uniform(0, 1, (4, 5)) if op == "RandomUniform" else state.randn(4, 5)
    np.testing.assert_allclose(got, want, rtol=1e-6)
