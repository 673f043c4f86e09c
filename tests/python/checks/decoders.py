"""Small language models of random weights: as ONNX, with their cache in several forms, and in NumPy."""

from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, helper, numpy_helper


@dataclass
class Sizes:
    vocabulary: int = 40
    width: int = 32
    heads: int = 4
    key_heads: int = 2
    layers: int = 2
    hidden: int = 48
    length: int = 64  # of the tables of angles

    @property
    def head(self):
        return self.width // self.heads


def weights_of(sizes, seed=0):
    random = np.random.default_rng(seed)
    w, kv = sizes.width, sizes.key_heads * sizes.head
    made = {"words": random.standard_normal((sizes.vocabulary, w)), "norm": np.ones(w)}
    made["scores"] = random.standard_normal((w, sizes.vocabulary))
    for i in range(sizes.layers):
        shapes = {"q": (w, w), "k": (w, kv), "v": (w, kv), "o": (w, w)}
        shapes |= {"gate": (w, sizes.hidden), "up": (w, sizes.hidden), "down": (sizes.hidden, w)}
        made |= {f"{name}.{i}": random.standard_normal(shape) / shape[0] ** 0.5 for name, shape in shapes.items()}
        made |= {f"before.{i}": random.random(w) + 0.5, f"after.{i}": random.random(w) + 0.5}
    turns = np.arange(sizes.length)[:, None] / 10000 ** (np.arange(0, sizes.head, 2) / sizes.head)
    made |= {"cosine": np.cos(turns), "sine": np.sin(turns)}
    return {name: value.astype("float32") for name, value in made.items()}


def reference_logits(ids, sizes, weights, window=0):
    """The scores after each of the tokens."""
    x, count = weights["words"][np.asarray(ids)], len(ids)

    def norm(x, weight):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight

    def heads(x, number):
        return x.reshape(count, number, sizes.head).transpose(1, 0, 2)

    def turned(x):
        first, second = np.split(x, 2, -1)
        c, s = weights["cosine"][:count], weights["sine"][:count]
        return np.concatenate([first * c - second * s, second * c + first * s], -1)

    distance = np.arange(count)[:, None] - np.arange(count)
    seen = (distance >= 0) & ((distance < window) | (window == 0))
    for i in range(sizes.layers):
        normed = norm(x, weights[f"before.{i}"])
        query = turned(heads(normed @ weights[f"q.{i}"], sizes.heads))
        key = turned(heads(normed @ weights[f"k.{i}"], sizes.key_heads))
        value = heads(normed @ weights[f"v.{i}"], sizes.key_heads)
        repeats = sizes.heads // sizes.key_heads
        key, value = key.repeat(repeats, 0), value.repeat(repeats, 0)
        scores = np.where(seen, query @ key.transpose(0, 2, 1) / sizes.head**0.5, -np.inf)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        x = x + mixed.transpose(1, 0, 2).reshape(count, -1) @ weights[f"o.{i}"]
        normed = norm(x, weights[f"after.{i}"])
        gate = normed @ weights[f"gate.{i}"]
        x = x + (gate / (1 + np.exp(-gate)) * (normed @ weights[f"up.{i}"])) @ weights[f"down.{i}"]
    return norm(x, weights["norm"]) @ weights["scores"]


def reference_ids(prompt, tokens, sizes, weights, **options):
    ids = list(prompt)
    for _ in range(tokens):
        ids.append(int(reference_logits(ids, sizes, weights, **options)[-1].argmax()))
    return ids[len(prompt) :]


@dataclass
class Graph:
    """Nodes, each named after its output."""

    nodes: list = field(default_factory=list)
    tensors: list = field(default_factory=list)
    count: int = 0

    def __call__(self, op, *inputs, outputs=None, **attributes):
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self.count += 1
        given = outputs or [f"{op}_{self.count}"]
        self.nodes.append(helper.make_node(op, names, given, **attributes))
        return given[0] if len(given) == 1 else given

    def constant(self, value):
        self.count += 1
        self.tensors.append(numpy_helper.from_array(np.asarray(value), f"constant_{self.count}"))
        return self.tensors[-1].name


def decoder(form="growing", sizes=None, seed=0, batch="batch", step="sequence", window=0, cache=None):
    """An ONNX model. `form` says how it keeps keys and values:

    none      not at all
    growing   past.N.key of the past tokens, present.N.key with the new ones behind them
    group     the same names, by GroupQueryAttention, whose cache may have room
    scatter   caches of `cache` tokens, written by TensorScatter and read by Attention
    """
    sizes = sizes or Sizes()
    weights = weights_of(sizes, seed)
    g = Graph(tensors=[numpy_helper.from_array(value, name) for name, value in weights.items()])
    kv_names = [(f"{i}.key", f"{i}.value") for i in range(sizes.layers)]
    heads, keys, head = sizes.heads, sizes.key_heads, sizes.head

    def norm(x, weight):
        mean = g("ReduceMean", g("Mul", x, x), np.array([-1]), keepdims=1)
        return g("Mul", g("Div", x, g("Sqrt", g("Add", mean, np.float32(1e-5)))), weight)

    def split(x, number):
        return g("Transpose", g("Reshape", x, np.array([0, 0, number, head])), perm=[0, 2, 1, 3])

    def merged(x):
        return g("Reshape", g("Transpose", x, perm=[0, 2, 1, 3]), np.array([0, 0, sizes.width]))

    if form == "none":
        positions = g(
            "Unsqueeze",
            g("Range", np.int64(0), g("Gather", g("Shape", "input_ids"), np.int64(1)), np.int64(1)),
            np.array([0]),
        )
    else:
        positions = "position_ids"
    if form in ("none", "growing"):
        last = positions if form == "none" else "attention_mask"
        total = g("Gather", g("Shape", last), np.int64(1))
        distance = g("Sub", g("Unsqueeze", positions, np.array([-1])), g("Range", np.int64(0), total, np.int64(1)))
        seen = g("GreaterOrEqual", distance, np.int64(0))
        if window:
            seen = g("And", seen, g("Less", distance, np.int64(window)))
        hidden = g("Unsqueeze", g("Where", seen, np.float32(0), np.float32(-np.inf)), np.array([1]))
        cosine, sine = (g("Unsqueeze", g("Gather", table, positions), np.array([1])) for table in ("cosine", "sine"))
    if form == "group":
        total = g("Cast", g("Gather", g("Shape", "attention_mask"), np.int64(1)), to=TensorProto.INT32)
        last = g("Sub", g("ReduceSum", "attention_mask", np.array([1]), keepdims=0), np.int64(1))
        last = g("Cast", last, to=TensorProto.INT32)

    def turned(x):
        if form == "scatter":
            return g("RotaryEmbedding", x, "cosine", "sine", positions)
        first, second = g("Split", x, outputs=[f"first_{g.count}", f"second_{g.count}"], axis=3, num_outputs=2)
        left = g("Sub", g("Mul", first, cosine), g("Mul", second, sine))
        return g("Concat", left, g("Add", g("Mul", second, cosine), g("Mul", first, sine)), axis=3)

    def attention(i, query, key, value):
        (past_key, past_value), (new_key, new_value) = (
            [f"{prefix}.{name}" for name in kv_names[i]] for prefix in ("past_key_values", "present")
        )
        if form == "group":
            return g(
                "GroupQueryAttention", query, key, value, past_key, past_value, last, total, "cosine", "sine",
                outputs=[f"mixed_{i}", new_key, new_value], domain="com.microsoft", num_heads=heads, kv_num_heads=keys,
                do_rotary=1, local_window_size=window or -1,
            )[0]  # fmt: skip
        query, key, value = turned(split(query, heads)), turned(split(key, keys)), split(value, keys)
        if form == "scatter":
            key = g("TensorScatter", past_key, key, "write_indices", outputs=[new_key], axis=2)
            value = g("TensorScatter", past_value, value, "write_indices", outputs=[new_value], axis=2)
            return merged(g("Attention", query, key, value, "", "", "", "nonpad_kv_seqlen", is_causal=1))
        if form == "growing":
            key = g("Concat", past_key, key, outputs=[new_key], axis=2)
            value = g("Concat", past_value, value, outputs=[new_value], axis=2)
        repeats = [1, 1, heads // keys, 1, 1]
        key, value = (
            g("Reshape", g("Tile", g("Unsqueeze", x, np.array([2])), np.array(repeats)), np.array([0, heads, -1, head]))
            for x in (key, value)
        )
        scores = g("Mul", g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2])), np.float32(head**-0.5))
        return merged(g("MatMul", g("Softmax", g("Add", scores, hidden), axis=-1), value))

    x = g("Gather", "words", "input_ids")
    for i in range(sizes.layers):
        normed = norm(x, f"before.{i}")
        mixed = attention(i, *(g("MatMul", normed, f"{part}.{i}") for part in "qkv"))
        x = g("Add", x, g("MatMul", mixed, f"o.{i}"))
        normed = norm(x, f"after.{i}")
        gate = g("MatMul", normed, f"gate.{i}")
        inner = g("Mul", g("Mul", gate, g("Sigmoid", gate)), g("MatMul", normed, f"up.{i}"))
        x = g("Add", x, g("MatMul", inner, f"down.{i}"))
    g("MatMul", norm(x, "norm"), "scores", outputs=["logits"])
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [batch, step])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [batch, step, sizes.vocabulary])]
    if form in ("growing", "group"):
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [batch, "total"]))
    if form in ("growing", "scatter"):
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, [batch, step]))
    if form == "scatter":
        inputs += [
            helper.make_tensor_value_info(name, TensorProto.INT64, [batch])
            for name in ("write_indices", "nonpad_kv_seqlen")
        ]
    for names in kv_names if form != "none" else ():
        for name in names:
            shape = [batch, keys, cache or "past", head]
            inputs.append(helper.make_tensor_value_info(f"past_key_values.{name}", TensorProto.FLOAT, shape))
            shape = [batch, keys, cache or "total", head]
            outputs.append(helper.make_tensor_value_info(f"present.{name}", TensorProto.FLOAT, shape))
    sets = [helper.make_opsetid("", 24 if form == "scatter" else 18), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.tensors)
    return helper.make_model(graph, opset_imports=sets, ir_version=10)
