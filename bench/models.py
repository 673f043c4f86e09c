#!/usr/bin/env python
"""Whole models beside ONNX Runtime, OpenVINO and PyTorch (eager and torch.compile), with one thread and with all.

    make bench-models                                      # all of it, from .venv-torch, with a chart
    .venv-torch/bin/python bench/models.py resnet50 bert_base --threads 1 --peers ort,openvino
    .venv-torch/bin/python bench/models.py wide            # models of other kinds: video, recurrence, language, segmentation
    .venv-torch/bin/python bench/models.py --clock processor   # on a busy machine: CPU time, one thread only

For each model and number of threads one process holds all contenders, with that many threads each; one thread is pinned
to one core. Every round runs each of them in turns, so that a busy moment of the machine hits all alike, and the
smallest time counts. The answers are compared with ONNX Runtime's. The compute roof is measured in the same rounds:
multiply-adds on registers; the operations of a model are the products and sums of its convolutions and matmuls.

Models are float32; those called NAME_int8 and NAME_dynamic (ranges found at run time) are made by ONNX Runtime's quantiser
(tests/frameworks/quantize.py), those called
NAME_f16 and NAME_bf16 have float16 and bfloat16 for float32 (tests/frameworks/halve.py; no peer runs the latter). Our own
float32 is a contender there. The roof is that of float32, which they may pass, and the means leave them out.

    .venv-torch/bin/python bench/models.py --switches all --peers ort      # what each decision about the graph gives

With --switches our own models are contenders too, each compiled without one of the
decisions about the whole graph.

"compile" is torch.compile with its inductor, "backend" torch.compile(backend="tessera") with the same module.

A ratio is the other's time over ours: above 1 we are faster. Peers that are not installed are left out. Writes
models.json and models.html (the chart) into --out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
from common.contenders import (
    PEERS,
    Inputs,
    Run,
    child_environment,
    difference,
    geomean,
    installed,
    openvino_runner,
    ort_runner,
    shortest,
    tessera_runner,
)

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
MODELS = [
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "squeezenet1_1",
    "densenet121",
    "inception_v3",
    "vgg16",
    "vit_b_16",
    "bert_base",
    "gpt2",
    "resnet50_int8",
    "bert_base_int8",
    "bert_base_dynamic",
    "resnet50_f16",
    "bert_base_f16",
    "resnet50_bf16",
    "bert_base_bf16",
]
#: Of other kinds than the above: `bench/models.py wide`.
WIDE = [
    "shufflenet_v2_x1_0",
    "convnext_tiny",
    "swin_t",
    "regnet_y_400mf",
    "mnasnet1_0",
    "deeplabv3_resnet50",
    "segformer",
    "r3d_18",
    "lstm_512",
    "bilstm",
    "llama_prefill",
    "llama_decode",
    "whisper_encoder",
    "whisper_decoder",
]
#: How names of models with fewer bits end, and what makes them.
NARROW = {"_int8": "quantize.py", "_dynamic": "quantize.py", "_f16": "halve.py", "_bf16": "halve.py"}
SWITCHES: dict[str, dict[str, Any]] = {  # decisions about the whole graph, and the PassContext without them
    "layouts": {"disabled_pass": ["AlterOpLayout"]},
    "winograd": {"config": {"relay.conv2d.winograd": False}},
    "packing": {"disabled_pass": ["PackWeights"]},
    "fusion": {"config": {"relay.FuseOps.max_depth": 1}},
    "combined": {"disabled_pass": ["CombineProducts"]},
    "attention": {"disabled_pass": ["FuseAttention"]},
    "rows": {"disabled_pass": ["FuseRows"]},
    "views": {"disabled_pass": ["SinkViews"]},
}
# "float" for models with fewer bits only.
ALL_PEERS = {**PEERS, "backend": "our backend", "float": "our float32"}
ROUNDS_SECONDS = 0.25  # each contender of a round runs about this long, at least once


# ---- contenders ------------------------------------------------------------------------------------------------------


def torch_runner(name: str, inputs: Inputs, threads: int, backend: str | None) -> Run:
    import torch

    sys.path.insert(0, str(REPOSITORY / "tests" / "frameworks"))
    import export

    torch.manual_seed(export.SEED)
    module = export.MODELS[name]().module.eval()
    torch.set_num_threads(threads)
    if backend == "tessera":
        import tessera.torch  # noqa: F401
    if backend:
        module = torch.compile(module, backend=backend)
    tensors = [torch.from_numpy(value) for value in inputs.values()]

    def run() -> list[np.ndarray]:
        with torch.inference_mode():
            out = module(*tensors)
        return [value.numpy() for value in (out if isinstance(out, tuple) else (out,))]

    return run


def wide_name(name: str) -> str:
    """The model of float32 that one of fewer bits was made from; itself for one of float32."""
    for suffix in NARROW:
        name = name.removesuffix(suffix)
    return name


def contenders(
    name: str, path: Path, threads: int, peers: Sequence[str], switches: Sequence[str], facts: dict[str, Any]
) -> dict[str, Run]:
    """Ours first. What is not installed is not there."""
    inputs = dict(np.load(path.with_suffix(".npz")))
    makers: dict[str, Callable[[], Run]] = {
        "ort": lambda: ort_runner(path, inputs, threads),
        "openvino": lambda: openvino_runner(path, inputs, threads),
    }
    if wide_name(name) != name:
        wide = path.with_name(f"{wide_name(name)}.onnx")
        makers["float"] = lambda: tessera_runner(wide, dict(np.load(wide.with_suffix(".npz"))), {})
    else:
        for peer, backend in (("torch", None), ("compile", "inductor"), ("backend", "tessera")):
            makers[peer] = partial(torch_runner, name, inputs, threads, backend)
    chosen = [peer for peer in peers if peer in makers and (peer == "float" or not name.endswith("_bf16"))]
    off = {switch: tessera_runner(path, inputs, {}, **SWITCHES[switch]) for switch in switches}
    return {"tessera": tessera_runner(path, inputs, facts), **installed(makers, chosen), **off}


# ---- one model and number of threads, in a process of its own -------------------------------------------------------


def measure(
    name: str,
    path: Path,
    threads: int,
    peers: Sequence[str],
    switches: Sequence[str],
    rounds: int,
    clock: Callable[[], float],
) -> dict[str, Any]:
    from common.roof import peak_runner

    facts: dict[str, Any] = {"model": name, "threads": threads}
    runs = contenders(name, path, threads, peers, switches, facts)
    answers = {who: run() for who, run in runs.items()}
    want = answers[next(who for who in ("ort", "float", "tessera") if who in runs)]
    facts["difference"] = {who: difference(answer, want) for who, answer in answers.items()}
    peak, peak_operations = peak_runner()
    best = shortest({**runs, "peak": peak}, clock, rounds, ROUNDS_SECONDS)
    facts["peak"] = peak_operations / best.pop("peak")
    facts["seconds"] = best
    return facts


# ---- the whole -------------------------------------------------------------------------------------------------------


def run_child(name: str, threads: int, args: argparse.Namespace, cpus: list[int]) -> dict[str, Any] | None:
    command = [sys.executable, __file__, name, "--child", str(threads), "--peers", args.peers, "--clock", args.clock]
    command += ["--rounds", str(args.rounds), "--models", os.fspath(args.models), "--switches", args.switches]
    chosen = cpus if threads > 1 else cpus[-1:]
    pin = lambda: os.sched_setaffinity(0, chosen)  # noqa: E731
    run = subprocess.run(
        command, env=child_environment(threads), preexec_fn=pin, stdout=subprocess.PIPE, text=True, check=False
    )
    if run.returncode != 0:
        print(f"{name}: failed with status {run.returncode}", file=sys.stderr)
        return None
    return json.loads(run.stdout.splitlines()[-1])


def print_table(results: list[dict[str, Any]], threads: int) -> None:
    rows = [result for result in results if result["threads"] == threads]
    if not rows:
        return
    peers = [peer for peer in ALL_PEERS if any(peer in row["seconds"] for row in rows)]
    roof = max(row["peak"] for row in rows)
    print(f"\n{threads} thread{'s' * (threads > 1)}, peak {roof / 1e9:.0f} GFLOP/s; ratios are theirs over ours")
    print(f"{'':20}{'ms':>9}{'of peak':>9}" + "".join(f"{ALL_PEERS[peer]:>15}" for peer in peers) + "   apart")
    for row in rows:
        ours = row["seconds"]["tessera"]
        part = row["operations"] / ours / roof
        ratios = "".join(
            f"{row['seconds'][peer] / ours:>15.2f}" if peer in row["seconds"] else f"{'-':>15}" for peer in peers
        )
        print(f"{row['model']:20}{ours * 1e3:>9.2f}{part:>9.1%}{ratios}{row['difference']['tessera']:>8.0e}")
    means = ""
    for peer in peers:
        floats = [row["seconds"] for row in rows if peer in row["seconds"] and wide_name(row["model"]) == row["model"]]
        mean = geomean([seconds[peer] / seconds["tessera"] for seconds in floats]) if floats else 0
        means += f"{mean:>15.2f}" if floats else f"{'-':>15}"
    print(f"{'geomean':20}{'':18}{means}")
    if switches := [name for name in SWITCHES if any(name in row["seconds"] for row in rows)]:
        print(f"\nwithout one decision about the graph, its time over ours\n{'':20}", end="")
        print("".join(f"{name:>11}" for name in switches))
        for row in rows:
            print(f"{row['model']:20}", end="")
            print("".join(f"{row['seconds'][name] / row['seconds']['tessera']:>11.2f}" for name in switches))


def main() -> int:
    parser = argparse.ArgumentParser(description="Whole models beside ONNX Runtime, OpenVINO and PyTorch.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODELS)}; all unless given; 'wide': {', '.join(WIDE)}")
    parser.add_argument("--threads", help="such as 1,2; default: one and all")
    parser.add_argument("--peers", default=",".join(ALL_PEERS), help=f"of {','.join(ALL_PEERS)}; all unless given")
    parser.add_argument("--switches", default="", help=f"all, or of {','.join(SWITCHES)}; none unless given")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument(
        "--models", type=Path, default=REPOSITORY / "build" / "models", help="folder of exported models"
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "bench", help="folder for JSON and chart")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := [peer for peer in args.peers.split(",") if peer not in ALL_PEERS]:
        parser.error(f"no peer {unknown[0]}; there are {', '.join(ALL_PEERS)}")
    switches = list(SWITCHES) if args.switches == "all" else list(filter(None, args.switches.split(",")))
    if unknown := [switch for switch in switches if switch not in SWITCHES]:
        parser.error(f"no switch {unknown[0]}; there are {', '.join(SWITCHES)}")
    if args.child:
        clock = time.perf_counter if args.clock == "wall" else time.process_time
        path = args.models / f"{args.names[0]}.onnx"
        peers = args.peers.split(",")
        print(json.dumps(measure(args.names[0], path, args.child, peers, switches, args.rounds, clock)))
        return 0
    names = WIDE if args.names == ["wide"] else args.names or MODELS
    missing = [name for name in names if not (args.models / f"{name}.onnx").exists()]
    scripts = {"export.py": [name for name in missing if wide_name(name) == name]}
    for suffix, script in NARROW.items():
        scripts[script] = [name for name in missing if name.endswith(suffix)]
    for script, made in scripts.items():
        command = [sys.executable, REPOSITORY / "tests" / "frameworks" / script, "--out", args.models, *made]
        if made and subprocess.run(command, check=False).returncode != 0:
            print("bench/models.py needs models that PyTorch exports: `make bench-models` has it")
            return 0
    cpus = sorted(os.sched_getaffinity(0))
    counts = [int(count) for count in args.threads.split(",")] if args.threads else sorted({1, len(cpus)})
    results = []
    for threads in counts:
        for name in names:
            if (result := run_child(name, threads, args, cpus)) is not None:
                results.append(result)
                times = ", ".join(f"{who} {s * 1e3:.2f} ms" for who, s in result["seconds"].items())
                print(f"{name}, {threads} thread{'s' * (threads > 1)}: {times}", flush=True)
        print_table(results, threads)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "models.json").write_text(json.dumps(results, indent=1))
    from common.chart import write_chart

    write_chart(args.out / "models.html", results, ALL_PEERS)
    print(f"\nwritten: {args.out / 'models.json'}, {args.out / 'models.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
