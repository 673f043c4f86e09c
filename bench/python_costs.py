#!/usr/bin/env python
"""What Python adds to compiling a large model: a transformer of bert_base's size (416 MiB of seeded weights, written here) through
`relay.frontend.from_onnx` and `relay.build`, beside `tessera compile` of the same file.

    python bench/python_costs.py [--layers 12] [--rounds 3]

Every row is a process of its own, the least wall time of all rounds; memory is the peak of the process. The kernel cache is
filled before the first round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEADS, LENGTH, WORDS = 768, 12, 128, 30522


class Bert:
    """Nodes and seeded weights as exporters write them."""

    def __init__(self, layers: int):
        from onnx import helper

        self.helper, self.rng = helper, np.random.default_rng(0)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        position = self.weight(self.rng.standard_normal((1, LENGTH, WIDTH)) * 0.02)
        x = self.add("Gather", self.random(WORDS, WIDTH), "ids", axis=0)
        x = self.norm(self.add("Add", x, position))
        for _ in range(layers):
            x = self.layer(x)
        self.result = x

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        return name

    def weight(self, array: np.ndarray, dtype: str = "float32") -> str:
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(dtype), name))
        return name

    def random(self, *shape: int) -> str:
        return self.weight(self.rng.standard_normal(shape, dtype="float32") * np.float32(0.02))

    def norm(self, x: str) -> str:
        return self.add("LayerNormalization", x, self.weight(np.ones(WIDTH)), self.weight(np.zeros(WIDTH)), axis=-1)

    def linear(self, x: str, width: int, units: int) -> str:
        return self.add("Add", self.weight(np.zeros(units)), self.add("MatMul", x, self.random(width, units)))

    def heads(self, x: str, order: list[int]) -> str:
        shape = self.weight(np.array([0, -1, HEADS, WIDTH // HEADS]), "int64")
        return self.add("Transpose", self.add("Reshape", self.linear(x, WIDTH, WIDTH), shape), perm=order)

    def layer(self, x: str) -> str:
        query, key, value = (self.heads(x, order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = self.add("Div", self.add("MatMul", query, key), self.weight(np.array((WIDTH // HEADS) ** 0.5)))
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), value)
        y = self.add(
            "Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.weight(np.array([0, -1, WIDTH]), "int64")
        )
        x = self.norm(self.add("Add", x, self.linear(y, WIDTH, WIDTH)))
        y = self.linear(x, WIDTH, 4 * WIDTH)
        half = self.add("Mul", y, self.weight(np.array(0.5)))
        erf = self.add("Erf", self.add("Div", y, self.weight(np.array(2**0.5))))
        y = self.add("Mul", half, self.add("Add", erf, self.weight(np.array(1.0))))
        return self.norm(self.add("Add", x, self.linear(y, 4 * WIDTH, WIDTH)))

    def save(self, path: Path) -> None:
        import onnx

        helper, info = self.helper, self.helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "bert",
            [info("ids", onnx.TensorProto.INT64, [1, LENGTH])],
            [info(self.result, onnx.TensorProto.FLOAT, [1, LENGTH, WIDTH])],
            self.weights,
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


_BEGIN = """
import sys, time, resource
path = sys.argv[1]
def told(start):
    print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_IMPORT = """
start = time.perf_counter()
import tessera
from tessera import relay
"""
_LOAD = {
    "a path": "model = path",
    "a ModelProto": "import onnx; model = onnx.load(path)",
    "bytes": "model = open(path, 'rb').read()",
}
_FROM_ONNX = "mod, params = relay.frontend.from_onnx(model)"
_BUILD = """
with tessera.transform.PassContext(opt_level=3):
    lib = relay.build(mod, "llvm", params=params)
"""


def programs() -> dict[str, str]:
    """What is measured, by name: from `start` to `told`."""
    rows = {
        "import numpy": "start = time.perf_counter()\nimport numpy\ntold(start)",
        "import tessera": "start = time.perf_counter()\nimport tessera\ntold(start)",
        "import tessera, relay": _IMPORT + "told(start)",
        "import tessera.as_tvm; import tvm": "start = time.perf_counter()\nimport tessera.as_tvm\nimport tvm\ntold(start)",
    }
    for name, load in _LOAD.items():
        rows[f"from_onnx of {name}"] = "\n".join(
            [_IMPORT, load, "start = time.perf_counter()", _FROM_ONNX, "told(start)"]
        )
        rows[f"from_onnx and build of {name}"] = "\n".join(
            [_IMPORT, load, "start = time.perf_counter()", _FROM_ONNX, _BUILD, "told(start)"]
        )
    rows["build alone"] = "\n".join(
        [_IMPORT, _LOAD["a path"], _FROM_ONNX, "start = time.perf_counter()", _BUILD, "told(start)"]
    )
    return rows


def python_cost(code: str, path: Path) -> tuple[float, int]:
    """Seconds and MiB."""
    said = subprocess.run([sys.executable, "-c", _BEGIN + code, path], capture_output=True, check=True).stdout.split()
    return float(said[-2]), int(said[-1]) >> 10


def program_cost(*words: Any) -> tuple[float, int]:
    import tessera

    program = Path(tessera.__file__).parent / "bin" / "tessera"
    start = time.perf_counter()
    child = subprocess.Popen([program, *map(str, words)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"tessera {words[0]} failed")
    return time.perf_counter() - start, usage.ru_maxrss >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description="What Python adds to compiling a large model.")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # in a process of its own: peaks are inherited
    args = parser.parse_args()
    if args.write:
        return Bert(args.layers).save(args.write)
    with tempfile.TemporaryDirectory() as folder:
        path, package = Path(folder) / "bert.onnx", Path(folder) / "bert.tar"
        os.environ["TESSERA_CACHE_DIR"] = os.path.join(folder, "cache")
        subprocess.run([sys.executable, __file__, "--layers", str(args.layers), "--write", path], check=True)
        print(f"the file has {path.stat().st_size >> 20} MiB")
        rows = {name: partial(python_cost, code, path) for name, code in programs().items()}
        rows["tessera compile"] = partial(program_cost, "compile", path, "-o", package)
        rows["tessera compile"]()
        best: dict[str, tuple[float, int]] = {}
        for _ in range(args.rounds):
            for name, cost in rows.items():
                best[name] = min(best.get(name, (float("inf"), 0)), cost())
    for name, (seconds, peak) in best.items():
        print(f"{name:44}{seconds:8.2f} s{peak:8} MiB")


if __name__ == "__main__":
    main()
