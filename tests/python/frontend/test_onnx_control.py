"""Loops, branches and sequences of ONNX models, beyond what ONNX's own tests of operators ask."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402
from tessera import onnx_backend, relay  # noqa: E402
from tessera.error import OpNotImplemented  # noqa: E402


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def prepared(nodes, inputs, outputs, opset=18):
    graph = helper.make_graph(nodes, "graph", inputs, outputs)
    return onnx_backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def doubling_body():
    """state -> state + state, which is also collected; goes on while the sum is below a limit of the outer graph."""
    nodes = [
        helper.make_node("Add", ["state", "state"], ["next"]),
        helper.make_node("ReduceSum", ["next"], ["total"], keepdims=0),
        helper.make_node("Less", ["total", "limit"], ["again"]),
        helper.make_node("Identity", ["next"], ["seen"]),
    ]
    inputs = [
        value("i", TensorProto.INT64, ()),
        value("go", TensorProto.BOOL, ()),
        value("state", TensorProto.FLOAT, (2,)),
    ]
    outputs = [
        value("again", TensorProto.BOOL, ()),
        value("next", TensorProto.FLOAT, (2,)),
        value("seen", TensorProto.FLOAT, (2,)),
    ]
    return helper.make_graph(nodes, "body", inputs, outputs)


def test_a_loop_whose_end_is_known_only_at_run_time():
    loop = helper.make_node("Loop", ["most", "", "x"], ["last", "all"], body=doubling_body())
    run = prepared(
        [loop],
        [
            value("most", TensorProto.INT64, ()),
            value("x", TensorProto.FLOAT, (2,)),
            value("limit", TensorProto.FLOAT, ()),
        ],
        [value("last", TensorProto.FLOAT, (2,)), value("all", TensorProto.FLOAT, None)],
    ).run
    x = np.array([1, 2], "float32")
    for most, limit, steps in ((10, 20, 3), (2, 1000, 2), (100, 5, 1)):
        last, everything = run([np.array(most), x, np.array(limit, "float32")])
        np.testing.assert_array_equal(last, x * 2**steps)
        np.testing.assert_array_equal(everything, np.stack([x * 2 ** (i + 1) for i in range(steps)]))


def test_what_a_loop_reads_from_outside_is_computed_before_it():
    body = helper.make_graph(
        [helper.make_node("Add", ["state", "heavy"], ["next"]), helper.make_node("Identity", ["go"], ["again"])],
        "body",
        [
            value("i", TensorProto.INT64, ()),
            value("go", TensorProto.BOOL, ()),
            value("state", TensorProto.FLOAT, (2,)),
        ],
        [value("again", TensorProto.BOOL, ()), value("next", TensorProto.FLOAT, (2,))],
    )
    graph = helper.make_graph(
        [helper.make_node("Exp", ["x"], ["heavy"]), helper.make_node("Loop", ["most", "", "x"], ["y"], body=body)],
        "graph",
        [value("most", TensorProto.INT64, ()), value("x", TensorProto.FLOAT, (2,))],
        [value("y", TensorProto.FLOAT, (2,))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    text = str(relay.frontend.from_onnx(model)[0]["main"])
    assert 0 < text.index("exp(") < text.index("let %loop"), text
    x = np.array([1, 2], "float32")
    (y,) = onnx_backend.prepare(model).run([np.array(5), x])
    np.testing.assert_allclose(y, x + 5 * np.exp(x), rtol=1e-5)


def test_a_branch_that_is_taken_at_run_time():
    def branch(op, name):
        return helper.make_graph(
            [helper.make_node(op, ["x", "x"], [name])], name, [], [value(name, TensorProto.FLOAT, (3,))]
        )

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Add", "a"), else_branch=branch("Mul", "m"))
    run = prepared(
        [node],
        [value("c", TensorProto.BOOL, ()), value("x", TensorProto.FLOAT, (3,))],
        [value("y", TensorProto.FLOAT, (3,))],
    ).run
    x = np.array([1, 2, 5], "float32")
    np.testing.assert_array_equal(run([np.array(True), x])[0], x + x)
    np.testing.assert_array_equal(run([np.array(False), x])[0], x * x)


def test_a_long_scan_is_a_loop():
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["y"])],
        "body",
        [value("s", TensorProto.FLOAT, (2,)), value("x", TensorProto.FLOAT, (2,))],
        [value("t", TensorProto.FLOAT, (2,)), value("y", TensorProto.FLOAT, (2,))],
    )
    node = helper.make_node("Scan", ["s0", "xs"], ["s", "ys"], body=body, num_scan_inputs=1, scan_input_directions=[1])
    run = prepared(
        [node],
        [value("s0", TensorProto.FLOAT, (2,)), value("xs", TensorProto.FLOAT, (100, 2))],
        [value("s", TensorProto.FLOAT, (2,)), value("ys", TensorProto.FLOAT, (100, 2))],
    ).run
    xs = np.arange(200, dtype="float32").reshape(100, 2)
    last, collected = run([np.zeros(2, "float32"), xs])
    np.testing.assert_allclose(last, xs.sum(0))
    np.testing.assert_allclose(collected, np.cumsum(xs[::-1], 0))


def collecting_loop(count, row, body_nodes):
    """A loop whose body makes "row" from its iteration "i", which is collected; `row` is its shape."""
    body = helper.make_graph(
        [*body_nodes, helper.make_node("Identity", ["go"], ["again"])],
        "body",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ())],
        [value("again", TensorProto.BOOL, ()), value("row", TensorProto.FLOAT, row)],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", [count, ""], ["all"], body=body)],
        "graph",
        [value("n", TensorProto.INT64, ()), value("x", TensorProto.FLOAT, row)],
        [value("all", TensorProto.FLOAT, None)],
        [helper.make_tensor("none", TensorProto.INT64, (), [0])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


SCALED = [helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT), helper.make_node("Mul", ["x", "f"], ["row"])]


@pytest.mark.parametrize("row", [(3,), ("b",), ()])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000])
def test_a_loop_collects_rows_of_any_shape_and_number(row, count):
    x = np.ones([3] * len(row), "float32")
    (got,) = onnx_backend.prepare(collecting_loop("n", row, SCALED)).run([np.array(count), x])
    if count == 0:  # nobody knows what is not computed
        assert got.shape == (0, *[extent if isinstance(extent, int) else 0 for extent in row])
    else:
        np.testing.assert_array_equal(got, np.stack([x * i for i in range(count)]))


def test_a_loop_that_never_runs_collects_nothing():
    (got,) = onnx_backend.prepare(collecting_loop("none", (3,), SCALED)).run([np.array(5), np.ones(3, "float32")])
    assert got.shape == (0, 3)


def test_what_a_loop_collects_is_appended_and_not_copied():
    mod, params = relay.frontend.from_onnx(collecting_loop("n", (3,), SCALED))
    text = relay.vm.compile(mod, "llvm", params=params).bytecode
    assert "append" in text and "concatenate" not in text, text


def test_rows_of_different_shapes_are_an_error():
    nodes = [
        helper.make_node("Constant", [], ["axes"], value_ints=[0]),
        helper.make_node("Constant", [], ["one"], value_float=1.0),
        helper.make_node("Unsqueeze", ["i", "axes"], ["size"]),
        helper.make_node("Expand", ["one", "size"], ["row"]),
    ]
    model = collecting_loop("n", ("b",), nodes)
    with pytest.raises(Exception, match="a loop collects values of one shape and element type"):
        onnx_backend.prepare(model).run([np.array(3), np.ones(1, "float32")])


def test_a_loop_inside_a_loop_collects_what_the_inner_one_collected():
    inner = helper.make_graph(
        [
            helper.make_node("Add", ["i", "j"], ["sum"]),
            helper.make_node("Cast", ["sum"], ["row"], to=TensorProto.FLOAT),
            helper.make_node("Identity", ["go2"], ["again2"]),
        ],
        "inner",
        [value("j", TensorProto.INT64, ()), value("go2", TensorProto.BOOL, ())],
        [value("again2", TensorProto.BOOL, ()), value("row", TensorProto.FLOAT, ())],
    )
    outer = helper.make_graph(
        [
            helper.make_node("Loop", ["m", ""], ["rows"], body=inner),
            helper.make_node("Identity", ["go"], ["again"]),
        ],
        "outer",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ())],
        [value("again", TensorProto.BOOL, ()), value("rows", TensorProto.FLOAT, None)],
    )
    run = prepared(
        [helper.make_node("Loop", ["n", ""], ["all"], body=outer)],
        [value("n", TensorProto.INT64, ()), value("m", TensorProto.INT64, ())],
        [value("all", TensorProto.FLOAT, None)],
    ).run
    for n, m in ((1, 1), (3, 20), (20, 3)):
        (got,) = run([np.array(n), np.array(m)])
        np.testing.assert_array_equal(got, np.add.outer(np.arange(n), np.arange(m)))


@pytest.mark.parametrize("length", [1, 5, 100])
def test_a_scan_of_dynamic_length(length):
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "x"], ["t"]), helper.make_node("Identity", ["t"], ["y"])],
        "body",
        [value("s", TensorProto.FLOAT, ("b",)), value("x", TensorProto.FLOAT, ("b",))],
        [value("t", TensorProto.FLOAT, ("b",)), value("y", TensorProto.FLOAT, ("b",))],
    )
    node = helper.make_node(
        "Scan",
        ["s0", "xs"],
        ["s", "ys"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[1],
        scan_output_directions=[1],
        scan_output_axes=[1],
    )
    run = prepared(
        [node],
        [value("s0", TensorProto.FLOAT, ("b",)), value("xs", TensorProto.FLOAT, ("n", "b"))],
        [value("s", TensorProto.FLOAT, ("b",)), value("ys", TensorProto.FLOAT, None)],
    ).run
    xs = np.random.default_rng(0).standard_normal((length, 2)).astype("float32")
    last, collected = run([np.zeros(2, "float32"), xs])
    np.testing.assert_allclose(last, xs.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(collected, np.cumsum(xs[::-1], 0)[::-1].T, rtol=1e-4, atol=1e-5)


def test_sequences_go_in_and_out():
    nodes = [
        helper.make_node("SequenceInsert", ["items", "x", "at"], ["more"]),
        helper.make_node("SequenceLength", ["more"], ["count"]),
    ]
    items = onnx.ValueInfoProto(name="items")
    items.type.sequence_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT
    more = onnx.ValueInfoProto()
    more.CopyFrom(items)
    more.name = "more"
    run = prepared(
        nodes,
        [items, value("x", TensorProto.FLOAT, (2,)), value("at", TensorProto.INT64, ())],
        [more, value("count", TensorProto.INT64, ())],
    ).run
    a, b, x = (np.array(part, "float32") for part in ([1], [2, 3], [4, 5]))
    sequence, count = run([[a, b], x, np.array(-1)])
    assert count == 3
    for got, want in zip(sequence, (a, x, b)):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_with_lengths_stops_at_each_of_them(direction):
    steps, batch, size, hidden = 5, 3, 4, 2
    ways = 2 if direction == "bidirectional" else 1
    rng = np.random.default_rng(0)
    x, w, r = (
        rng.standard_normal(shape).astype("float32")
        for shape in ((steps, batch, size), (ways, 4 * hidden, size), (ways, 4 * hidden, hidden))
    )
    lengths = np.array([5, 2, 3], "int32")
    node = helper.make_node("LSTM", ["x", "w", "r", "", "n"], ["y", "h"], hidden_size=hidden, direction=direction)
    run = prepared(
        [node],
        [
            value("x", TensorProto.FLOAT, x.shape),
            value("w", TensorProto.FLOAT, w.shape),
            value("r", TensorProto.FLOAT, r.shape),
            value("n", TensorProto.INT32, lengths.shape),
        ],
        [value("y", TensorProto.FLOAT, None), value("h", TensorProto.FLOAT, None)],
    ).run
    y, h = run([x, w, r, lengths])

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    for way in range(ways):
        for b, count in enumerate(lengths):
            order = range(count - 1, -1, -1) if direction == "reverse" or way == 1 else range(count)
            state, cell = np.zeros(hidden), np.zeros(hidden)
            for t in order:
                i, o, f, c = np.split(w[way] @ x[t, b] + r[way] @ state, 4)
                cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
                state = sigmoid(o) * np.tanh(cell)
                np.testing.assert_allclose(y[t, way, b], state, rtol=1e-4, atol=1e-6)
            np.testing.assert_array_equal(y[count:, way, b], 0)
            np.testing.assert_allclose(h[way, b], state, rtol=1e-4, atol=1e-6)


def test_what_a_sequence_of_unknown_length_needs_is_named():
    body = helper.make_graph(
        [
            helper.make_node("SequenceInsert", ["s", "x"], ["t"]),
            helper.make_node("Identity", ["go"], ["again"]),
        ],
        "body",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), onnx.ValueInfoProto(name="s")],
        [value("again", TensorProto.BOOL, ()), onnx.ValueInfoProto(name="t")],
    )
    nodes = [
        helper.make_node("SequenceEmpty", [], ["none"]),
        helper.make_node("Cast", ["x"], ["most"], to=TensorProto.INT64),
        helper.make_node("Loop", ["most", "", "none"], ["all"], body=body),
        helper.make_node("SequenceLength", ["all"], ["count"]),
    ]
    graph = helper.make_graph(
        nodes, "graph", [value("x", TensorProto.FLOAT, ())], [value("count", TensorProto.INT64, ())]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    from tessera.relay.frontend import from_onnx

    with pytest.raises(OpNotImplemented, match="number of iterations must be known while importing.*inputs: x"):
        from_onnx(model)
    (count,) = onnx_backend.prepare(model).run([np.array(3, "float32")])
    assert count == 3
