"""Graphs of PyTorch as its Python side writes them, against NumPy; `make operators-by-framework FRAMEWORK=torch` has every operator."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tessera
from tessera import relay
from tessera._ffi.registry import get_global_func
from tessera.error import OpNotImplemented

rng = np.random.default_rng(0)


def node(op: str, result: str, **args: Any) -> dict[str, Any]:
    """A call; a text names a value."""

    def written(value: Any) -> Any:
        if isinstance(value, list):
            return [written(item) for item in value]
        return {"name": value} if isinstance(value, str) else value

    return {"op": op, "args": [[name, written(value)] for name, value in args.items()], "results": [result]}


def answers(
    inputs: dict[str, np.ndarray], nodes: list[dict[str, Any]], output: str, batch: str | None = None, **weights: Any
) -> np.ndarray:
    """What a graph of these nodes gives; `batch` is a name of a dynamic first dimension."""
    described: list[dict[str, Any]] = [
        {"name": n, "shape": [batch, *v.shape[1:]] if batch else list(v.shape), "dtype": str(v.dtype)}
        for n, v in inputs.items()
    ]
    graph = {"inputs": list(inputs), "nodes": nodes, "outputs": [{"name": output}]}
    program = json.dumps({"inputs": described, "params": [], "graph": graph, "output_names": []})
    given = {name: tessera.nd.array(value) for name, value in weights.items()}
    mod, _ = get_global_func("frontend.torch.import_graph")(program, given, {}, "float32")
    return relay.create_executor("vm", mod).evaluate()(*inputs.values()).numpy()


def test_complex_numbers_are_pairs():
    x, y = (rng.standard_normal((3, 4, 2)).astype("float32") for _ in range(2))
    nodes = [
        node("aten::view_as_complex", "a", self="x"),
        node("aten::view_as_complex", "b", self="y"),
        node("aten::mul", "c", self="a", other="b"),
        node("aten::view_as_real", "out", self="c"),
    ]
    want = (x[..., 0] + 1j * x[..., 1]) * (y[..., 0] + 1j * y[..., 1])
    got = answers({"x": x, "y": y}, nodes, "out")
    np.testing.assert_allclose(got, np.stack([want.real, want.imag], -1), rtol=1e-5, atol=1e-6)
    nodes[2] = node("aten::exp", "c", self="a")
    want = np.exp(x[..., 0] + 1j * x[..., 1])
    got = answers({"x": x, "y": y}, nodes, "out")
    np.testing.assert_allclose(got, np.stack([want.real, want.imag], -1), rtol=1e-5, atol=1e-6)
    nodes[2] = node("aten::atanh", "c", self="a")
    with pytest.raises(OpNotImplemented, match="complex numbers"):
        answers({"x": x, "y": y}, nodes, "out")


def loop(body: list[dict[str, Any]], ends: list[Any], **states: str) -> dict[str, Any]:
    """A loop over the rows of `x`; `body` has the index `i` and states by their names."""
    args = [["count", {"name": "rows"}], ["start", True], *([name, {"name": given}] for name, given in states.items())]
    graph = {"inputs": ["i", *states], "nodes": body, "outputs": [True, *({"name": end} for end in ends)]}
    return {"op": "prim::Loop", "args": args, "results": [f"{name}.last" for name in states], "blocks": [graph]}


def test_a_loop_of_unknown_length_fills_a_list_and_changes_a_tensor_around_it():
    x = rng.standard_normal((70, 3)).astype("float32")
    body = [
        node("aten::select", "row", self="x", dim=0, index="i"),
        node("aten::add_", "changed", self="total", other="row"),
        node("aten::clone", "copy", self="changed"),
        node("aten::append", "list.same", self="list", el="copy"),
        node("aten::select", "place", self="out", dim=0, index="i"),
        node("aten::copy_", "written", self="place", src="copy"),
    ]
    nodes = [
        node("aten::size", "rows", self="x", dim=0),
        {"op": "prim::ListConstruct", "args": [], "results": ["list"]},
        node("aten::zeros", "total", size=[3]),
        node("aten::zeros_like", "out", self="x"),
        loop(body, []),
        node("aten::stack", "stacked", tensors="list", dim=0),
        node("aten::add", "both", self="stacked", other="out"),
        node("aten::add", "all", self="both", other="total"),
    ]
    sums = np.cumsum(x, 0)
    np.testing.assert_allclose(answers({"x": x}, nodes, "all"), 2 * sums + sums[-1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_branch_of_unknown_condition_changes_a_view_and_the_length_of_a_list(sign):
    x = sign * rng.uniform(1, 2, (2, 3)).astype("float32")
    yes = [node("aten::mul_", "a", self="row", other=3), node("aten::append", "b", self="list", el="x")]
    sides = [{"inputs": [], "nodes": nodes, "outputs": []} for nodes in (yes, [])]
    nodes = [
        node("aten::clone", "y", self="x"),
        node("aten::select", "row", self="y", dim=0, index=0),
        {"op": "prim::ListConstruct", "args": [["0", {"name": "y"}]], "results": ["list"]},
        node("aten::sum", "total", self="x"),
        node("aten::gt", "is_positive", self="total", other=0),
        {"op": "prim::If", "args": [["0", {"name": "is_positive"}]], "results": [], "blocks": sides},
        node("aten::cat", "parts", tensors="list", dim=0),
        node("aten::cat", "out", tensors=["y", "parts"], dim=0),
    ]
    changed = np.concatenate([x[:1] * (3 if sign > 0 else 1), x[1:]])
    parts = [changed, x] if sign > 0 else [x]  # the list has the tensor itself
    np.testing.assert_allclose(answers({"x": x}, nodes, "out"), np.concatenate([changed, *parts]), rtol=1e-6)


def test_masks_written_part_by_part_are_computed_while_importing():
    x = rng.standard_normal((16, 16)).astype("float32")
    nodes, mask = [node("aten::zeros", "mask0", size=[16, 16])], np.zeros((16, 16), "float32")
    for i in range(12):
        nodes += [
            node("aten::slice", f"rows{i}", self=f"mask{i}", dim=0, start=i, end=i + 4),
            node("aten::slice", f"part{i}", self=f"rows{i}", dim=1, start=12 - i, end=16),
            node("aten::fill", f"filled{i}", self=f"part{i}", value=i),
            node("aten::slice_scatter", f"row{i}", self=f"rows{i}", src=f"filled{i}", dim=1, start=12 - i, end=16),
            node("aten::slice_scatter", f"mask{i + 1}", self=f"mask{i}", src=f"row{i}", dim=0, start=i, end=i + 4),
        ]
        mask[i : i + 4, 12 - i : 16] = i
    nodes.append(node("aten::mul", "out", self="x", other="mask12"))
    np.testing.assert_array_equal(answers({"x": x}, nodes, "out"), x * mask)


def test_elements_by_strides():
    x = rng.standard_normal((4, 6)).astype("float32")
    nodes = [
        node("aten::clone", "y", self="x"),
        node("aten::as_strided", "part", self="y", size=[3], stride=[7], storage_offset=1),
        node("aten::mul_", "changed", self="part", other=2),
        node("aten::as_strided", "out", self="y", size=[6, 4], stride=[1, 6]),
    ]
    want = x.copy()
    want.ravel()[[1, 8, 15]] *= 2
    np.testing.assert_array_equal(answers({"x": x}, nodes, "out"), want.T)
    nodes[1] = node("aten::as_strided", "part", self="y", size=[3], stride=[12], storage_offset=1)
    with pytest.raises(ValueError, match="the view reaches element 25 of 24"):
        answers({"x": x}, nodes, "out")


def test_a_quantised_layer_adds_up_integers():
    x, bias = (rng.uniform(-2, 2, shape).astype("float32") for shape in ((5, 7), (3,)))
    integers, scales = rng.integers(-128, 128, (3, 7)).astype("int8"), np.array([0.01, 0.02, 0.03], "float32")
    packed = [{"weight": "w"}, {"weight": "s"}, {"weight": "z"}, 0, {"weight": "b"}]
    nodes = [
        node("aten::quantize_per_tensor", "q", self="x", scale=0.02, zero_point=110, dtype=13),
        {"op": "quantized::linear", "results": ["y"]},
        node("aten::dequantize", "out", self="y"),
    ]
    nodes[1]["args"] = [["X", {"name": "q"}], ["W", packed], ["scale", 0.3], ["zero", 90]]
    got = answers({"x": x}, nodes, "out", w=integers, s=scales, z=np.zeros(3, "int32"), b=bias)
    data = np.clip(np.round(x / np.float32(0.02)) + 110, 0, 255) - 110
    sums = (data @ integers.T.astype("float64")) * 0.02 * scales + bias
    want = 0.3 * (np.clip(np.round(sums / 0.3) + 90, 0, 255) - 90)
    assert np.abs(got - want).max() < 0.301  # a step
    assert (np.abs(got - want) > 1e-4).sum() <= 1


def test_a_number_is_added_to_integers_by_moving_their_zero_point():
    x = rng.uniform(-2, 2, (4, 5)).astype("float32")
    quantized = node("aten::quantize_per_tensor", "q", self="x", scale=0.02, zero_point=110, dtype=13)
    moved = node("quantized::add_scalar", "y", qa="q", b=0.5)
    number = node("aten::q_zero_point", "zero", self="y")
    assert answers({"x": x}, [quantized, moved, number], "zero") == 85
    got = answers({"x": x}, [quantized, moved, node("aten::dequantize", "out", self="y")], "out")
    want = 0.02 * (np.clip(np.round(x / np.float32(0.02)) + 110, 0, 255) - 110) + 0.5
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_operators_of_floats_take_quantised_tensors():
    x = rng.uniform(-2, 2, (2, 3, 4)).astype("float32")
    nodes = [
        node("aten::quantize_per_tensor", "q", self="x", scale=0.02, zero_point=110, dtype=13),
        node("aten::transpose", "t", self="q", dim0=0, dim1=2),
        node("aten::sigmoid", "s", self="t"),
        node("aten::q_scale", "scale", self="s"),
        node("aten::int_repr", "out", self="s"),
    ]
    assert answers({"x": x}, nodes[:4], "scale") == np.float32(1 / 256)
    got = answers({"x": x}, nodes, "out")
    want = np.round(256 / (1 + np.exp(-x.transpose(2, 1, 0)))).astype("int64")
    assert got.dtype == np.uint8 and np.abs(got - want).max() <= 1


def test_a_deformed_window_fades_out_beyond_the_border():
    x = rng.standard_normal((1, 1, 3, 3)).astype("float32")
    offset = np.zeros((1, 2, 3, 3), "float32")
    offset[:, 0] = -0.25  # a quarter of a row up
    steps = {f"{name}_{side}": int(name != "pad") for name in ("stride", "pad", "dilation") for side in "hw"}
    numbers = {**steps, "groups": 1, "offset_groups": 1}
    call = node("torchvision::deform_conv2d", "out", input="x", weight="w", offset="o", mask="o", bias="b", **numbers)
    call["args"].append(["use_mask", False])
    inputs = {"x": x, "w": np.ones((1, 1, 1, 1), "float32"), "o": offset, "b": np.zeros(1, "float32")}
    above = np.concatenate([np.zeros((1, 1, 1, 3), "float32"), x[:, :, :2]], 2)
    np.testing.assert_allclose(answers(inputs, [call], "out"), 0.75 * x + 0.25 * above, rtol=1e-5, atol=1e-6)


def test_a_step_of_batch_norm_gives_its_statistics_too():
    x, weight, bias, running = (rng.uniform(1, 2, shape).astype("float32") for shape in ((4, 3, 5), (3,), (3,), (3,)))
    step = node(
        "aten::_native_batch_norm_legit_functional",
        "",
        input="x",
        weight="w",
        bias="b",
        running_mean="r",
        running_var="r",
        training=True,
        momentum=0.25,
        eps=1e-3,
    )
    step["results"] = ["out", "mean", "scale", "new_mean", "new_var"]
    mean, var = x.mean((0, 2)), x.var((0, 2))
    scale = 1 / np.sqrt(var + 1e-3)
    wanted = {
        "out": (x - mean[:, None]) * (scale * weight)[:, None] + bias[:, None],
        "mean": mean,
        "scale": scale,
        "new_mean": 0.75 * running + 0.25 * mean,
        "new_var": 0.75 * running + 0.25 * x.var((0, 2), ddof=1),
    }
    for name, want in wanted.items():
        got = answers({"x": x, "w": weight, "b": bias, "r": running}, [step], name)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_parts_have_sizes_that_a_run_decides():
    x, mask = rng.standard_normal((6, 3)).astype("float32"), np.array([0, 1, 1, 0], "bool")
    nodes = [
        node("aten::sum", "count", self="mask"),
        node("aten::rsub", "rest", self="count", other=6),
        node("aten::split_with_sizes", "parts", self="x", split_sizes=["count", "rest"], dim=0),
        node("aten::__getitem__", "out", list="parts", idx=1),
    ]
    np.testing.assert_array_equal(answers({"x": x, "mask": mask}, nodes, "out"), x[2:])


def test_rows_of_a_number_that_a_run_decides_are_unbound_by_column():
    x, keep = rng.standard_normal((4, 3)).astype("float32"), np.array([0, 1, 1, 0], "bool")
    nodes = [
        node("aten::index", "rows", self="x", indices=["keep"]),
        node("aten::unbind", "columns", self="rows", dim=1),
        node("aten::__getitem__", "out", list="columns", idx=2),
    ]
    np.testing.assert_array_equal(answers({"x": x, "keep": keep}, nodes, "out"), x[keep, 2])


def test_indices_of_a_pool_over_a_dynamic_batch():
    x = rng.standard_normal((2, 3, 4, 6)).astype("float32")
    windows = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 2, 4, 3, 5).reshape(2, 3, 2, 3, 4)
    rows, columns = np.divmod(windows.argmax(-1), 2)
    want = (2 * np.arange(2)[:, None] + rows) * 6 + 2 * np.arange(3) + columns
    pool = node("aten::max_pool2d_with_indices", "both", self="x", kernel_size=[2, 2])
    for index, expected in enumerate((windows.max(-1), want)):
        nodes = [pool, node("operator::getitem", "out", a="both", b=index)]
        np.testing.assert_array_equal(answers({"x": x}, nodes, "out", batch="n"), expected)


def test_differences_of_neighbours():
    x, more = rng.standard_normal((2, 5)).astype("float32"), rng.standard_normal((2, 1)).astype("float32")
    got = answers({"x": x, "more": more}, [node("aten::diff", "out", self="x", n=2, dim=-1, append="more")], "out")
    np.testing.assert_allclose(got, np.diff(x, 2, append=more), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dim", [0, 2])
def test_a_weight_with_a_norm_of_its_own(dim):
    v = rng.standard_normal((3, 4, 5)).astype("float32")
    axes = tuple(i for i in range(3) if i != dim)
    g = rng.standard_normal([v.shape[i] if i == dim else 1 for i in range(3)]).astype("float32")
    got = answers({"v": v, "g": g}, [node("aten::_weight_norm", "out", v="v", g="g", dim=dim)], "out")
    np.testing.assert_allclose(got, v * g / np.sqrt((v * v).sum(axes, keepdims=True)), rtol=1e-5)


def test_changes_in_place_follow_one_another():
    x = rng.standard_normal((4, 3)).astype("float32")
    nodes = [
        node("aten::clone", "whole", self="x"),
        node("aten::select", "row", self="whole", dim=0, index=1),
        node("aten::mul_", "twice", self="row", other=2),
        node("aten::add_", "more", self="twice", other=1),
        node("aten::mul", "out", self="whole", other=1),
    ]
    want = x.copy()
    want[1] = want[1] * 2 + 1
    np.testing.assert_allclose(answers({"x": x}, nodes, "out"), want, rtol=1e-6)


def test_a_transposed_tensor_is_copied_to_be_contiguous():
    x = rng.standard_normal((4, 3)).astype("float32")
    for copying, changed in (("aten::contiguous", 1), ("aten::detach", 2)):
        nodes = [
            node("aten::clone", "whole", self="x"),
            node("aten::transpose", "turned", self="whole", dim0=0, dim1=1),
            node(copying, "other", self="turned"),
            node("aten::mul_", "twice", self="other", other=2),
            node("aten::mul", "out", self="whole", other=1),
        ]
        np.testing.assert_allclose(answers({"x": x}, nodes, "out"), x * changed, rtol=1e-6)


def test_elements_that_lie_over_each_other_are_not_changed():
    x = rng.standard_normal((1, 3)).astype("float32")
    nodes = [node("aten::expand", "wide", self="x", size=[2, 3]), node("aten::mul_", "out", self="wide", other=2)]
    with pytest.raises(OpNotImplemented, match="through a view whose elements are not its alone"):
        answers({"x": x}, nodes, "out")


def test_unsupported_nodes_are_named_all_at_once():
    graph = {
        "inputs": ["x"],
        "nodes": [
            {**node("aten::no_such_operator", "a", self="x"), "label": "first"},
            {**node("aten::relu", "b", self="a"), "label": "second"},
            {**node("aten::view", "c", self="x", size=[7]), "label": "third"},
        ],
        "outputs": [{"name": "b"}],
    }
    inputs = [{"name": "x", "shape": [2, 3], "dtype": "float32"}]
    program = json.dumps({"inputs": inputs, "params": [], "graph": graph, "output_names": []})
    rows = [[str(part) for part in row] for row in get_global_func("frontend.torch.unsupported_nodes")(program, {})]
    assert [row[:2] for row in rows] == [["first", "no_such_operator"], ["third", "view"]]
    assert rows[0][2] == "the operator is not supported" and "7" in rows[1][2]
