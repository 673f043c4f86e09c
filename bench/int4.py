#!/usr/bin/env python
"""Linear layers with packed weights (MatMulNBits) beside ONNX Runtime and beside a plain read of as many bytes.

    python bench/int4.py                          # one row, weights of four times the last cache in all
    python bench/int4.py --rows 1 64 --bits 4 8 --accuracy 0 4 --clock process
    python bench/int4.py --decoder --past 128     # one token of a decoder of four layers with GroupQueryAttention

The weights of a case are spread over as many layers as fill four times the last cache, so that each run reads them from memory. Each round
runs ours, ONNX Runtime and a read of the same number of bytes once, in turns, on one thread; the shortest time counts.
`ort` is ONNX Runtime's time over ours, `read` the time of the read over ours.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def last_cache() -> int:
    """Bytes of the largest cache of the first CPU."""
    folder, most = "/sys/devices/system/cpu/cpu0/cache", 32 << 20
    if os.path.isdir(folder):
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry, "size")
            if os.path.exists(path):
                text = Path(path).read_text().strip()
                most = max(most, int(text[:-1]) << {"K": 10, "M": 20}.get(text[-1], 0))
    return most


def packed(random: np.random.Generator, k: int, n: int, bits: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights of n results from k elements, and their scales."""
    blocks = k // block
    weights = random.integers(0, 256, (n, blocks, block * bits // 8), dtype=np.uint8)
    return weights, (random.random((n, blocks), dtype=np.float32) + 0.5) / (k**0.5 * (1 << bits) / 4)


def layers(rows: int, width: int, hidden: int, bits: int, block: int, accuracy: int, target: int) -> tuple[Any, int]:
    """Layers width -> hidden -> width -> ..., and the bytes of their weights and scales."""
    random = np.random.default_rng(0)
    nodes, tensors, name, total, count = [], [], "x", 0, 0
    while total < target or count % 2:
        k, n = (width, hidden) if count % 2 == 0 else (hidden, width)
        weights, scales = packed(random, k, n, bits, block)
        tensors += [numpy_helper.from_array(weights, f"w{count}"), numpy_helper.from_array(scales, f"s{count}")]
        attributes = {"K": k, "N": n, "bits": bits, "block_size": block, "accuracy_level": accuracy}
        made = f"y{count}"
        inputs = [name, f"w{count}", f"s{count}"]
        nodes.append(helper.make_node("MatMulNBits", inputs, [made], domain="com.microsoft", **attributes))
        name, total, count = made, total + weights.nbytes + scales.nbytes, count + 1
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, width])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width])],
        tensors,
    )
    sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8), total


@dataclass
class Decoder:
    """A decoder of today's shape whose linear layers are packed, for one token after `past` others."""

    bits: int
    block: int
    accuracy: int
    past: int
    width: int = 2048
    hidden: int = 5632
    heads: int = 16
    key_heads: int = 4
    layers: int = 4
    words: int = 32000
    nodes: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    bytes: int = 0  # of packed weights and scales
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def head(self) -> int:
        return self.width // self.heads

    def add(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        names = list(outputs) or [f"v{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0]

    def tensor(self, value: np.ndarray) -> str:
        self.tensors.append(numpy_helper.from_array(value, f"w{len(self.tensors)}"))
        return self.tensors[-1].name

    def linear(self, x: str, depth: int, units: int, outputs: Sequence[str] = ()) -> str:
        weights, scales = packed(self.random, depth, units, self.bits, self.block)
        self.bytes += weights.nbytes + scales.nbytes
        attributes = {
            "K": depth,
            "N": units,
            "bits": self.bits,
            "block_size": self.block,
            "accuracy_level": self.accuracy,
        }
        inputs = [x, self.tensor(weights), self.tensor(scales)]
        return self.add("MatMulNBits", *inputs, outputs=outputs, domain="com.microsoft", **attributes)

    def norm(self, x: str) -> str:
        weight = self.tensor(np.ones(self.width, "float32"))
        return self.add("SimplifiedLayerNormalization", x, weight, axis=-1, epsilon=1e-5)

    def layer(self, x: str, i: int, last: str, total: str, angles: Sequence[str]) -> str:
        keys, normed = self.key_heads * self.head, self.norm(x)
        query, key, value = (self.linear(normed, self.width, units) for units in (self.width, keys, keys))
        past = [f"past_key_values.{i}.{name}" for name in ("key", "value")]
        outputs = [f"mixed_{i}", f"present.{i}.key", f"present.{i}.value"]
        mixed = self.add(
            "GroupQueryAttention", query, key, value, *past, last, total, *angles, outputs=outputs, domain="com.microsoft",
            num_heads=self.heads, kv_num_heads=self.key_heads, do_rotary=1,
        )  # fmt: skip
        x = self.add("Add", x, self.linear(mixed, self.width, self.width))
        normed = self.norm(x)
        gate, up = (self.linear(normed, self.width, self.hidden) for _ in range(2))
        inner = self.add("Mul", self.add("Mul", gate, self.add("Sigmoid", gate)), up)
        return self.add("Add", x, self.linear(inner, self.hidden, self.width))

    def build(self) -> tuple[Any, dict[str, np.ndarray]]:
        """The model and its inputs."""
        turns = np.arange(4096)[:, None] / 10000 ** (np.arange(0, self.head, 2) / self.head)
        angles = [self.tensor(np.cos(turns).astype("float32")), self.tensor(np.sin(turns).astype("float32"))]
        x = self.add(
            "Gather", self.tensor(self.random.standard_normal((self.words, self.width), "float32")), "input_ids"
        )
        for i in range(self.layers):
            x = self.layer(x, i, "last", "total", angles)
        self.linear(self.norm(x), self.width, self.words, outputs=["logits"])
        inputs = {"input_ids": np.array([[7]]), "last": np.array([self.past], "int32")}
        inputs["total"] = np.array(self.past + 1, "int32")
        shape, outputs = (1, self.key_heads, self.past, self.head), [("logits", (1, 1, self.words))]
        for i in range(self.layers):
            for name in ("key", "value"):
                inputs[f"past_key_values.{i}.{name}"] = self.random.standard_normal(shape, "float32")
                outputs.append((f"present.{i}.{name}", (1, self.key_heads, "total", self.head)))
        info, dtype = helper.make_tensor_value_info, helper.np_dtype_to_tensor_dtype
        graph = helper.make_graph(
            self.nodes,
            "decoder",
            [
                info(
                    name, dtype(x.dtype), [1, self.key_heads, "past", self.head] if name.startswith("past") else x.shape
                )
                for name, x in inputs.items()
            ],
            [info(name, TensorProto.FLOAT, shape) for name, shape in outputs],
            self.tensors,
        )
        sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8), inputs


def contenders(model: Any, inputs: dict[str, np.ndarray], total: int, threads: int) -> dict[str, Callable[[], Any]]:
    import tessera

    ours = tessera.compile(model.SerializeToString())
    memory = np.random.default_rng(1).integers(0, 2**62, total // 8)
    out: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours.run(inputs)[0],
        "read": lambda: np.bitwise_or.reduce(memory),
    }
    try:
        import onnxruntime as ort
    except ImportError:
        return out
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    out["ort"] = lambda: session.run(None, inputs)[0]
    return out


def measure(line: str, runs: dict[str, Callable[[], Any]], total: int, rounds: int, clock: Callable[[], float]) -> None:
    """Prints the line with times and ratios."""
    best = dict.fromkeys(runs, float("inf"))
    answers = {name: run() for name, run in runs.items()}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = clock()
            run()
            best[name] = min(best[name], clock() - begin)
    ratio = {name: seconds / best["ours"] for name, seconds in best.items()}
    line += f" {total / 2**20:6.1f} {best['ours'] * 1e3:9.3f}"
    line += f" {total / best['ours'] / 1e9:6.1f} {ratio.get('ort', float('nan')):6.2f} {ratio['read']:6.2f}"
    if "ort" in answers:
        got, want = np.asarray(answers["ours"]), answers["ort"]
        line += f"  difference {np.abs(got - want).max() / np.abs(want).max():.1e}"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1])
    parser.add_argument("--bits", type=int, nargs="+", default=[4])
    parser.add_argument("--block", type=int, nargs="+", default=[32])
    parser.add_argument("--accuracy", type=int, nargs="+", default=[0, 4])
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=5632)
    parser.add_argument("--megabytes", type=float, help="of weights; four times the last cache where it is not given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--decoder", action="store_true", help="a whole decoder instead of linear layers")
    parser.add_argument("--past", type=int, default=128, help="tokens in the cache of the decoder")
    parser.add_argument("--clock", choices=["wall", "process"], default="process")
    args = parser.parse_args()
    os.environ.setdefault("TESSERA_NUM_THREADS", str(args.threads))
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    target = int(args.megabytes * 2**20) if args.megabytes else 4 * last_cache()
    print(
        f"{'rows':>5} {'bits':>4} {'block':>5} {'level':>5} {'MiB':>6} {'ours ms':>9} {'GB/s':>6} {'ort':>6} {'read':>6}"
    )
    for bits, block, accuracy in itertools.product(args.bits, args.block, args.accuracy):
        if args.decoder:
            decoder = Decoder(bits, block, accuracy, args.past)
            model, inputs = decoder.build()
            runs = contenders(model, inputs, decoder.bytes, args.threads)
            measure(f"{1:5} {bits:4} {block:5} {accuracy:5}", runs, decoder.bytes, args.rounds, clock)
            continue
        for rows in args.rows:
            model, total = layers(rows, args.width, args.hidden, bits, block, accuracy, target)
            data = np.random.default_rng(2).standard_normal((rows, args.width)).astype("float32")
            runs = contenders(model, {"x": data}, total, args.threads)
            measure(f"{rows:5} {bits:4} {block:5} {accuracy:5}", runs, total, args.rounds, clock)


if __name__ == "__main__":
    main()
