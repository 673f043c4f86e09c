#!/usr/bin/env python
"""Imports, compiles and runs an exported model in a process of its own, and says how it compares.

    python tests/frameworks/check.py MODEL.onnx [--reference OUT.npz] [--no-cache]

Prints one line of JSON: seconds of import, of compilation and of the first run, the peak of memory while compiling in
MB, and the greatest relative difference to ONNX Runtime (greatest difference over greatest magnitude, worst output). Detectors
sort what they find by scores that may be as good as equal: each of their rows is compared with the nearest of the other side.
Masks are pasted where boxes lie, rounded to pixels, so that a box moved by a millionth moves a mask's border by one: of them the
mean difference counts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np


def peak_mb() -> float:
    """Of this program; getrusage() would count the one that started it."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) / 1024


def reference(path: Path, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime answers."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def difference(got: np.ndarray, want: np.ndarray) -> float:
    """The greatest difference over the greatest magnitude; infinite for other shapes or types, for what is not finite and
    for zeros only, which would compare nothing."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    got, want = got.astype("float64"), want.astype("float64")
    if not np.isfinite(want).all() or not want.any():
        return float("inf")
    is_mask = want.ndim == 4 and want.shape[1] == 1
    apart = np.abs(got - want).mean() if is_mask else np.abs(got - want).max()
    return float(apart / np.abs(want).max()) if np.isfinite(apart) else float("inf")


def is_detected(outputs: list[np.ndarray]) -> bool:
    """Boxes, scores and labels, one each for what was found, and perhaps more of each."""
    count = len(outputs[0]) if outputs[0].ndim else 0
    return len(outputs) >= 3 and outputs[0].shape == (count, 4) and all(x.shape[:1] == (count,) for x in outputs)


def same_order(got: list[np.ndarray], want: list[np.ndarray]) -> list[np.ndarray]:
    """`got`, its rows put in the order of those of `want` that they are nearest to, each taken once. Scores keep theirs."""
    far = sum(
        np.abs(g.reshape(len(g), 1, -1).astype("float64") - w.reshape(1, len(w), -1)).max(2)
        / max(np.abs(w).max(), 1e-9)
        for g, w in zip(got, want, strict=True)
    )
    order = []
    for i in range(len(want[0])):
        nearest = int(far[:, i].argmin())
        far[nearest] = np.inf
        order.append(nearest)
    return [g if w.ndim == 1 and w.dtype.kind == "f" else g[order] for g, w in zip(got, want, strict=True)]


def compile_model(path: Path) -> tuple[Any, dict[str, float]]:
    """A `tessera.Model`; the seconds of import and of compilation, and the CPU's in both together."""
    import tessera
    from tessera import relay

    start, cpu = time.perf_counter(), time.process_time()
    mod, params = relay.frontend.from_onnx(os.fspath(path))
    imported = time.perf_counter()
    with tessera.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)
    model = tessera.Model(lib)
    seconds = {
        "import_s": imported - start,
        "compile_s": time.perf_counter() - imported,
        "cpu_s": time.process_time() - cpu,
    }
    return model, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="Compiles a model and compares it with ONNX Runtime.")
    parser.add_argument("model", type=Path)
    parser.add_argument("--reference", type=Path, help="an npz of answers instead of ONNX Runtime's")
    parser.add_argument("--no-cache", action="store_true", help="compile every kernel")
    args = parser.parse_args()
    if args.no_cache:
        os.environ["TESSERA_CACHE_DIR"] = tempfile.mkdtemp(prefix="tessera-check-")
    inputs = dict(np.load(args.model.with_suffix(".npz")))
    model, seconds = compile_model(args.model)
    memory = peak_mb()
    start = time.perf_counter()
    got = [out.numpy() for out in model.run({name: inputs[name] for name in inputs})]
    first = time.perf_counter() - start
    want = list(np.load(args.reference).values()) if args.reference else reference(args.model, inputs)
    if is_detected(want) and [g.shape for g in got] == [w.shape for w in want]:
        got = same_order(got, want)
    apart = max(difference(g, w) for g, w in zip(got, want, strict=True))
    print(
        json.dumps(
            {
                **{name: round(value, 2) for name, value in seconds.items()},
                "first_run_s": round(first, 3),
                "peak_mb": round(memory),
                "model_mb": round(args.model.stat().st_size / 1e6),
                "difference": apart,
                "shapes": [list(w.shape) for w in want],
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
