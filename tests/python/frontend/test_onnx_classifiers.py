"""Classifiers and support vector machines of ai.onnx.ml answer as in ONNX's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import tessera  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from tessera import relay  # noqa: E402

X = np.random.default_rng(5).normal(size=(17, 4)).astype("float32")
LABELS = [3, 8, 5]


def model_of(op: str, outputs: dict[str, int], **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], list(outputs), domain="ai.onnx.ml", **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("rows", 4))],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
    )
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10)


def run(model: onnx.ModelProto) -> list[np.ndarray]:
    mod, params = relay.frontend.from_onnx(model)
    return [out.numpy() for out in tessera.Model(relay.build(mod, "llvm", params=params)).run(x=X)]


def check(op: str, **attributes: Any) -> list[np.ndarray]:
    """A label and scores, as in the reference."""
    model = model_of(op, {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}, **attributes)
    got, want = run(model), ReferenceEvaluator(model).run(None, {"x": X})
    assert len(set(want[0].tolist())) > 1, "one label for all compares little"
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1], rtol=1e-4, atol=1e-5)
    return got


def floats(*shape: int) -> list[float]:
    return np.random.default_rng([17, *shape]).normal(size=shape).astype("float32").ravel().tolist()


def small(count: int) -> list[float]:
    return [value / 10 for value in floats(count)]


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
def test_a_linear_classifier_of_three_classes(transform: str):
    check(
        "LinearClassifier",
        coefficients=floats(3, 4),
        intercepts=floats(3),
        classlabels_ints=LABELS,
        post_transform=transform,
    )


def test_one_row_of_coefficients_tells_two_classes_apart():
    check("LinearClassifier", coefficients=floats(4), intercepts=[0.1], classlabels_ints=[-1, 1], post_transform="NONE")


VECTORS = {"support_vectors": floats(9, 4), "kernel_params": [0.2, 0.5, 3.0]}


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_a_support_vector_classifier_votes_by_pairs(kernel: str):
    check(
        "SVMClassifier",
        **VECTORS,
        kernel_type=kernel,
        coefficients=floats(2, 9),
        vectors_per_class=[2, 4, 3],
        rho=small(3),
        classlabels_ints=LABELS,
        post_transform="NONE",
    )


def coupled(pairs: np.ndarray, classes: int) -> np.ndarray:
    """What the probabilities of classes come near to: the p of sum 1 with least sum of (r[j, i] p[i] - r[i, j] p[j])^2."""
    r = np.zeros((classes, classes))
    for i, j, value in zip(*np.triu_indices(classes, 1), pairs, strict=True):
        r[i, j], r[j, i] = value, 1 - value
    system = np.ones((classes + 1, classes + 1))
    system[:-1, :-1] = -r.T * r
    system[:-1, :-1][np.diag_indices(classes)] = (r**2).sum(0)
    system[-1, -1] = 0
    return np.linalg.solve(system, np.eye(classes + 1)[-1])[:-1]


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_of_classes_from_those_of_pairs(classes: int):
    """ONNX's reference gets them wrong for more than two classes."""
    pairs = classes * (classes - 1) // 2
    counts = [3, 4, 1, 1][: classes - 1]
    vectors = {
        **VECTORS,
        "kernel_type": "RBF",
        "coefficients": floats(classes - 1, 9),
        "vectors_per_class": [*counts, 9 - sum(counts)],
        "rho": small(pairs),
        "classlabels_ints": [4, 2, 9, 7][:classes],
        "post_transform": "NONE",
    }
    model = model_of("SVMClassifier", {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}, **vectors)
    (label, scores) = run(model)
    if classes == 2:
        scores = scores[:, 1:]  # and its opposite before it
    a, b = -2.0, np.array(small(pairs))
    model = model_of(
        "SVMClassifier",
        {"label": TensorProto.INT64, "scores": TensorProto.FLOAT},
        **vectors,
        prob_a=[a] * pairs,
        prob_b=b.tolist(),
    )
    same_label, got = run(model)
    np.testing.assert_array_equal(same_label, label)
    want = np.array([coupled(row, classes) for row in 1 - 1 / (1 + np.exp(-(scores * a + b)))])
    assert np.ptp(want, axis=0).min() > 0.1
    np.testing.assert_allclose(got, want, atol=0.01)
    np.testing.assert_allclose(got.sum(1), 1, rtol=1e-4)


@pytest.mark.parametrize("one_class", [0, 1])
def test_a_support_vector_regressor(one_class: int):
    model = model_of(
        "SVMRegressor",
        {"y": TensorProto.FLOAT},
        **VECTORS,
        kernel_type="RBF",
        n_supports=9,
        coefficients=floats(9),
        rho=[0.1],
        one_class=one_class,
        post_transform="NONE",
    )
    np.testing.assert_allclose(run(model)[0], ReferenceEvaluator(model).run(None, {"x": X})[0], rtol=1e-4, atol=1e-5)


def trees(depth: int, count: int, classes: list[int], weights: list[float]) -> dict[str, Any]:
    """Whole binary trees; each leaf gives a weight to each of `classes`."""
    out: dict[str, list[Any]] = {
        key: []
        for key in (
            *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values", "nodes_truenodeids"),
            *("nodes_falsenodeids", "class_treeids", "class_nodeids", "class_ids", "class_weights"),
        )
    }
    rng = np.random.default_rng([7, depth, count])
    inner = 2**depth - 1
    for tree in range(count):
        for node in range(2 * inner + 1):
            is_leaf = node >= inner
            row = (tree, node, int(rng.integers(4)), "LEAF" if is_leaf else "BRANCH_LEQ", float(rng.normal() * 0.5))
            for key, value in zip(out, (*row, 0 if is_leaf else 2 * node + 1, 0 if is_leaf else 2 * node + 2)):
                out[key].append(value)
            for which in classes if is_leaf else []:
                weight = float(rng.choice(weights)) * float(rng.uniform(0.5, 1))
                for key, value in zip(list(out)[7:], (tree, node, which, weight)):
                    out[key].append(value)
    return out


def test_trees_that_vote_for_classes():
    check(
        "TreeEnsembleClassifier",
        **trees(3, 4, [0, 1, 2], [1.0, -1.0]),
        classlabels_int64s=LABELS,
        post_transform="SOFTMAX",
    )


@pytest.mark.parametrize("transform, weights", [("LOGISTIC", [1.0, -1.0]), ("NONE", [0.2])])
def test_trees_that_speak_of_one_class_of_two(transform: str, weights: list[float]):
    check(
        "TreeEnsembleClassifier",
        **trees(3, 3, [0], weights),
        classlabels_int64s=[6, 2],
        post_transform=transform,
    )


def test_deep_trees_compile_a_level_at_a_time():
    """Fused, the nodes of a level would be computed again for each of their uses: the time would double several times a level."""
    check("TreeEnsembleClassifier", **trees(9, 1, [0, 1, 2], [1.0]), classlabels_int64s=LABELS, post_transform="NONE")


def test_labels_that_are_strings_are_rejected():
    model = model_of(
        "LinearClassifier",
        {"label": TensorProto.STRING, "scores": TensorProto.FLOAT},
        coefficients=floats(2, 4),
        intercepts=floats(2),
        classlabels_strings=["yes", "no"],
    )
    with pytest.raises(tessera.error.OpNotImplemented, match="labels that are strings"):
        relay.frontend.from_onnx(model)


def test_a_map_of_scores_stays_a_matrix():
    (scores,) = run(model_of("ZipMap", {"scores": TensorProto.FLOAT}, classlabels_int64s=[1, 2, 3, 4]))
    np.testing.assert_array_equal(scores, X)


def test_lists_that_do_not_fit_are_rejected():
    good = {"coefficients": floats(2, 9), "vectors_per_class": [2, 4, 3], "rho": small(3), "classlabels_ints": LABELS}
    for name, wrong in {"coefficients": floats(7), "vectors_per_class": [2, 4], "rho": [0.0]}.items():
        model = model_of(
            "SVMClassifier",
            {"label": TensorProto.INT64, "scores": TensorProto.FLOAT},
            **VECTORS,
            kernel_type="RBF",
            **{**good, name: wrong},
        )
        with pytest.raises(ValueError, match="fit|as many"):
            relay.frontend.from_onnx(model)
