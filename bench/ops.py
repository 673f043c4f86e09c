#!/usr/bin/env python
"""Single operators beside ONNX Runtime, OpenVINO and PyTorch, float32, with one thread and with all; products of 16 bits
beside our own float32.

    python bench/ops.py                                        # all families beside what is installed
    .venv-torch/bin/python bench/ops.py conv1d pool --threads 1 --peers ort,openvino
    python bench/ops.py networks --net resnet50 --net ...      # convolutions of these networks, or --net all

A case is a model of one operator (or a short chain) in the layout of ONNX; its shapes are in op_cases/. All sides run that
model, so bringing data into the layout a side computes in, and back, counts. Every round runs all sides in turns, and the
smallest time counts: with one thread the CPU time of the process, which a busy machine disturbs less, with more the
time on the wall. A ratio is the other's time over ours: above 1 we are faster. Answers are compared with ONNX Runtime's.

Two roofs are measured in the same rounds: multiply-adds on registers, and a copy that moves as many bytes as the operator
has to, in operands and results together; so the memory roof of a small operator is that of the cache it fits in.

Writes ops.json and ops.html (the chart) into --out. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from common.contenders import (
    PEERS,
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

REPOSITORY = Path(__file__).resolve().parent.parent
ROUND_SECONDS = 0.03  # each contender of a round runs about this long, at least once
COLUMNS = {**PEERS, "float": "our float32"}  # the last for cases of fewer bits only
FURTHEST = 1e-3  # an answer from ONNX Runtime's, relative to the greatest magnitude


def torch_runner(case: Any, threads: int, compiled: bool) -> Run:
    import torch

    torch.set_num_threads(threads)
    tensors = {name: torch.from_numpy(value) for name, value in {**case.inputs, **case.weights}.items()}
    function = lambda: case.torch(torch, tensors)  # noqa: E731
    if compiled:
        function = torch.compile(function)

    def run() -> Any:
        with torch.inference_mode():
            return [function().numpy()]

    return run


# ---- one family and number of threads, in a process of its own ------------------------------------------------------


def measure(case: Any, threads: int, peers: Sequence[str], rounds: int, clock: Callable[[], float]) -> dict[str, Any]:
    from common.roof import copy_runner, peak_runner

    facts: dict[str, Any] = {"model": case.name, "threads": threads, "count": case.count}
    makers: dict[str, Callable[[], Run]] = {
        "ort": lambda: ort_runner(case.model, case.inputs, threads),
        "openvino": lambda: openvino_runner(case.model, case.inputs, threads),
        "torch": lambda: torch_runner(case, threads, False),
        "compile": lambda: torch_runner(case, threads, True),
    }
    wanted = [peer for peer in peers if case.torch or peer not in ("torch", "compile")]
    if case.wide:
        makers["float"] = lambda: tessera_runner(case.wide, case.inputs, {}, bound=True)
        wanted = ["float"]
    runs = {"tessera": tessera_runner(case.model, case.inputs, facts, bound=True), **installed(makers, wanted)}
    answers = {who: run() for who, run in runs.items()}
    want = answers[next(who for who in ("ort", "float", "tessera") if who in runs)]
    facts["difference"] = {who: difference(answer, want) for who, answer in answers.items()}
    if facts["difference"]["tessera"] > FURTHEST:
        raise SystemExit(f"{case.name}: the answer is {facts['difference']['tessera']:.1e} from ONNX Runtime's")
    if case.operations is not None:
        facts["operations"] = case.operations
    facts["bytes"] = case.bytes(want)
    peak, operations = peak_runner(steps=2000)
    best = shortest(
        {**runs, "peak": peak, "copy": copy_runner(facts["bytes"])}, clock, rounds, ROUND_SECONDS, most=1000
    )
    facts["peak"] = operations / best.pop("peak")
    facts["copy_s"] = best.pop("copy")
    facts["seconds"] = best
    return facts


# ---- the whole -------------------------------------------------------------------------------------------------------


def run_child(family: str, threads: int, args: argparse.Namespace, cpus: list[int]) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, family, "--child", str(threads), "--peers", args.peers]
    command += ["--rounds", str(args.rounds), "--only", args.only]
    for net in args.net:
        command += ["--net", net]
    chosen = cpus if threads > 1 else cpus[-1:]
    pin = lambda: os.sched_setaffinity(0, chosen)  # noqa: E731
    out = []
    environment = child_environment(threads)
    with subprocess.Popen(command, env=environment, preexec_fn=pin, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        for line in child.stdout:
            out.append(json.loads(line))
            print_row(out[-1])
    if child.returncode != 0:
        print(f"{family}: failed with status {child.returncode}", file=sys.stderr)
    return out


def part_of_roofs(row: dict[str, Any]) -> tuple[float, float]:
    ours = row["seconds"]["tessera"]
    return row["operations"] / ours / row["peak"], row["copy_s"] / ours


def ratios(row: dict[str, Any]) -> dict[str, float]:
    return {peer: row["seconds"][peer] / row["seconds"]["tessera"] for peer in COLUMNS if peer in row["seconds"]}


def print_row(row: dict[str, Any]) -> None:
    compute, memory = part_of_roofs(row)
    against = ratios(row)
    text = "".join(f"{against[peer]:>14.2f}" if peer in against else f"{'-':>14}" for peer in COLUMNS)
    ours = row["seconds"]["tessera"] * 1e3
    print(
        f"{row['model']:48}{ours:>9.3f}{compute:>9.0%}{memory:>9.0%}{text}{row['difference']['tessera']:>9.0e}",
        flush=True,
    )


def print_mean(title: str, rows: Sequence[dict[str, Any]]) -> None:
    text = ""
    for peer in COLUMNS:
        all_ratios = [ratios(row)[peer] for row in rows if peer in ratios(row)]
        text += f"{geomean(all_ratios):>14.2f}" if all_ratios else f"{'-':>14}"
    print(f"{title:75}{text}")


def main() -> int:
    try:
        from op_cases import FAMILIES
    except ImportError as error:
        print(f"bench/ops.py describes operators as models of ONNX: {error}")
        return 0
    parser = argparse.ArgumentParser(description="Operators beside ONNX Runtime, OpenVINO and PyTorch.")
    parser.add_argument("families", nargs="*", help=f"of {', '.join(FAMILIES)}; all unless given")
    parser.add_argument("--net", action="append", default=[], help="a network of conv_shapes.txt, or all")
    parser.add_argument("--only", default="", help="only cases whose name has this in it")
    parser.add_argument("--threads", help="such as 1,2; default: one and all")
    parser.add_argument(
        "--peers", default="ort,openvino,torch", help=f"of {','.join(PEERS)}; all but compile unless given"
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "bench", help="folder for JSON and chart")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    peers = [peer for peer in args.peers.split(",") if peer]
    if unknown := [peer for peer in peers if peer not in PEERS]:
        parser.error(f"no peer {unknown[0]}; there are {', '.join(PEERS)}")
    if unknown := [family for family in args.families if family not in FAMILIES]:
        parser.error(f"no family {unknown[0]}; there are {', '.join(FAMILIES)}")
    if args.child:
        clock = time.process_time if args.child == 1 else time.perf_counter
        for case in FAMILIES[args.families[0]](args.net):
            if args.only in case.name:
                facts = measure(case, args.child, peers, args.rounds, clock)
                print(json.dumps(facts | {"family": args.families[0]}), flush=True)
        return 0
    FAMILIES["networks"](args.net)  # says it if there is no such network
    cpus = sorted(os.sched_getaffinity(0))
    counts = [int(count) for count in args.threads.split(",")] if args.threads else sorted({1, len(cpus)})
    results = []
    for threads in counts:
        peers_text = "".join(f"{name:>14}" for name in COLUMNS.values())
        for family in args.families or FAMILIES:
            title = f"{family}, {threads} thread{'s' * (threads > 1)}"
            print(f"\n{title:48}{'ms':>9}{'compute':>9}{'memory':>9}{peers_text}{'apart':>9}")
            rows = run_child(family, threads, args, cpus)
            results += rows
            if rows:
                print_mean("geomean", rows)
        print_mean(
            f"\ngeomean of all, {threads} thread{'s' * (threads > 1)}", [r for r in results if r["threads"] == threads]
        )
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "ops.json").write_text(json.dumps(results, indent=1))
    from common.chart import write_chart

    write_chart(args.out / "ops.html", results, PEERS)
    print(f"\nwritten: {args.out / 'ops.json'}, {args.out / 'ops.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
