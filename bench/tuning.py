#!/usr/bin/env python
"""How fast searches measure, and what they find: beside the schedule rules, beside a random search, and for whole models.

    python bench/tuning.py                                      # all parts, each for five minutes at most
    python bench/tuning.py speed auto_scheduler --trials 200
    python bench/tuning.py learning --seeds 5 --minutes 20
    python bench/tuning.py models --models resnet18.onnx --minutes 10
    python bench/tuning.py --quick                              # a few trials of each: does it work at all?

speed            trials of a second, built and run, of a matmul of 512 that runs once a trial
auto_scheduler   the best of --trials states of a matmul of 1024 and three convolutions of resnet18, from plain definitions, beside
                 what the schedule rules make of these operators
meta_schedule    the same by tune_tir
learning         XGBTuner beside RandomTuner on three tasks: the median, over seeds, of the best after 100 trials
models           `tessera tune`: whole models before and after, measured in turns

The rule's kernel and the one that was found have the same inputs in the same layouts (images NHWC, filters HWIO; what a side packs
counts) and run in turns; a speed is the median of the ratios of the rounds. Each search has its share of the part's minutes; one that
runs out of time says how far it came.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tessera
from common.contenders import PAUSE, geomean
from tessera import auto_scheduler, autotvm, meta_schedule, relay, te, topi
from tessera.contrib.boosted_trees import find_xgboost
from tessera.contrib.graph_executor import GraphModule
from tessera.driver import tvmc
from tessera.relay import testing

REPOSITORY = Path(__file__).resolve().parent.parent
PROGRAM = Path(tessera.__file__).parent / "bin" / "tessera"
TARGET = tessera.target.Target("llvm")
PARTS = ["speed", "auto_scheduler", "meta_schedule", "learning", "models"]
MODELS = ["resnet18", "mobilenet_v2", "shufflenet_v2_x1_0"]
ROUND_SECONDS = 0.05  # each side of a round runs about this long
ROUNDS = 15


class OutOfTime(Exception):
    """Ends a search from a callback."""


class Limit:
    """The time of a part; searches in it have equal shares of what is left."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes

    def share(self, searches: int) -> Limit:
        """The time of one of so many searches that are left."""
        left = max(0.0, self.end - time.monotonic())
        return Limit(left / max(searches, 1) / 60)

    def check(self, *_: Any) -> None:
        """A callback."""
        if time.monotonic() > self.end:
            raise OutOfTime


# ---- what is searched: plain definitions, and the same as a model for the rules ----------------------------------------


@auto_scheduler.register_workload
def bench_matmul(n: int, m: int, k: int) -> list[Any]:
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    axis = te.reduce_axis((0, k), name="k")
    return [a, b, te.compute((n, m), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=axis), name="C")]


@auto_scheduler.register_workload
def bench_conv(channels: int, pixels: int, outputs: int, kernel: int, stride: int) -> list[Any]:
    data = te.placeholder((1, pixels, pixels, channels), name="data")
    weight = te.placeholder((kernel, kernel, channels, outputs), name="weight")
    return [data, weight, topi.nn.conv2d_nhwc(data, weight, stride, kernel // 2, 1)]


def relay_matmul(n: int, m: int, k: int) -> Any:
    a, b = relay.var("A", shape=(n, k)), relay.var("B", shape=(k, m))
    return relay.Function([a, b], relay.nn.matmul(a, b))


def relay_conv(channels: int, pixels: int, outputs: int, kernel: int, stride: int) -> Any:
    data = relay.var("data", shape=(1, pixels, pixels, channels))
    weight = relay.var("weight", shape=(kernel, kernel, channels, outputs))
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "kernel_size": (kernel, kernel), "channels": outputs}
    return relay.Function([data, weight], relay.nn.conv2d(data, weight, stride, kernel // 2, **layouts))


# (name, definition, model, arguments)
TASKS: list[tuple[str, Callable, Callable, tuple[int, ...]]] = [
    ("matmul 1024", bench_matmul, relay_matmul, (1024, 1024, 1024)),
    ("conv 64, 56x56, 3x3", bench_conv, relay_conv, (64, 56, 64, 3, 1)),
    ("conv 64 to 128, 56x56, 3x3 / 2", bench_conv, relay_conv, (64, 56, 128, 3, 2)),
    ("conv 256, 14x14, 3x3", bench_conv, relay_conv, (256, 14, 256, 3, 1)),
]


class Contest:
    """A kernel that was found beside the rule's."""

    def __init__(self, function: Any, arguments: Any) -> None:
        with tessera.transform.PassContext(opt_level=3):
            self.rule = GraphModule(relay.build(tessera.IRModule.from_expr(function), TARGET)["default"](tessera.cpu()))
        rng = np.random.default_rng(1)
        shapes = [[int(extent) for extent in each.shape] for each in arguments]
        self.values = [rng.standard_normal(shape).astype("float32") for shape in shapes]
        for i, value in enumerate(self.values[:-1]):
            self.rule.set_input(i, value)

    def speed(self, library: Any) -> tuple[float, float]:
        """The rule's seconds, and its time over that of the library's function."""
        tensors = [tessera.nd.array(value) for value in self.values]
        function = library[library.entry_name]
        function(*tensors)
        self.rule.run()
        wanted = self.rule.get_output(0).numpy()
        np.testing.assert_allclose(tensors[-1].numpy(), wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())
        sides = [self.rule.run, lambda: function(*tensors)]
        counts = []
        for run in sides:
            start = time.perf_counter()
            run()
            counts.append(max(1, int(ROUND_SECONDS / (time.perf_counter() - start))))
        times: list[list[float]] = [[], []]
        for turn in range(ROUNDS):
            for side in (0, 1) if turn % 2 else (1, 0):
                time.sleep(PAUSE)
                start = time.perf_counter()
                for _ in range(counts[side]):
                    sides[side]()
                times[side].append((time.perf_counter() - start) / counts[side])
        return statistics.median(times[0]), statistics.median(rule / found for rule, found in zip(*times))


# ---- searches ----------------------------------------------------------------------------------------------------------


class AutoSchedulerLimit(auto_scheduler.measure.PythonBasedMeasureCallback):
    """Counts trials and ends a search that has no time left."""

    def __init__(self, limit: Limit) -> None:
        self.limit, self.trials = limit, 0

    def callback(self, policy: Any, inputs: Any, results: Any) -> None:
        self.trials += len(results)
        self.limit.check()


def by_auto_scheduler(task: Any, trials: int, limit: Limit, fast: bool, log: Path) -> int:
    """Searches; how many trials there were. `fast`: a trial runs once."""
    until = AutoSchedulerLimit(limit)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0) if fast else auto_scheduler.LocalRunner(),
        measure_callbacks=[auto_scheduler.RecordToFile(str(log)), until],
    )
    with contextlib.suppress(OutOfTime):
        task.tune(options)
    return until.trials


@meta_schedule.utils.derived_object
class MetaScheduleLimit(meta_schedule.measure_callback.PyMeasureCallback):
    """The same."""

    def __init__(self, limit: Limit) -> None:
        self.limit, self.trials = limit, 0

    def apply(self, task_scheduler: Any, task_id: int, candidates: Any, built: Any, results: Any) -> None:
        self.trials += len(results)
        self.limit.check()


def by_meta_schedule(program: Any, trials: int, limit: Limit, fast: bool, folder: Path) -> tuple[int, Any]:
    """Searches; how many trials there were, and the best schedule."""
    until = MetaScheduleLimit(limit)
    config = meta_schedule.TuneConfig(max_trials_global=trials, num_trials_per_iter=min(trials, 64))
    evaluator = meta_schedule.runner.EvaluatorConfig(1, 1, 0) if fast else meta_schedule.runner.EvaluatorConfig()
    folder.mkdir(exist_ok=True)
    database = meta_schedule.database.JSONDatabase(work_dir=str(folder))
    mod = meta_schedule.default_config.mod(program)
    with contextlib.suppress(OutOfTime):
        meta_schedule.tune_tir(
            mod,
            TARGET,
            config,
            str(folder),
            database=database,
            runner=meta_schedule.runner.LocalRunner(evaluator_config=evaluator),
            measure_callbacks=[*meta_schedule.default_config.callbacks(None), until],
        )
    best = database.get_top_k(database.commit_workload(mod), top_k=1)
    schedule = tessera.tir.Schedule(mod)
    if best:
        best[0].trace.apply_to_schedule(schedule, remove_postproc=False)
    return until.trials, schedule


@autotvm.template("bench/matmul")
def matmul_template(n: int) -> Any:
    a, b, c = bench_matmul(n, n, n)
    schedule = te.create_schedule(c.op)
    cfg = autotvm.get_config()
    y, x = schedule[c].op.axis
    (k,) = schedule[c].op.reduce_axis
    cfg.define_split("tile_y", y, num_outputs=3)
    cfg.define_split("tile_x", x, num_outputs=3)
    cfg.define_split("tile_k", k, num_outputs=2)
    cfg.define_knob("unroll", [0, 16, 64, 512])
    yt, yo, yi = cfg["tile_y"].apply(schedule, c, y)
    xt, xo, xi = cfg["tile_x"].apply(schedule, c, x)
    ko, ki = cfg["tile_k"].apply(schedule, c, k)
    schedule[c].reorder(yt, xt, ko, yo, xo, ki, yi, xi)
    schedule[c].parallel(schedule[c].fuse(yt, xt))
    schedule[c].vectorize(xi)
    schedule[c].pragma(ko, "auto_unroll_max_step", cfg["unroll"].val)
    return schedule, [a, b, c]


def learning_tasks() -> dict[str, Any]:
    conv = [("TENSOR", (1, 64, 56, 56), "float32"), ("TENSOR", (64, 64, 3, 3), "float32")]
    dense = [("TENSOR", (128, 768), "float32"), ("TENSOR", (768, 768), "float32")]
    return {
        "matmul 512": autotvm.task.create("bench/matmul", args=(512,), target=TARGET),
        "conv2d_NCHWc 64, 56x56, 3x3": autotvm.task.create(
            "conv2d_NCHWc.x86", (*conv, (1, 1), (1, 1, 1, 1), (1, 1), "NCHW", "NCHW", "float32"), TARGET
        ),
        "dense_pack 128x768x768": autotvm.task.create("dense_pack.x86", (*dense, None, "float32"), TARGET),
    }


def by_autotvm(tuner: Any, trials: int, limit: Limit, fast: bool) -> float:
    """Searches; the rate of the best in GFLOP/s."""
    runner = autotvm.LocalRunner(number=1, repeat=1 if fast else 3, min_repeat_ms=0, cooldown_interval=0)
    option = autotvm.measure_option(autotvm.LocalBuilder(), runner)
    tuner.tune(trials, option, callbacks=[limit.check])
    return float(tuner.best_flops) / 1e9


# ---- parts -------------------------------------------------------------------------------------------------------------


def speed(args: argparse.Namespace, limit: Limit, folder: Path) -> dict[str, Any]:
    """Trials of a second."""
    trials = 16 if args.quick else 128
    program = te.create_prim_func(bench_matmul(512, 512, 512))
    task = autotvm.task.create("bench/matmul", args=(512,), target=TARGET)
    space = auto_scheduler.SearchTask(func=bench_matmul, args=(512, 512, 512), target=TARGET)
    monitor = autotvm.callback.Monitor()

    def autotvm_trials(share: Limit) -> int:
        runner = autotvm.LocalRunner(number=1, repeat=1, min_repeat_ms=0, cooldown_interval=0)
        option = autotvm.measure_option(autotvm.LocalBuilder(), runner)
        with contextlib.suppress(OutOfTime):
            autotvm.tuner.RandomTuner(task).tune(trials, option, callbacks=[monitor, share.check])
        return len(monitor.scores)

    searches = {
        "AutoTVM": autotvm_trials,
        "auto-scheduler": lambda share: by_auto_scheduler(space, trials, share, True, folder / "speed.json"),
        "MetaSchedule": lambda share: by_meta_schedule(program, trials, share, True, folder)[0],
    }
    out = {}
    for i, (name, search) in enumerate(searches.items()):
        start = time.perf_counter()
        count = search(limit.share(len(searches) - i))
        out[name] = count / (time.perf_counter() - start)
        print(f"{name:34}{count:6} trials{out[name]:10.1f} a second   >= 15")
    return out


def beside_rules(args: argparse.Namespace, limit: Limit, folder: Path, is_meta: bool) -> dict[str, Any]:
    """What a search finds from plain definitions, beside the rules."""
    trials = 8 if args.quick else args.trials
    out = {}
    wanted = [each for each in TASKS if args.only in each[0]]
    for i, (name, define, model, values) in enumerate(wanted):
        share, start = limit.share(len(wanted) - i), time.perf_counter()
        arguments = define(*values)
        if is_meta:
            work = folder / f"meta_{i}"
            count, schedule = by_meta_schedule(te.create_prim_func(arguments), trials, share, False, work)
            with TARGET:
                library = tessera.build(schedule.mod, target=TARGET)
        else:
            log = folder / f"auto_{i}.json"
            task = auto_scheduler.SearchTask(func=define, args=values, target=TARGET)
            count = by_auto_scheduler(task, trials, share, False, log)
            library = tessera.build(*task.apply_best(str(log)), TARGET)
        took = time.perf_counter() - start
        rule, ratio = Contest(model(*values), arguments).speed(library)
        out[name] = {"trials": count, "rule_seconds": rule, "speed": ratio}
        print(
            f"{name:34}{count:6} trials{took:6.0f} s{rule * 1e3:9.2f} ms by the rule{ratio:8.2f} of its speed   >= 0.9"
        )
    return out


def learning(args: argparse.Namespace, limit: Limit, folder: Path) -> dict[str, Any]:
    """XGBoost beside random."""
    del folder
    if find_xgboost() is None:
        print("xgboost is not installed: nothing learns")
        return {}
    trials, seeds = (8, 1) if args.quick else (100, args.seeds)
    tasks = {name: task for name, task in learning_tasks().items() if args.only in name}
    out: dict[str, Any] = {}
    left = len(tasks) * seeds * 2
    for name, task in tasks.items():
        best: dict[str, list[float]] = {"xgboost": [], "random": []}
        for seed in range(seeds):
            for who, make in (("xgboost", autotvm.tuner.XGBTuner), ("random", autotvm.tuner.RandomTuner)):
                np.random.seed(seed)
                try:
                    best[who].append(by_autotvm(make(task), trials, limit.share(left), False))
                except OutOfTime:
                    print(f"{name:34}{who}, seed {seed}: out of time")
                left -= 1
        if best["xgboost"] and best["random"]:
            medians = {who: statistics.median(rates) for who, rates in best.items()}
            ratio = medians["xgboost"] / medians["random"]
            out[name] = {**best, "ratio": ratio}
            print(
                f"{name:34}{medians['xgboost']:8.1f} GFLOP/s by XGBoost{medians['random']:8.1f} at random, "
                f"{len(best['xgboost'])} and {len(best['random'])} seeds{ratio:8.2f}   > 1"
            )
    return out


def model_file(name: str, folder: Path) -> Path | None:
    """A model that was exported (bench/models.py), that relay.testing has, or a file."""
    exported = REPOSITORY / "build" / "models" / f"{name}.onnx"
    for path in (Path(name), exported):
        if path.is_file():
            return path
    if name != "resnet18":
        return None
    mod, params = testing.resnet.get_workload(num_layers=18)
    path = folder / "resnet18.tar"
    tvmc.TVMCModel(mod, params).save(path)
    return path


def models(args: argparse.Namespace, limit: Limit, folder: Path) -> dict[str, Any]:
    """Whole models before and after."""
    names = args.models.split(",")
    out: dict[str, Any] = {}
    for i, name in enumerate(names):
        path = model_file(name, folder)
        if path is None:
            print(f"{name:34}is not there: `make bench-models` exports it")
            continue
        length = ["--trials", "4"] if args.quick else []
        minutes = limit.share(len(names) - i)
        words = [PROGRAM, "tune", path, "--output", folder / f"{i}.jsonl", "--json", *length]
        words += ["--minutes", f"{max(0.05, (minutes.end - time.monotonic()) / 60 - 0.2):.3f}"]
        done = subprocess.run(list(map(str, words)), stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(f"{name:34}could not be tuned")
            continue
        told = json.loads(done.stdout)
        ratio = told["rule_seconds"] / told["seconds"] if told["confirmed"] else 1.0
        out[name] = {"trials": told["trials"], "confirmed": told["confirmed"], "speed": ratio}
        print(f"{name:34}{told['trials']:6} trials{told['confirmed']:4} kernels confirmed{ratio:8.3f}   >= 0.99")
    if out:
        mean = geomean([each["speed"] for each in out.values()])
        print(f"{'geomean':34}{mean:39.3f}   >= 1.02")
        out["geomean"] = mean
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast searches measure, and what they find.")
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all unless given")
    parser.add_argument("--trials", type=int, default=200, help="of a search beside the rules")
    parser.add_argument("--seeds", type=int, default=5, help="of learning")
    parser.add_argument("--minutes", type=float, default=5, help="of each part")
    parser.add_argument(
        "--only", default="", help="tasks whose name has this, of searches beside the rules and of learning"
    )
    parser.add_argument("--models", default=",".join(MODELS), help="files, or names of exported models")
    parser.add_argument("--quick", action="store_true", help="a few trials of each part")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "bench", help="folder for tuning.json")
    args = parser.parse_args()
    if unknown := [part for part in args.parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]}; there are {', '.join(PARTS)}")
    logging.getLogger("tessera").setLevel(logging.ERROR)
    run: dict[str, Callable[..., dict[str, Any]]] = {
        "speed": speed,
        "auto_scheduler": lambda *words: beside_rules(*words, is_meta=False),
        "meta_schedule": lambda *words: beside_rules(*words, is_meta=True),
        "learning": learning,
        "models": models,
    }
    results = {}
    for part in args.parts or PARTS:
        print(f"-- {part}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            results[part] = run[part](args, Limit(args.minutes), Path(folder))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "tuning.json").write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
