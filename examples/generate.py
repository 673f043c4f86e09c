"""Text from a small language model: a tokenizer, a decoder with a cache of keys and values, and `tessera.Generator`.

    python examples/generate.py                     # continues "the compiler"
    python examples/generate.py "a tensor" --tokens 24 --temperature 0.5

Nothing is downloaded. The tokenizer learns byte pairs from the text below. The decoder is one layer of attention whose scores fall with the
distance of a key (ALiBi) and one of random features; only the matrix that scores tokens is trained, by least squares, on the same text.
The model is written to a folder as exporters do (model.onnx, genai_config.json), so `tessera generate FOLDER --prompt-ids ...` runs it too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import tessera
from onnx import TensorProto, helper, numpy_helper

TEXT = (
    "the compiler reads a model and writes a program. a tensor has a shape and a type. the schedule says how loops run, "
    "and the compute says what they make. a kernel is a loop nest that a machine runs fast. weights lie packed in memory, "
    "so that each cache line is read once. a decoder makes one token after the other, and keeps keys and values of the past. "
    "the end of a text is a token too."
)


class Tokenizer:
    """Byte-pair encoding: tokens 0 to 255 are bytes, each later one stands for a pair, and the last ends a text."""

    def __init__(self, text: str, merges: int):
        self.merges: list[tuple[int, int]] = []
        ids = list(text.encode())
        for _ in range(merges):
            pair, count = Counter(zip(ids, ids[1:])).most_common(1)[0]
            if count < 2:
                break
            ids = self._merged(ids, pair, 256 + len(self.merges))
            self.merges.append(pair)
        self.end = 256 + len(self.merges)
        self.size = self.end + 1
        self._bytes = [bytes([value]) for value in range(256)]
        for first, second in self.merges:
            self._bytes.append(self._bytes[first] + self._bytes[second])
        self._bytes.append(b"")

    @staticmethod
    def _merged(ids: list[int], pair: tuple[int, int], token: int) -> list[int]:
        out: list[int] = []
        i = 0
        while i < len(ids):
            is_pair = tuple(ids[i : i + 2]) == pair
            out.append(token if is_pair else ids[i])
            i += 2 if is_pair else 1
        return out

    def encode(self, text: str) -> list[int]:
        ids = list(text.encode())
        for number, pair in enumerate(self.merges):
            ids = self._merged(ids, pair, 256 + number)
        return ids

    def decode(self, ids: list[int]) -> str:
        return b"".join(self._bytes[id] for id in ids).decode(errors="replace")


def decoder(
    vocabulary: int, scores: np.ndarray | None = None, width: int = 64, heads: int = 4, seed: int = 0
) -> onnx.ModelProto:
    """A decoder with past_key_values and present; without `scores` it gives the features that they are trained on."""
    random = np.random.default_rng(seed)
    nodes: list[onnx.NodeProto] = []
    tensors: list[onnx.TensorProto] = []
    head, features = width // heads, 8 * width

    def constant(value: np.ndarray) -> str:
        tensors.append(numpy_helper.from_array(np.asarray(value), f"c{len(tensors)}"))
        return tensors[-1].name

    def node(op: str, *inputs: str | np.ndarray, output: str = "", **attributes: object) -> str:
        names = [x if isinstance(x, str) else constant(x) for x in inputs]
        nodes.append(helper.make_node(op, names, [output or f"{op}_{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.standard_normal((rows, columns)) / rows**0.5).astype("float32")

    def split(x: str) -> str:
        return node("Transpose", node("Reshape", x, np.array([0, 0, heads, head])), perm=[0, 2, 1, 3])

    x = node("Gather", random.standard_normal((vocabulary, width)).astype("float32"), "input_ids")
    query, key, value = (split(node("MatMul", x, matrix(width, width))) for _ in range(3))
    key = node("Concat", "past_key_values.0.key", key, output="present.0.key", axis=2)
    value = node("Concat", "past_key_values.0.value", value, output="present.0.value", axis=2)
    total = node("Gather", node("Shape", "attention_mask"), np.int64(1))
    at = node("Cast", node("Range", np.int64(0), total, np.int64(1)), to=TensorProto.FLOAT)
    mine = node("Cast", node("Unsqueeze", "position_ids", np.array([1, 3])), to=TensorProto.FLOAT)
    distance = node("Sub", mine, at)  # (batch, 1, queries, keys)
    slopes = np.array([0.3, 0.7, 1.5, 4.0], "float32").reshape(1, heads, 1, 1)
    hidden = node("Where", node("Less", distance, np.float32(0)), np.float32(-np.inf), np.float32(0))
    bias = node("Sub", hidden, node("Mul", distance, slopes))
    scaled = node("Mul", node("MatMul", query, node("Transpose", key, perm=[0, 1, 3, 2])), np.float32(0.3 * head**-0.5))
    mixed = node("MatMul", node("Softmax", node("Add", scaled, bias), axis=-1), value)
    mixed = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), np.array([0, 0, width]))
    both = node("Concat", x, mixed, axis=2)
    inner = node("Tanh", node("MatMul", both, 2 * matrix(2 * width, features)))
    if scores is None:
        node("Identity", inner, output="logits")
    else:
        node("MatMul", inner, scores.astype("float32"), output="logits")
    shapes = {"input_ids": ["batch", "step"], "attention_mask": ["batch", "total"], "position_ids": ["batch", "step"]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in shapes.items()]
    last = features if scores is None else vocabulary
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "step", last])]
    for name in ("0.key", "0.value"):
        past, present = ["batch", heads, "past", head], ["batch", heads, "total", head]
        inputs.append(helper.make_tensor_value_info(f"past_key_values.{name}", TensorProto.FLOAT, past))
        outputs.append(helper.make_tensor_value_info(f"present.{name}", TensorProto.FLOAT, present))
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def train(tokenizer: Tokenizer, text: str, width: int = 64, heads: int = 4) -> onnx.ModelProto:
    """The decoder whose scores, after each token of the text, are highest for the one that comes next."""
    ids = np.array([tokenizer.encode(text)], "int64")
    count = ids.shape[1]
    model = tessera.compile(decoder(tokenizer.size, width=width, heads=heads).SerializeToString())
    empty = np.zeros((1, heads, 0, width // heads), "float32")
    features = model.run(
        {
            "input_ids": ids,
            "attention_mask": np.ones((1, count), "int64"),
            "position_ids": np.arange(count)[None],
            "past_key_values.0.key": empty,
            "past_key_values.0.value": empty,
        }
    )[0]
    x = np.asarray(features)[0].astype("float64")
    wanted = np.eye(tokenizer.size)[[*ids[0, 1:], tokenizer.end]]
    ridge = x.T @ x + 1e-3 * np.eye(x.shape[1])
    return decoder(tokenizer.size, np.linalg.solve(ridge, x.T @ wanted), width=width, heads=heads)


def save(model: onnx.ModelProto, tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    config = {
        "model": {"eos_token_id": tokenizer.end, "vocab_size": tokenizer.size, "decoder": {"filename": "model.onnx"}}
    }
    (folder / "genai_config.json").write_text(json.dumps(config))


def main(arguments: list[str] | None = None) -> str:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt", nargs="?", default="the compiler")
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument(
        "--folder", type=Path, help="where the model is written; a temporary folder where it is not given"
    )
    args = parser.parse_args(arguments)
    tokenizer = Tokenizer(TEXT, merges=64)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        save(train(tokenizer, TEXT), tokenizer, folder)
        generator = tessera.Generator(folder)
    made = generator.generate(tokenizer.encode(args.prompt), args.tokens, temperature=args.temperature)
    text = args.prompt + tokenizer.decode(made.ids)
    print(text)
    if made.decode_seconds > 0:
        print(f"{(len(made.ids) - 1) / made.decode_seconds:.0f} tokens/s")
    return text


if __name__ == "__main__":
    main()
