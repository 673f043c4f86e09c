#!/usr/bin/env python
"""Matmuls of sixty shapes beside NumPy, PyTorch and ONNX Runtime, as installed; with one thread and with all.

    .venv-torch/bin/python bench/matmul.py                     # all, 1 thread and all threads (make bench-torch)
    python bench/matmul.py --only vector,1x --threads 1        # lines that hold one of these words
    python bench/matmul.py --clock processor --threads 1       # on a busy machine
    .venv-torch/bin/python bench/matmul.py --peers ort --threads 1,4,16

The shapes are those of product_shapes.txt. Ours is what a user gets: a Relay function of nn.matmul, nn.dense or
nn.batch_matmul, built at opt_level 3 and run by the graph executor. Both matrices are inputs, so nothing is packed
beforehand; NumPy (matmul) and PyTorch (matmul) are given the same memory, a view where a matrix is stored transposed, and
the result. ONNX Runtime, which is no peer unless asked for, runs a model of one FusedMatMul, which takes
matrices as they are stored.

For each number of threads one process holds all contenders; one thread is pinned to one core. Every round runs each
of them for a moment, in turns, and the shortest time of one call counts. A ratio is the time of the faster of the others
over ours: above 1 we are faster. The peak is measured in the same process: multiply-adds on registers. Answers are
compared with NumPy's in double precision.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
from common.contenders import PAUSE

HERE = Path(__file__).resolve().parent
SHAPES = HERE / "product_shapes.txt"
FIGURES = HERE.parent / "build" / "bench" / "matmul.json"
SAMPLE = 100e-6  # seconds that are measured at once, at least
TURN = 5e-3  # seconds of a contender in a round, at least one sample
WAKING = 30e-3  # seconds in which a contender's threads wake up, which takes some ten milliseconds on virtual machines
LONGEST = 4.0  # seconds for a shape, and three rounds at least

Run = Callable[[], Any]


class Product(NamedTuple):
    """One line of product_shapes.txt."""

    kind: str
    layout: str
    batch: int
    m: int
    n: int
    k: int

    @property
    def operations(self) -> float:
        return 2.0 * self.batch * self.m * self.n * self.k

    def __str__(self) -> str:
        return f"{self.kind} {self.layout} " + f"{self.batch} x " * (self.batch > 1) + f"{self.m}x{self.n}x{self.k}"


def read_shapes(words: list[str]) -> list[Product]:
    rows = [line.split() for line in SHAPES.read_text().splitlines() if not line.startswith("#")]
    products = [Product(row[0], row[1], *map(int, row[2:])) for row in rows]
    return [one for one in products if not words or any(word in str(one) for word in words)]


# ---- contenders: each gives a function that multiplies once, and one that gives the result ---------------------------


def tessera_runner(one: Product, a: np.ndarray, b: np.ndarray, facts: dict[str, Any]) -> tuple[Run, Run]:
    import tessera
    from tessera import relay
    from tessera.contrib import graph_executor

    transposed = {"transpose_a": one.layout[0] == "t", "transpose_b": one.layout[1] == "t"}
    x, y = relay.var("x", shape=a.shape, dtype=str(a.dtype)), relay.var("y", shape=b.shape, dtype=str(b.dtype))
    if one.batch > 1:
        body = relay.nn.batch_matmul(x, y, **transposed)
    elif one.layout == "nt":
        body = relay.nn.dense(x, y)
    else:
        body = relay.nn.matmul(x, y, **transposed)
    start = time.perf_counter()
    with tessera.transform.PassContext(opt_level=3):
        library = relay.build(tessera.IRModule.from_expr(relay.Function([x, y], body)), "llvm")
    facts["compile_ms"] = (time.perf_counter() - start) * 1e3
    module = graph_executor.GraphModule(library["default"](tessera.cpu()))
    module.set_input(x=a, y=b)
    return module.run, lambda: module.get_output(0).numpy()


def transposed_view(x: Any, stored: str) -> Any:
    return x.swapaxes(-1, -2) if stored == "t" else x


def numpy_runner(one: Product, a: np.ndarray, b: np.ndarray) -> tuple[Run, Run]:
    left, right = transposed_view(a, one.layout[0]), transposed_view(b, one.layout[1])
    out = np.matmul(left, right)
    return lambda: np.matmul(left, right, out=out), lambda: out


def torch_runner(one: Product, a: np.ndarray, b: np.ndarray) -> tuple[Run, Run] | None:
    try:
        import torch
    except ImportError:
        return None
    left, right = (transposed_view(torch.from_numpy(x), s) for x, s in zip((a, b), one.layout))
    out = torch.matmul(left, right)
    return lambda: torch.matmul(left, right, out=out), lambda: out.numpy()


def ort_runner(one: Product, a: np.ndarray, b: np.ndarray, threads: int) -> tuple[Run, Run] | None:
    try:
        import onnx
        import onnxruntime
    except ImportError:
        return None
    helper, kind = onnx.helper, onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    node = helper.make_node(
        "FusedMatMul",
        ["x", "y"],
        ["z"],
        domain="com.microsoft",
        transA=int(one.layout[0] == "t"),
        transB=int(one.layout[1] == "t"),
    )
    values = [helper.make_tensor_value_info(name, kind, value.shape) for name, value in (("x", a), ("y", b))]
    graph = helper.make_graph([node], "product", values, [helper.make_tensor_value_info("z", kind, None)])
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", a)
    binding.bind_cpu_input("y", b)
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type([*a.shape[:-2], one.m, one.n], a.dtype)
    binding.bind_ortvalue_output("z", out)
    return lambda: session.run_with_iobinding(binding), out.numpy


PEERS = {"numpy": "NumPy", "torch": "PyTorch", "ort": "ORT"}


# ---- one number of threads, in a process of its own -----------------------------------------------------------------


def shortest(runs: dict[str, Run], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    """The shortest time of one call of each."""
    best, calls = dict.fromkeys(runs, math.inf), {}
    for who, run in runs.items():
        run()
        start = time.perf_counter()
        run()
        calls[who] = max(1, math.ceil(SAMPLE / max(time.perf_counter() - start, 1e-7)))
    began = time.perf_counter()
    for done in range(rounds):
        if done >= 3 and time.perf_counter() - began > LONGEST:
            break
        for who, run in runs.items():
            time.sleep(PAUSE)
            waking = time.perf_counter()
            while time.perf_counter() - waking < WAKING:
                run()
            turn = time.perf_counter()
            while True:
                start = clock()
                for _ in range(calls[who]):
                    run()
                best[who] = min(best[who], (clock() - start) / calls[who])
                if time.perf_counter() - turn > TURN:
                    break
    return best


def measure(one: Product, args: argparse.Namespace, clock: Callable[[], float]) -> dict[str, Any]:
    dtype = args.dtype
    rng = np.random.default_rng(0)
    lead = (one.batch,) if one.batch > 1 else ()
    a, b = (rng.standard_normal((*lead, *size)).astype(dtype) for size in ((one.m, one.k), (one.k, one.n)))
    want = a[..., :50, :].astype("float64") @ b.astype("float64")
    a, b = (np.ascontiguousarray(transposed_view(x, s)) for x, s in zip((a, b), one.layout))
    facts: dict[str, Any] = one._asdict() | {"dtype": dtype}
    makers = {
        "numpy": lambda: numpy_runner(one, a, b),
        "torch": lambda: torch_runner(one, a, b),
        "ort": lambda: ort_runner(one, a, b, args.child),
    }
    made = {"tessera": tessera_runner(one, a, b, facts), **{who: makers[who]() for who in args.peers}}
    there = {who: pair for who, pair in made.items() if pair}
    for who, (run, result) in there.items():
        run()
        got = result()[..., :50, :]
        np.testing.assert_allclose(got, want, atol=1e-5 * abs(want).max(), err_msg=f"{one}: {who}")
    facts["seconds"] = shortest({who: run for who, (run, _) in there.items()}, args.rounds, clock)
    return facts


def ratio(facts: dict[str, Any]) -> float:
    seconds = facts["seconds"]
    return min(value for who, value in seconds.items() if who != "tessera") / seconds["tessera"]


def measure_all(args: argparse.Namespace) -> list[dict[str, Any]]:
    from common.roof import peak_runner

    clock = time.thread_time if args.clock == "processor" else time.perf_counter
    run_peak, peak_operations = peak_runner()
    peak = peak_operations / shortest({"peak": run_peak}, 20, clock)["peak"]
    threads = args.child
    print(
        f"\n{threads} thread{'s' * (threads > 1)}, {args.dtype}, peak of float32 {peak / 1e9:.1f} GFLOP/s, {args.clock} time"
    )
    columns = "".join(f"{'/ ' + PEERS[who]:>10}" for who in args.peers)
    print(f"{'':26}{'us':>10}{'GFLOP/s':>9}{'of peak':>8}{columns}{'ratio':>7}{'compile':>9}")
    records = []
    for one in read_shapes(args.only):
        facts = measure(one, args, clock)
        facts |= {"threads": threads, "peak": peak, "ratio": ratio(facts)}
        records.append(facts)
        seconds, ours = facts["seconds"], facts["seconds"]["tessera"]
        others = "".join(f"{seconds[who] / ours:>10.2f}" if who in seconds else f"{'-':>10}" for who in args.peers)
        speed = one.operations / ours
        print(
            f"{one!s:26}{ours * 1e6:>10.1f}{speed / 1e9:>9.1f}{speed / peak:>8.1%}{others}{facts['ratio']:>7.2f}"
            f"{facts['compile_ms']:>6.0f} ms",
            flush=True,
        )
    if records:
        ratios = [facts["ratio"] for facts in records]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        low = [str(Product(*(facts[name] for name in Product._fields))) for facts in records if facts["ratio"] < 0.85]
        print(f"{len(ratios)} shapes: geometric mean {mean:.3f}, least {min(ratios):.2f}, under 0.85: {low or 'none'}")
    return records


def run_child(args: argparse.Namespace, threads: int, cpus: list[int]) -> list[dict[str, Any]]:
    """Thread pools read their size once, from the environment."""
    environment = dict(os.environ)
    for prefix in ("TVM", "OPENBLAS", "OMP", "MKL"):
        environment[f"{prefix}_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--child", str(threads), "--rounds", str(args.rounds), "--clock", args.clock]
    command += [
        "--json",
        args.json,
        "--only",
        ",".join(args.only),
        "--dtype",
        args.dtype,
        "--peers",
        ",".join(args.peers),
    ]
    pin = lambda: os.sched_setaffinity(0, cpus if threads > 1 else cpus[-1:])  # noqa: E731
    subprocess.run(command, env=environment, preexec_fn=pin, check=True)
    return json.loads(Path(args.json).read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Matmuls against NumPy and PyTorch.")
    parser.add_argument("--only", default="", help="words such as vit,1x; lines that hold one of them are measured")
    parser.add_argument("--threads", help="such as 1,2; default: one and all")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--json", default=os.fspath(FIGURES), help="where the figures go (build/bench/matmul.json)")
    parser.add_argument("--peers", default="numpy,torch", help=f"of {','.join(PEERS)}; those that are installed count")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.only = [word for word in args.only.split(",") if word]
    args.peers = args.peers.split(",")
    if unknown := [peer for peer in args.peers if peer not in PEERS]:
        parser.error(f"no peer {unknown[0]}; there are {', '.join(PEERS)}")
    if args.child:
        Path(args.json).write_text(json.dumps(measure_all(args)))
        return 0
    Path(args.json).parent.mkdir(parents=True, exist_ok=True)
    cpus = sorted(os.sched_getaffinity(0))
    counts = [int(count) for count in args.threads.split(",")] if args.threads else sorted({1, len(cpus)})
    if args.clock == "processor" and counts != [1]:
        parser.error("the time of the calling thread says little about several: --clock processor needs --threads 1")
    records = [record for count in counts for record in run_child(args, count, cpus)]
    Path(args.json).write_text(json.dumps(records, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
