#!/usr/bin/env python
"""Convolutions of networks against ONNX Runtime, one operator at a time; with one thread and with all.

    python bench/ops.py [--net resnet50 --net ... | --net all] [--threads 1,2] [--rounds 20] [--json FILE]

The shapes are those of conv_shapes.txt. Each is a model of one convolution with its bias, channels first, on both sides: the
time of bringing data into the layout that a side computes in, and back, counts. Every round runs both in turns, and the
smallest time counts. With one thread that is the processor time of the thread, which a busy machine disturbs less; with
more it is the time on the wall. The peak is measured in the same process: multiply-adds on registers.

Without ONNX Runtime there are no ratios.
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
import tessera
from common.roof import SUMS, peak_module
from tessera import relay, topi
from tessera.contrib import graph_executor

try:
    import onnx
    import onnxruntime
except ImportError:
    onnx = onnxruntime = None

SHAPES = Path(__file__).with_name("conv_shapes.txt")
USUAL = ["resnet18", "mobilenet_v2"]


class Conv(NamedTuple):
    """One line of conv_shapes.txt."""

    net: str
    count: int
    channels: int
    height: int
    width: int
    outs: int
    kh: int
    kw: int
    stride: int
    pad_h: int
    pad_w: int
    groups: int

    @property
    def out(self) -> tuple[int, int]:
        high = (self.height + 2 * self.pad_h - self.kh) // self.stride + 1
        return high, (self.width + 2 * self.pad_w - self.kw) // self.stride + 1

    @property
    def operations(self) -> float:
        return 2.0 * self.outs * math.prod(self.out) * self.channels // self.groups * self.kh * self.kw

    def __str__(self) -> str:
        text = f"{self.channels}x{self.height}x{self.width} -> {self.outs}, {self.kh}x{self.kw}"
        text += f" / {self.stride}" if self.stride > 1 else ""
        return text + (f", {self.groups} groups" if self.groups > 1 else "")


def read_shapes(nets: list[str]) -> list[Conv]:
    rows = [line.split() for line in SHAPES.read_text().splitlines() if not line.startswith("#")]
    convs = [Conv(row[0], *map(int, row[1:])) for row in rows]
    known = list(dict.fromkeys(conv.net for conv in convs))
    for net in nets:
        if net not in known and net != "all":
            raise SystemExit(f"no network {net!r}; there are {', '.join(known)} and all")
    return convs if "all" in nets else [conv for conv in convs if conv.net in nets]


# ---- the two sides ---------------------------------------------------------------------------------------------------

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def ours(conv: Conv, arrays: Arrays) -> Callable[[], Any]:
    data, weight, bias = arrays
    x = relay.var("x", shape=data.shape)
    y = relay.nn.conv2d(
        x,
        relay.const(weight),
        strides=(conv.stride, conv.stride),
        padding=(conv.pad_h, conv.pad_w),
        groups=conv.groups,
        channels=conv.outs,
        kernel_size=(conv.kh, conv.kw),
    )
    mod = tessera.IRModule.from_expr(relay.Function([x], relay.nn.bias_add(y, relay.const(bias))))
    with tessera.transform.PassContext(opt_level=3):
        module = graph_executor.GraphModule(relay.build(mod, "llvm")["default"](tessera.cpu()))
    module.set_input("x", data)

    def run() -> Any:
        module.run()
        return module.get_output(0)

    return run


def theirs(conv: Conv, arrays: Arrays, threads: int) -> Callable[[], Any] | None:
    if onnx is None or onnxruntime is None:
        return None
    data, weight, bias = arrays
    node = onnx.helper.make_node(
        "Conv",
        ["x", "w", "b"],
        ["y"],
        strides=[conv.stride] * 2,
        pads=[conv.pad_h, conv.pad_w] * 2,
        group=conv.groups,
    )
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "conv",
        [value("x", onnx.TensorProto.FLOAT, data.shape)],
        [value("y", onnx.TensorProto.FLOAT, (1, conv.outs, *conv.out))],
        [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": data})[0]


def measured_peak(threads: int, clock: Callable[[], float]) -> float:
    module, task = peak_module(threads)
    lanes = topi.cpu.machine_of("llvm").vector_bytes // 4
    x, y = (tessera.nd.array(np.full(size, 0.5, "float32")) for size in (lanes, lanes * SUMS * threads))
    function = module[module.entry_name]
    return task * threads / shortest([lambda: function(x, y)], clock, 10)[0] / 1e9


def shortest(runs: list[Callable[[], Any]], clock: Callable[[], float], rounds: int) -> list[float]:
    best = [math.inf] * len(runs)
    for _ in range(rounds):
        for i, run in enumerate(runs):
            for _ in range(2):
                start = clock()
                run()
                best[i] = min(best[i], clock() - start)
    return best


# ---- one number of threads, in a process of its own -----------------------------------------------------------------


def measure(nets: list[str], threads: int, rounds: int) -> list[dict[str, Any]]:
    clock = time.thread_time if threads == 1 else time.perf_counter
    peak = measured_peak(threads, clock)
    print(f"\n{threads} thread{'s' * (threads > 1)}, peak {peak:.1f} GFLOP/s")
    print(f"{'':52}{'ms':>8}{'GFLOP/s':>9}{'of peak':>9}{'ONNX Runtime ms':>17}{'ratio':>7}")
    rng = np.random.default_rng(0)
    records, seen = [], {}
    for conv in read_shapes(nets):
        key = conv[2:]
        if key not in seen:
            shapes = (
                (1, conv.channels, conv.height, conv.width),
                (conv.outs, conv.channels // conv.groups, conv.kh, conv.kw),
                (conv.outs,),
            )
            data, weight, bias = (rng.standard_normal(shape).astype("float32") for shape in shapes)
            run, other = ours(conv, (data, weight, bias)), theirs(conv, (data, weight, bias), threads)
            if other:
                want = other()
                np.testing.assert_allclose(
                    run().numpy(), want, rtol=1e-3, atol=1e-3 * abs(want).max(), err_msg=str(conv)
                )
            seen[key] = shortest([run, other] if other else [run], clock, rounds)
        mine, *rest = seen[key]
        gflops = conv.operations / mine / 1e9
        ratio = rest[0] / mine if rest else math.nan
        compared = f"{rest[0] * 1e3:>17.3f}{ratio:>7.2f}" if rest else ""
        print(f"{conv.net:20}{conv!s:32}{mine * 1e3:>8.3f}{gflops:>9.1f}{gflops / peak:>9.1%}{compared}", flush=True)
        records.append(conv._asdict() | {"threads": threads, "ms": mine * 1e3, "peak": peak, "ratio": ratio})
    if onnxruntime is not None:
        for net in dict.fromkeys(record["net"] for record in records):
            ratios = [record["ratio"] for record in records if record["net"] == net]
            print(f"{net:20}{'geometric mean of the ratios':32}{math.exp(np.mean(np.log(ratios))):>50.2f}")
    return records


def run_child(args: argparse.Namespace, threads: int, processors: list[int]) -> list[dict[str, Any]]:
    """Thread pools read their size once, from the environment; one thread is pinned to one processor."""
    environment = dict(os.environ, TVM_NUM_THREADS=str(threads))
    command = [sys.executable, __file__, "--child", str(threads), "--rounds", str(args.rounds), "--json", args.json]
    for net in args.net:
        command += ["--net", net]
    pin = lambda: os.sched_setaffinity(0, processors if threads > 1 else processors[-1:])  # noqa: E731
    subprocess.run(command, env=environment, preexec_fn=pin, check=True)
    return json.loads(Path(args.json).read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description="Convolutions against ONNX Runtime.")
    parser.add_argument("--net", action="append", help=f"a network of conv_shapes.txt, or all ({', '.join(USUAL)})")
    parser.add_argument("--threads", help="such as 1,2; default: one and all")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", default="bench-ops.json", help="where the figures go (bench-ops.json)")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.net = args.net or USUAL
    if args.child:
        Path(args.json).write_text(json.dumps(measure(args.net, args.child, args.rounds)))
        return 0
    read_shapes(args.net)
    processors = sorted(os.sched_getaffinity(0))
    machine = topi.cpu.machine_of("llvm")
    print(f"{machine.cpu}, {machine.isa}, {len(processors)} processors")
    counts = [int(count) for count in args.threads.split(",")] if args.threads else sorted({1, len(processors)})
    records = [record for count in counts for record in run_child(args, count, processors)]
    Path(args.json).write_text(json.dumps(records, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
