"""Searches whose processes are killed in the middle: what was measured stays, no line is half written, and a later run goes on.

A search is stopped (SIGSTOP) once it has written a few lines, so that what is killed is killed in the middle of it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tessera import auto_scheduler, autotvm, te
from tessera import meta_schedule as ms
from tessera.rpc.tracker import Tracker
from test_tune_models import FAST, PROGRAM, lines_of, run, small_model

ENDLESS = ["--trials", "100000", *FAST]


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.relay"
    path.write_text(small_model().astext(show_meta_data=True))
    return path


def count_of(path):
    return path.read_text().count("\n") if path.exists() else 0


def wait_for(condition, process, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the search ended too early"
        assert time.monotonic() < until, "nothing happens"
        time.sleep(0.01)


def children_of(pid):
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            out.append(int(stat.parent.name))
    return out


def kill_tree(pid):
    for child in children_of(pid):
        kill_tree(child)
    os.kill(pid, signal.SIGKILL)


@contextmanager
def stopped(words, log, count, **options):
    """A process that has written so many lines, and stands still."""
    process = subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options
    )
    try:
        wait_for(lambda: count_of(log) >= count, process)
        process.send_signal(signal.SIGSTOP)
        wait_for(lambda: Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T", process)
        yield process
    finally:
        process.kill()
        process.communicate()


def go_on(process, log, more):
    """So many lines more, then Ctrl-C: the search ends well."""
    count = count_of(log)
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: count_of(log) >= count + more, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 0


# ---- tessera tune ----------------------------------------------------------------------------------------------------


def test_a_killed_tuner_loses_nothing_that_was_measured(tmp_path, model):
    log = tmp_path / "log.jsonl"
    with stopped([PROGRAM, "tune", model, "-o", log, *ENDLESS], log, 5) as process:
        process.kill()
    before = lines_of(log)
    assert len(before) >= 5
    told = json.loads(run("tune", model, "-o", log, "--trials", 3, *FAST, "--json", "--resume").stdout)
    after = lines_of(log)
    trials = [each for each in after if each["state"] == "trial"]
    assert told["resumed"] == len(before) and after[: len(before)] == before and told["trials"] == 3
    measured = [json.dumps([each["workload"], each["plans"]]) for each in trials]
    assert len(measured) == len(set(measured)) > len(before)  # nothing is measured twice


def test_killed_workers_are_started_again_and_lose_no_line(tmp_path, model):
    log = tmp_path / "log.jsonl"
    with stopped([PROGRAM, "tune", model, "-o", log, *ENDLESS], log, 5) as process:
        before = lines_of(log)
        workers = children_of(process.pid)
        assert workers
        for pid in workers:
            kill_tree(pid)
        go_on(process, log, 2 * len(workers) + 4)
    after = [each for each in lines_of(log) if each["state"] == "trial"]
    assert after[: len(before)] == before
    failed = [each for each in after[len(before) :] if each["error"]]
    assert len(failed) <= len(workers) and all("signal 9 (Killed)" in each["message"] for each in failed)
    assert not after[-1]["error"]


def test_a_killed_server_costs_no_measurement(tmp_path, model):
    log = tmp_path / "log.jsonl"
    tracker = Tracker(host="127.0.0.1", port=9390, port_end=9990, silent=True)
    address = f"127.0.0.1:{tracker.port}"
    program = PROGRAM.parent / "tessera-rpc-server"
    words = [program, "--port", "9190", "--port-end", "9989", "--tracker", address, "--key", "k", "--silent"]
    servers = [subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True) for _ in range(2)]
    try:
        words = [
            PROGRAM,
            "tune",
            model,
            "-o",
            log,
            *ENDLESS,
            "--runner",
            "rpc",
            "--rpc-tracker",
            address,
            "--rpc-key",
            "k",
        ]
        with stopped(words, log, 5) as process:
            before = lines_of(log)
            used = next(each for each in servers if children_of(each.pid))  # a session is a process
            kill_tree(used.pid)
            used.wait(20)
            go_on(process, log, 4)
        after = lines_of(log)
        assert after[: len(before)] == before and not any(each["error"] for each in after)
    finally:
        for each in servers:
            each.kill()
            each.wait(20)
        tracker.terminate()


# ---- the three tuners in Python --------------------------------------------------------------------------------------


@autotvm.template("tests/killed_searches")
def template(n):
    x, y = matmul(n)
    schedule = te.create_schedule(y.op)
    cfg = autotvm.get_config()
    for name, axis in zip("ij", y.op.axis):
        cfg.define_split(name, axis, num_outputs=3)
        cfg[name].apply(schedule, y, axis)
    return schedule, [x, y]


@auto_scheduler.register_workload("tests/killed_searches")
def matmul(n):
    x = te.placeholder((n, n), name="x")
    k = te.reduce_axis((0, n), name="k")
    return [x, te.compute((n, n), lambda i, j: te.sum(x[i, k] * x[k, j], axis=k), name="y")]


def search_by_autotvm(folder, trials):
    task = autotvm.task.create("tests/killed_searches", args=(64,), target="llvm")
    runner = autotvm.LocalRunner(number=1, repeat=1, min_repeat_ms=0, cooldown_interval=0)
    option = autotvm.measure_option(autotvm.LocalBuilder(n_parallel=2), runner)
    callbacks = [autotvm.callback.log_to_file(str(folder / "log"))]
    autotvm.tuner.GridSearchTuner(task).tune(trials, option, callbacks=callbacks)


def search_by_auto_scheduler(folder, trials):
    task = auto_scheduler.SearchTask(func="tests/killed_searches", args=(64,), target="llvm")
    options = auto_scheduler.TuningOptions(
        num_measure_trials=trials,
        num_measures_per_round=8,
        verbose=0,
        builder=auto_scheduler.LocalBuilder(n_parallel=1),
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile(str(folder / "log"))],
    )
    earlier = [auto_scheduler.PreloadMeasuredStates(str(folder / "log"))] if (folder / "log").exists() else []
    task.tune(options, auto_scheduler.SketchPolicy(task, verbose=0, init_search_callbacks=earlier))


def search_by_meta_schedule(folder, trials):
    ms.tune_te(
        matmul(64),
        "llvm -num-cores=2",
        ms.TuneConfig(trials, 4, strategy="replay_trace"),
        str(folder),
        runner=ms.runner.LocalRunner(evaluator_config=ms.runner.EvaluatorConfig(1, 1, 0)),
        cost_model=ms.cost_model.RandomModel(),
    )


SEARCHES = {
    "autotvm": (search_by_autotvm, "log"),
    "auto_scheduler": (search_by_auto_scheduler, "log"),
    "meta_schedule": (search_by_meta_schedule, "database_tuning_record.json"),
}


def records_of(name, folder):
    """How many records are read from what a search wrote."""
    if name == "autotvm":
        return len(list(autotvm.record.load_from_file(str(folder / "log"))))
    if name == "auto_scheduler":
        return len(auto_scheduler.RecordReader(str(folder / "log")).read_lines()[0])
    return len(ms.database.JSONDatabase(work_dir=str(folder)))


@pytest.mark.parametrize("name", SEARCHES)
def test_a_killed_search_leaves_records_that_the_next_one_adds_to(tmp_path, name):
    search, file = SEARCHES[name]
    log = tmp_path / file
    with stopped([sys.executable, __file__, name, tmp_path, 100000], log, 4) as process:
        process.kill()
    before = log.read_text().splitlines()
    assert len(before) >= 4 and records_of(name, tmp_path) == len(before)
    for line in before:
        json.loads(line)
    with log.open("a") as half:
        half.write(before[0][:40])  # the system went down
    search(tmp_path, 4)
    after = log.read_text().splitlines()
    assert after[: len(before)] == before and after[len(before)] == before[0][:40] and len(after) == len(before) + 5
    assert records_of(name, tmp_path) == len(before) + 4


if __name__ == "__main__":
    SEARCHES[sys.argv[1]][0](Path(sys.argv[2]), int(sys.argv[3]))
