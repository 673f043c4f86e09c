"""RNN, GRU and LSTM of ONNX against loops in NumPy: attributes, directions, lengths, dynamic shapes, element types."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from tessera import onnx_backend, relay  # noqa: E402
from tessera.error import OpNotImplemented  # noqa: E402

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}

ACTIVATIONS = {
    "Affine": lambda x, a, b: a * x + b,
    "Elu": lambda x, a, b: np.where(x < 0, a * (np.exp(np.minimum(x, 0)) - 1), x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Tanh": lambda x, a, b: np.tanh(x),
    "ThresholdedRelu": lambda x, a, b: np.where(x < a, 0, x),
}
ALPHAS = {"Affine": 1, "Elu": 1, "HardSigmoid": 0.2, "LeakyRelu": 0.01, "ScaledTanh": 1, "ThresholdedRelu": 1}
BETAS = {"Affine": 0, "HardSigmoid": 0.5, "ScaledTanh": 1}


def activation(name, alpha=None, beta=None):
    a, b = ALPHAS.get(name, 0) if alpha is None else alpha, BETAS.get(name, 0) if beta is None else beta
    return lambda x: ACTIVATIONS[name](x, a, b)


def step_of(op, x, h, c, r, rb, p, f, attrs):
    """One step of one sequence: x is what the data and its bias give to the gates."""
    clip = attrs.get("clip", 0)
    limit = (lambda v: np.clip(v, -clip, clip)) if clip else (lambda v: v)
    size = h.size
    if op == "RNN":
        return f[0](limit(x + r @ h + rb)), c
    if op == "GRU":
        xz, xr, xn = np.split(x, 3)
        z = f[0](limit(xz + r[:size] @ h + rb[:size]))
        reset = f[0](limit(xr + r[size : 2 * size] @ h + rb[size : 2 * size]))
        rn, bn = r[2 * size :], rb[2 * size :]
        inner = reset * (rn @ h + bn) if attrs.get("linear_before_reset") else rn @ (reset * h) + bn
        return (1 - z) * f[1](limit(xn + inner)) + z * h, c
    i, o, fg, n = np.split(x + r @ h + rb, 4)
    pi, po, pf = np.split(p, 3)
    i = f[0](limit(i + pi * c))
    fg = 1 - i if attrs.get("input_forget") else f[0](limit(fg + pf * c))
    c = fg * c + i * f[1](limit(n))
    return f[0](limit(o + po * c)) * f[2](c), c


def reference(op, attrs, x, w, r, b=None, n=None, h0=None, c0=None, p=None):
    """(steps, directions, batch, hidden) and the last states, as ONNX defines them."""
    steps, batch, _ = x.shape
    ways, _, hidden = r.shape
    gates = GATES[op] * hidden
    names = attrs.get("activations", USUAL[op] * ways)
    alphas, betas = iter(attrs.get("activation_alpha", ())), iter(attrs.get("activation_beta", ()))
    functions = [
        activation(name, next(alphas, None) if name in ALPHAS else None, next(betas, None) if name in BETAS else None)
        for name in names
    ]
    y = np.zeros((steps, ways, batch, hidden))
    last_h, last_c = np.zeros((ways, batch, hidden)), np.zeros((ways, batch, hidden))
    for d in range(ways):
        bias = np.zeros(2 * gates) if b is None else b[d].astype(float)
        f = functions[d * len(USUAL[op]) :]
        for k in range(batch):
            length = steps if n is None else min(max(int(n[k]), 0), steps)
            h = np.zeros(hidden) if h0 is None else h0[d, k].astype(float)
            c = np.zeros(hidden) if c0 is None else c0[d, k].astype(float)
            backwards = attrs.get("direction") == "reverse" or d == 1
            for t in range(length - 1, -1, -1) if backwards else range(length):
                fed = w[d].astype(float) @ x[t, k].astype(float) + bias[:gates]
                peepholes = np.zeros(3 * hidden) if p is None else p[d].astype(float)
                h, c = step_of(op, fed, h, c, r[d].astype(float), bias[gates:], peepholes, f, attrs)
                y[t, d, k] = h
            last_h[d, k], last_c[d, k] = h, c
    return (y, last_h, last_c) if op == "LSTM" else (y, last_h)


def random_inputs(op, steps, batch, size, hidden, ways=1, dtype="float32", seed=0, more=()):
    rng = np.random.default_rng(seed)
    gates = GATES[op] * hidden
    shapes = {"w": (ways, gates, size), "r": (ways, gates, hidden), "b": (ways, 2 * gates), "p": (ways, 3 * hidden)}
    shapes |= {"h0": (ways, batch, hidden), "c0": (ways, batch, hidden)}
    out = {"x": rng.standard_normal((steps, batch, size)).astype(dtype)}
    for name in ("w", "r", *more):
        if name == "n":
            out["n"] = rng.integers(0, steps + 1, batch).astype("int32")
        else:
            out[name] = (rng.uniform(-1, 1, shapes[name]) / np.sqrt(hidden)).astype(dtype)
    return out


def model_of(op, given, attrs, dynamic=(), constants=("w", "r", "b", "p")):
    """A model of one node; the dimensions of the data that `dynamic` names (steps, batch) are known at run time."""
    dims = {"x": ("steps", "batch", None), "n": ("batch",), "h0": (None, "batch", None), "c0": (None, "batch", None)}
    inputs, initializers = [], []
    for name, value in given.items():
        if name in constants:
            initializers.append(numpy_helper.from_array(value, name))
            continue
        names = dims.get(name, (None,) * value.ndim)
        if attrs.get("layout") and value.ndim == 3:
            names = (names[1], names[0], names[2])
        shape = [d if d in dynamic else extent for d, extent in zip(names, value.shape)]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape))
    order = [name if name in given else "" for name in ("x", "w", "r", "b", "n", "h0", "c0", "p")]
    outputs = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    kind = helper.np_dtype_to_tensor_dtype(given["x"].dtype)
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    node = helper.make_node(op, order, outputs, hidden_size=given["r"].shape[2], **attrs)
    graph = helper.make_graph([node], "graph", inputs, results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def check(op, given, attrs, tolerance=1e-5, **options):
    model = model_of(op, given, attrs, **options)
    inputs = [given[one.name] for one in model.graph.input]
    got = onnx_backend.prepare(model).run(inputs)
    for ours, want in zip(got, reference(op, attrs, **given), strict=True):
        assert ours.dtype == given["x"].dtype
        np.testing.assert_allclose(ours.astype(float), want, rtol=10 * tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(30))
def test_random_attributes(seed):
    rng = np.random.default_rng(seed)
    op = ("RNN", "GRU", "LSTM")[seed % 3]
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    ways = 2 if direction == "bidirectional" else 1
    attrs = {"direction": direction}
    if rng.random() < 0.5:
        attrs["clip"] = float(rng.uniform(0.2, 1))
    if rng.random() < 0.5:
        attrs["activations"] = [str(name) for name in rng.choice(list(ACTIVATIONS), len(USUAL[op]) * ways)]
        attrs["activation_alpha"] = [float(a) for a in rng.uniform(0.1, 0.9, rng.integers(1, 4))]
        attrs["activation_beta"] = [float(a) for a in rng.uniform(0.1, 0.9, rng.integers(1, 3))]
    if op == "GRU":
        attrs["linear_before_reset"] = int(rng.integers(0, 2))
    if op == "LSTM":
        attrs["input_forget"] = int(rng.random() < 0.3)
    more = [name for name in ("b", "n", "h0") if rng.random() < 0.5]
    if op == "LSTM":
        more += [name for name in ("c0", "p") if rng.random() < 0.5]
    steps, batch = int(rng.integers(1, 7)), int(rng.choice([1, 2, 5, 9]))
    sizes = steps, batch, int(rng.integers(1, 8)), int(rng.choice([1, 5, 16, 33, 64]))
    dynamic = [name for name in ("steps", "batch") if rng.random() < 0.4]
    given = random_inputs(op, *sizes, ways, seed=seed, more=more)
    check(op, given, attrs, dynamic=dynamic, constants=("w", "r", "b", "p") if seed % 4 else ())


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_lengths_outside_of_the_steps_are_limited(op, direction):
    ways = 2 if direction == "bidirectional" else 1
    given = random_inputs(op, 4, 6, 3, 20, ways, more=("b", "h0"))
    given["n"] = np.array([-1, 5, 2**31 - 1, -(2**31), 0, 3], "int32")
    check(op, given, {"direction": direction})


@pytest.mark.parametrize("op", GATES)
def test_many_steps_are_one_kernel(op):
    given = random_inputs(op, 200, 2, 3, 16, more=("b",))
    check(op, given, {}, tolerance=1e-4)
    mod, params = relay.frontend.from_onnx(model_of(op, given, {}))
    text = str(mod["main"])
    assert text.count("nn.recurrent(") == 1 and "let" not in text, text


@pytest.mark.parametrize("batch", [1, 5, 6, 7, 40])
@pytest.mark.parametrize("dynamic", [(), ("batch",)])
def test_every_number_of_rows_has_its_tile(batch, dynamic):
    given = random_inputs("LSTM", 3, batch, 4, 80, more=("b",))
    check("LSTM", given, {}, dynamic=dynamic)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("dtype, tolerance", [("float16", 2e-3), ("float64", 1e-9)])
def test_other_element_types(op, dtype, tolerance):
    given = random_inputs(op, 5, 3, 4, 24, dtype=dtype, more=("b", "n", "h0"))
    check(op, given, {}, tolerance=tolerance)


def test_a_layout_with_the_batch_first():
    given = random_inputs("LSTM", 5, 3, 4, 8, more=("b", "h0", "c0"))
    want = reference("LSTM", {}, **given)
    turned = given | {name: given[name].swapaxes(0, 1).copy() for name in ("x", "h0", "c0")}
    model = model_of("LSTM", turned, {"layout": 1}, dynamic=("batch",))
    y, h, c = onnx_backend.prepare(model).run([turned[one.name] for one in model.graph.input])
    np.testing.assert_allclose(y, want[0].transpose(2, 0, 1, 3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(h, want[1].swapaxes(0, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(c, want[2].swapaxes(0, 1), rtol=1e-4, atol=1e-5)


def test_no_steps_give_the_first_states():
    given = random_inputs("LSTM", 1, 2, 3, 8, more=("h0", "c0"))
    model = model_of("LSTM", given, {}, dynamic=("steps",))
    given["x"] = given["x"][:0]
    y, h, c = onnx_backend.prepare(model).run([given[one.name] for one in model.graph.input])
    assert y.shape == (0, 1, 2, 8)
    np.testing.assert_array_equal(h, given["h0"])
    np.testing.assert_array_equal(c, given["c0"])


def test_an_unknown_activation_is_named():
    given = random_inputs("RNN", 2, 1, 2, 4)
    with pytest.raises(OpNotImplemented, match="the activation wobbly"):
        relay.frontend.from_onnx(model_of("RNN", given, {"activations": ["Wobbly"]}))
