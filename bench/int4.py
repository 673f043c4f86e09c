#!/usr/bin/env python
"""Linear layers with packed weights (MatMulNBits) beside ONNX Runtime and beside a plain read of as many bytes.

    python bench/int4.py                          # one row, weights of four times the last cache in all
    python bench/int4.py --rows 1 64 --bits 4 8 --accuracy 0 4 --clock process

The weights of a case are spread over as many layers as fill four times the last cache, so that each run reads them from memory. Each round
runs ours, ONNX Runtime and a read of the same number of bytes once, in turns, on one thread; the shortest time counts.
`ort` is ONNX Runtime's time over ours, `read` the time of the read over ours.
"""

from __future__ import annotations

import argparse
import os
import time
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


def layers(rows: int, width: int, hidden: int, bits: int, block: int, accuracy: int, target: int) -> tuple[Any, int]:
    """Layers width -> hidden -> width -> ..., and the bytes of their weights and scales."""
    random = np.random.default_rng(0)
    nodes, tensors, name, total, count = [], [], "x", 0, 0
    while total < target or count % 2:
        k, n = (width, hidden) if count % 2 == 0 else (hidden, width)
        blocks = k // block
        weights = random.integers(0, 256, (n, blocks, block * bits // 8), dtype=np.uint8)
        scales = (random.random((n, blocks), dtype=np.float32) + 0.5) / (k**0.5 * (1 << bits) / 4)
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


def contenders(model: Any, data: np.ndarray, total: int) -> dict[str, Callable[[], Any]]:
    import tessera

    ours = tessera.compile(model.SerializeToString())
    memory = np.random.default_rng(1).integers(0, 2**62, total // 8)
    out: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours.run({"x": data})[0],
        "read": lambda: np.bitwise_or.reduce(memory),
    }
    try:
        import onnxruntime as ort
    except ImportError:
        return out
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    out["ort"] = lambda: session.run(None, {"x": data})[0]
    return out


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
    parser.add_argument("--clock", choices=["wall", "process"], default="process")
    args = parser.parse_args()
    os.environ.setdefault("TESSERA_NUM_THREADS", "1")
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    target = int(args.megabytes * 2**20) if args.megabytes else 4 * last_cache()
    print(
        f"{'rows':>5} {'bits':>4} {'block':>5} {'level':>5} {'MiB':>6} {'ours ms':>9} {'GB/s':>6} {'ort':>6} {'read':>6}"
    )
    for rows in args.rows:
        for bits in args.bits:
            for block in args.block:
                for accuracy in args.accuracy:
                    model, total = layers(rows, args.width, args.hidden, bits, block, accuracy, target)
                    data = np.random.default_rng(2).standard_normal((rows, args.width)).astype("float32")
                    runs = contenders(model, data, total)
                    best = dict.fromkeys(runs, float("inf"))
                    answers = {name: run() for name, run in runs.items()}
                    for _ in range(args.rounds):
                        for name, run in runs.items():
                            begin = clock()
                            run()
                            best[name] = min(best[name], clock() - begin)
                    ratio = {name: seconds / best["ours"] for name, seconds in best.items()}
                    line = f"{rows:5} {bits:4} {block:5} {accuracy:5} {total / 2**20:6.1f} {best['ours'] * 1e3:9.3f}"
                    line += (
                        f" {total / best['ours'] / 1e9:6.1f} {ratio.get('ort', float('nan')):6.2f} {ratio['read']:6.2f}"
                    )
                    if "ort" in answers:
                        got, want = np.asarray(answers["ours"]), answers["ort"]
                        line += f"  difference {np.abs(got - want).max() / np.abs(want).max():.1e}"
                    print(line, flush=True)


if __name__ == "__main__":
    main()
