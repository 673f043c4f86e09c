"""MXNet's symbols and parameters, read without MXNet, against NumPy. `make test-frameworks FRAMEWORK=mxnet` asks MXNet itself."""

import json
import struct

import numpy as np
import pytest
import tessera
from tessera import relay

random = np.random.default_rng(0)


def tensor(*shape):
    return random.uniform(-1, 1, shape).astype("float32")


class Symbol:
    """A graph as MXNet writes it."""

    def __init__(self):
        self.nodes = []

    def variable(self, name, **attributes):
        return self.node("null", name, [], attributes)

    def node(self, op, name, inputs, attributes, graphs=()):
        entry = {"op": op, "name": name, "inputs": [[*one, 0] for one in inputs], "attrs": attributes}
        if graphs:
            entry["subgraphs"] = [json.loads(graph) for graph in graphs]
        self.nodes.append(entry)
        return (len(self.nodes) - 1, 0)

    def json(self, *heads):
        variables = [i for i, node in enumerate(self.nodes) if node["op"] == "null"]
        return json.dumps({"nodes": self.nodes, "arg_nodes": variables, "heads": [[*one, 0] for one in heads]})


def params_file(tensors):
    """What `mx.nd.save` writes."""
    flags = {"float32": 0, "float64": 1, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}
    out = struct.pack("<QQQ", 0x112, 0, len(tensors))
    for value in tensors.values():
        out += struct.pack("<IiI", 0xF993FAC9, 0, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)
        out += struct.pack("<iii", 1, 0, flags[str(value.dtype)]) + value.tobytes()
    out += struct.pack("<Q", len(tensors))
    for name in tensors:
        out += struct.pack("<Q", len(name)) + name.encode()
    return out


def run(symbol, shapes, *inputs, arg=None, aux=None, executor="graph"):
    mod, params = relay.frontend.from_mxnet(symbol, shapes, "float32", arg, aux)
    out = relay.create_executor(executor, mod).evaluate()(*inputs, **params)
    return [one.numpy() for one in out] if not hasattr(out, "numpy") else out.numpy()


def small():
    """A linear layer with an activation, a label, and a sum of two of its outputs."""
    graph = Symbol()
    x, w, b = graph.variable("data"), graph.variable("w"), graph.variable("b")
    dense = graph.node("FullyConnected", "fc", [x, w, b], {"num_hidden": "3"})
    label = graph.variable("softmax_label")
    return graph.json(graph.node("SoftmaxOutput", "softmax", [dense, label], {}))


def small_by_hand(x, w, b):
    scores = np.exp(x.reshape(len(x), -1) @ w.T + b)
    return scores / scores.sum(1, keepdims=True)


def test_a_label_is_no_input_and_its_shape_may_be_given():
    x, w, b = tensor(2, 2, 2), tensor(3, 4), tensor(3)
    out = run(small(), {"data": x.shape, "softmax_label": (2,)}, x, arg={"w": w, "arg:b": b})
    np.testing.assert_allclose(out, small_by_hand(x, w, b), rtol=1e-5)


def test_files_are_read_together_and_known_by_their_content(tmp_path):
    w, b, x = tensor(3, 4), tensor(3), tensor(1, 4)
    (tmp_path / "net-symbol.json").write_text(small())
    (tmp_path / "net-0000.params").write_bytes(params_file({"arg:w": w * 2, "arg:b": b}))
    (tmp_path / "net-0009.params").write_bytes(params_file({"arg:w": w, "arg:b": b}))
    path = str(tmp_path / "net-symbol.json")
    mod, params, form = tessera.get_global_func("frontend.load_model")(path, "", {"data": [1, 4]}, "")
    assert form == "mxnet" and not params
    out = relay.create_executor("graph", mod).evaluate()(x).numpy()
    np.testing.assert_allclose(out, small_by_hand(x, w, b), rtol=1e-5)
    np.testing.assert_allclose(run(path, {"data": (1, 4)}, x), out, rtol=1e-5)


def test_weights_are_parameters_by_their_names():
    mod, params = relay.frontend.from_mxnet(small(), {"data": (1, 4)}, arg_params={"w": tensor(3, 4), "b": tensor(3)})
    assert [param.name_hint for param in mod["main"].params] == ["data", "w", "b"]
    assert sorted(map(str, params)) == ["b", "w"]


@pytest.mark.parametrize(
    ("op", "attributes", "expected"),
    [
        ("_plus_scalar", {"scalar": "1.5"}, lambda x: x + 1.5),
        ("_rminus_scalar", {"scalar": "1"}, lambda x: 1 - x),
        ("expm1", {}, np.expm1),
        ("log1p", {}, np.log1p),
        ("cbrt", {}, np.cbrt),
        ("_greater_scalar", {"scalar": "0"}, lambda x: (x > 0).astype("float32")),
        ("Reshape", {"shape": "(0, -1)"}, lambda x: x.reshape(2, -1)),
        ("Reshape", {"shape": "(-3, 0)"}, lambda x: x.reshape(6, 4)),
        ("transpose", {}, lambda x: x.T),
        ("SwapAxis", {"dim1": "0", "dim2": "2"}, lambda x: x.swapaxes(0, 2)),
        ("slice", {"begin": "(0, None, 3)", "end": "(2, -1, 0)", "step": "(1, 1, -1)"}, lambda x: x[0:2, :-1, 3:0:-1]),
        ("sum", {"axis": "1", "exclude": "True"}, lambda x: x.sum((0, 2))),
        ("mean", {}, lambda x: x.mean().reshape(1)),
        ("argmax", {"axis": "1"}, lambda x: x.argmax(1).astype("float32")),
        ("L2Normalization", {"mode": "instance"}, lambda x: x / np.sqrt((x * x).sum((1, 2), keepdims=True) + 1e-10)),
        ("repeat", {"repeats": "2", "axis": "1"}, lambda x: x.repeat(2, 1)),
        ("_contrib_arange_like", {"axis": "2", "start": "1"}, lambda x: np.float32([1, 2, 3, 4])),
    ],
)
def test_operators_of_one_input(op, attributes, expected):
    x, graph = tensor(2, 3, 4) * 0.9, Symbol()
    text = graph.json(graph.node(op, "node", [graph.variable("x")], attributes))
    np.testing.assert_allclose(run(text, {"x": x.shape}, x), expected(x), rtol=1e-4, atol=1e-6)


def test_parameters_of_recurrent_layers_lie_in_one_vector():
    x, h = tensor(3, 2, 4), tensor(1, 2, 5)
    w, r, bw, br = tensor(5, 4), tensor(5, 5), tensor(5), tensor(5)
    graph = Symbol()
    inputs = [graph.variable(name) for name in ("x", "p", "h")]
    node = graph.node(
        "RNN", "rnn", inputs, {"mode": "rnn_tanh", "state_size": "5", "num_layers": "1", "state_outputs": "True"}
    )
    packed = np.concatenate([w.ravel(), r.ravel(), bw, br])
    steps, state = [], h[0]
    for one in x:
        state = np.tanh(one @ w.T + bw + state @ r.T + br)
        steps.append(state)
    all_steps, last = run(graph.json(node, (node[0], 1)), {"x": x.shape, "p": packed.shape, "h": h.shape}, x, packed, h)
    np.testing.assert_allclose(all_steps, np.stack(steps), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, state[None], rtol=1e-4, atol=1e-6)


def adding_body():
    """(row, state) -> (row + state, row + state)"""
    body = Symbol()
    both = body.node("elemwise_add", "add", [body.variable("row"), body.variable("state")], {})
    return body.json(both, both)


def loop_over_rows(rows="1"):
    graph = Symbol()
    positions = {
        "in_data_locs": "(0,)",
        "in_state_locs": "(1,)",
        "remain_locs": "()",
        "num_out_data": rows,
        "num_outputs": "2",
    }
    loop = graph.node("_foreach", "loop", [graph.variable("x"), graph.variable("s")], positions, [adding_body()])
    return graph.json(loop, (loop[0], 1))


@pytest.mark.parametrize("rows", ["0", "2", "-1", "2147483648"])
def test_a_loop_gives_as_many_rows_as_its_graph(rows):
    with pytest.raises(ValueError, match="its graph does not give what the loop needs"):
        relay.frontend.from_mxnet(loop_over_rows(rows), {"x": (4, 3), "s": (3,)})


def test_a_loop_over_rows():
    x, start = tensor(4, 3), tensor(3)
    rows, last = run(loop_over_rows(), {"x": x.shape, "s": start.shape}, x, start)
    expected = np.cumsum(x, 0) + start
    np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(last, expected[-1], rtol=1e-4, atol=1e-6)


def test_a_loop_that_ends_by_a_condition_gives_zeros_afterwards():
    condition, body, graph = Symbol(), Symbol(), Symbol()
    small_enough = condition.node("_lesser_scalar", "less", [condition.variable("i")], {"scalar": "3"})
    step = body.node("_plus_scalar", "plus", [body.variable("i")], {"scalar": "1"})
    attributes = {"cond_input_locs": "(0,)", "func_input_locs": "(0,)", "func_var_locs": "(0,)"}
    attributes |= {"max_iterations": "5", "num_out_data": "1", "num_outputs": "2"}
    loop = graph.node(
        "_while_loop", "loop", [graph.variable("i")], attributes, [condition.json(small_enough), body.json(step, step)]
    )
    rows, last = run(graph.json(loop, (loop[0], 1)), {"i": (1,)}, np.float32([0]))
    assert rows.tolist() == [[1], [2], [3], [0], [0]] and last.tolist() == [3]


def test_a_branch():
    condition, yes, no, graph = Symbol(), Symbol(), Symbol(), Symbol()
    positive = condition.node("_greater_scalar", "above", [condition.variable("a")], {"scalar": "0"})
    positions = {"cond_input_locs": "(0,)", "then_input_locs": "(1,)", "else_input_locs": "(1,)"}
    graphs = [
        condition.json(positive),
        yes.json(yes.node("exp", "exp", [yes.variable("x")], {})),
        no.json(no.variable("x")),
    ]
    text = graph.json(graph.node("_cond", "if", [graph.variable("a"), graph.variable("x")], positions, graphs))
    x = tensor(3)
    for a, expected in ((1, np.exp(x)), (-1, x)):
        out = run(text, {"a": (1,), "x": (3,)}, np.float32([a]), x, executor="vm")
        np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_integers_reach_half_a_step_beyond_the_greatest_as_in_onednn():
    x, graph = np.float32([-1, -0.126, 0.5, 0.9999, 1]), Symbol()
    limits = {"min_calib_range": "-1.0", "max_calib_range": "1.0", "out_type": "int8"}
    node = graph.node("_contrib_quantize_v2", "q", [graph.variable("x")], limits)
    back = graph.node("_contrib_dequantize", "d", [node, (node[0], 1), (node[0], 2)], {})
    integers, floats = run(graph.json(node, back), {"x": x.shape}, x)
    assert integers.tolist() == [-128, -16, 64, 127, 127]
    np.testing.assert_allclose(floats, integers / np.float32(127.5), rtol=1e-6)


def test_deformed_windows_take_the_last_pixel_up_to_the_border():
    """One element of a kernel at each pixel: MXNet's samples are clamped inside of the image, and zero outside."""
    x, offset = tensor(1, 1, 4, 5), np.random.default_rng(3).uniform(-4, 4, (1, 2, 4, 5)).astype("float32")
    graph = Symbol()
    inputs = [graph.variable(name) for name in ("x", "offset", "w")]
    attributes = {"kernel": "(1, 1)", "num_filter": "1", "no_bias": "True"}
    text = graph.json(graph.node("_contrib_DeformableConvolution", "conv", inputs, attributes))
    weight = np.ones((1, 1, 1, 1), "float32")
    out = run(text, {"x": x.shape, "offset": offset.shape, "w": weight.shape}, x, offset, weight)
    expected = np.zeros((4, 5), "float32")
    for i, j in np.ndindex(4, 5):
        y, z = offset[0, :, i, j] + [i, j]
        if 0 <= y < 4 and 0 <= z < 5:
            y, z = min(y, 3), min(z, 4)
            rows, columns = [int(y), min(int(y) + 1, 3)], [int(z), min(int(z) + 1, 4)]
            part = x[0, 0][np.ix_(rows, columns)]
            expected[i, j] = np.float32([1 - y % 1, y % 1]) @ part @ np.float32([1 - z % 1, z % 1])
    np.testing.assert_allclose(out[0, 0], expected, rtol=1e-4, atol=1e-5)


def test_boxes_that_overlap_leave_the_best():
    boxes = np.float32([[[0, 0.5, 0, 0, 2, 2], [0, 0.9, 0, 0, 2, 2.1], [1, 0.6, 0, 0, 2, 2], [0, 0.1, 5, 5, 6, 6]]])
    graph = Symbol()
    attributes = {
        "overlap_thresh": "0.5",
        "valid_thresh": "0.2",
        "id_index": "0",
        "coord_start": "2",
        "score_index": "1",
    }
    text = graph.json(graph.node("_contrib_box_nms", "nms", [graph.variable("x")], attributes))
    out = run(text, {"x": boxes.shape}, boxes)
    np.testing.assert_allclose(out[0, :2], boxes[0, [1, 2]], rtol=1e-6)
    assert (out[0, 2:] == -1).all()


def test_everything_that_is_unsupported_is_listed_at_once():
    graph = Symbol()
    first = graph.node("wonder", "one", [graph.variable("x")], {})
    text = graph.json(graph.node("marvel", "two", [first], {}))
    message = "not supported for frontend MXNet: marvel, wonder\n  in node wonder one\n  in node marvel two"
    with pytest.raises(tessera.error.OpNotImplemented, match=message):
        relay.frontend.from_mxnet(text, {"x": (1,)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": []}', "no symbol of MXNet"),
        (
            '{"nodes": [{"op": "exp", "name": "a", "inputs": [[0, 0, 0]]}], "heads": [[0, 0, 0]]}',
            "does not come before it",
        ),
        ('{"nodes": [], "heads": [[7, 0, 0]]}', "does not come before it"),
        ('{"nodes": [{"op": "null", "name": "x"}], "heads": [[0, 0, 0]]}', "does not say the shape of its input x"),
        ('{"nodes": [{"op": "null", "name": ["x"]}], "heads": []}', '"name" must be a text'),
    ],
)
def test_a_symbol_that_makes_no_sense_is_an_error(text, message):
    with pytest.raises((tessera.error.TVMError, ValueError), match=message):
        relay.frontend.from_mxnet(text)


def test_damaged_parameters_are_errors(tmp_path):
    whole = params_file({"arg:w": tensor(3, 4)})
    (tmp_path / "net-symbol.json").write_text(small())
    for size in range(0, len(whole), 7):
        (tmp_path / "net-0000.params").write_bytes(whole[:size])
        with pytest.raises((ValueError, OSError)):
            relay.frontend.from_mxnet(tmp_path / "net-symbol.json", {"data": (1, 4)})
    huge = bytearray(whole)
    struct.pack_into("<q", huge, 24 + 12, 1 << 30)  # an extent
    (tmp_path / "net-0000.params").write_bytes(huge)
    with pytest.raises(ValueError, match="a tensor is larger than the file"):
        relay.frontend.from_mxnet(tmp_path / "net-symbol.json", {"data": (1, 4)})
