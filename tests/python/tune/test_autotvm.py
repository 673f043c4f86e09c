"""AutoTVM: tasks, measurement that survives its candidates, tuners, records, and the best of them applied."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
import tessera
from tessera import autotvm, rpc, te, tir
from tessera.autotvm.measure import MeasureErrorNo, MeasureInput, create_measure_batch
from tessera.contrib.boosted_trees import find_xgboost
from tessera.rpc.tracker import Tracker


@autotvm.template("test_autotvm/matmul")
def matmul(n):
    a = te.placeholder((n, n), name="A")
    b = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    config = autotvm.get_config()
    y, x = s[c].op.axis
    config.define_split("tile_y", y, num_outputs=2)
    config.define_split("tile_x", x, num_outputs=2)
    yo, yi = config["tile_y"].apply(s, c, y)
    xo, xi = config["tile_x"].apply(s, c, x)
    s[c].reorder(yo, xo, k, yi, xi)
    return s, [a, b, c]


@autotvm.template("test_autotvm/trouble")
def trouble(n):
    a = te.placeholder((n,), name="A")
    config = autotvm.get_config()
    config.define_knob("what", ["fine", "crash", "hang", "reject", "fail"])
    config.add_flop(n)
    what = config["what"].val
    if what == "reject":
        config.raise_error("this one cannot be")
    if what == "fail":
        raise RuntimeError("the template fails")
    if what == "hang":
        k = te.reduce_axis((0, 1 << 30), name="k")
        b = te.compute((n,), lambda i: te.sum(tir.call_extern("float32", "expf", a[i] + k.astype("float32")), axis=k))
    elif what == "crash":
        b = te.compute((n,), lambda i: a[i] + tir.call_extern("float32", "abort"))
    else:
        b = te.compute((n,), lambda i: a[i] + 1.0)
    return te.create_schedule(b.op), [a, b]


def local_option(**kwargs):
    runner = autotvm.LocalRunner(**{"number": 1, "repeat": 1, "min_repeat_ms": 0, **kwargs})
    return autotvm.measure_option(autotvm.LocalBuilder(), runner)


def record(index=3, cost=0.001, size=32):
    task = autotvm.task.create("test_autotvm/matmul", (size,), "llvm")
    inp = MeasureInput(task.target, task, task.config_space.get(index))
    return inp, autotvm.MeasureResult((cost,), 0, 0.1, 1.0)


def test_what_a_candidate_does_is_a_result():
    task = autotvm.task.create("test_autotvm/trouble", (16,), "llvm")
    inputs = [MeasureInput(task.target, task, task.config_space.get(i)) for i in (0, 1, 2, 3, 4, 0)]
    results = create_measure_batch(task, local_option(timeout=2))(inputs)
    assert [result.error_no for result in results] == [
        MeasureErrorNo.NO_ERROR,
        MeasureErrorNo.RUNTIME_DEVICE,
        MeasureErrorNo.RUN_TIMEOUT,
        MeasureErrorNo.INSTANTIATION_ERROR,
        MeasureErrorNo.COMPILE_HOST,
        MeasureErrorNo.NO_ERROR,
    ]
    assert "its process ended with signal 6" in str(results[1].costs[0])
    assert "it ran longer than 2" in str(results[2].costs[0])
    assert "this one cannot be" in str(results[3].costs[0])
    assert results[0].costs[0] > 0 and results[5].costs[0] > 0


@pytest.mark.parametrize(
    "make",
    [
        autotvm.tuner.GridSearchTuner,
        autotvm.tuner.RandomTuner,
        lambda task: autotvm.tuner.GATuner(task, pop_size=6),
        autotvm.tuner.XGBTuner,
    ],
)
def test_a_tuner_asks_for_each_configuration_once(tmp_path, make):
    task = autotvm.task.create("test_autotvm/matmul", (16,), "llvm")
    log = str(tmp_path / "log.json")
    tuner = make(task)
    tuner.tune(1000, local_option(), callbacks=[autotvm.callback.log_to_file(log)])
    indices = [inp.config.index for inp, _ in autotvm.record.load_from_file(log)]
    assert sorted(indices) == list(range(25))
    assert tuner.best_config is not None and tuner.best_flops > 0


def test_the_best_record_is_applied(tmp_path):
    log = str(tmp_path / "log.json")
    lines = [autotvm.record.encode(*record(index, cost)) for index, cost in ((0, 0.3), (8, 0.1), (5, 0.2))]
    autotvm.record.append_records(log, lines)
    with autotvm.apply_history_best(log) as history, tessera.target.Target("llvm") as target:
        assert history.query(target, ("test_autotvm/matmul", 32)).index == 8
        assert history.query(target, ("test_autotvm/matmul", 64)).is_fallback
        s, args = matmul(32)
        text = str(tessera.lower(s, args, simple_mode=True))
    size = autotvm.task.create("test_autotvm/matmul", (32,), "llvm").config_space.get(8)["tile_y"].size[1]
    assert f"(i.inner.init: int32, 0, {size})" in text or f"(i.inner: int32, 0, {size})" in text
    best = str(tmp_path / "best.json")
    autotvm.record.pick_best(log, best)
    assert [inp.config.index for inp, _ in autotvm.record.load_from_file(best)] == [8]


def test_lines_that_are_no_records_are_reported_by_number(tmp_path, caplog):
    good = autotvm.record.encode(*record())
    forged = json.loads(good)
    forged["config"]["entity"][0][1] = "py"
    newer = json.dumps({**json.loads(good), "result": "soon"})
    path = tmp_path / "log.json"
    path.write_text("\n".join([good, "{broken", json.dumps(forged), newer, '{"v": 0.1}', "", good]) + "\n")
    with caplog.at_level(logging.WARNING, logger="autotvm"):
        assert len(list(autotvm.record.load_from_file(path))) == 2
    assert [f":{number}: no record" in message for number, message in zip((2, 3, 4), caplog.messages)] == [True] * 3


def test_pickles_are_rejected():
    with pytest.raises(RuntimeError, match="pickles would run code"):
        autotvm.record.decode("gASV", protocol="pickle")


def test_a_line_half_written_stays_one_line(tmp_path):
    log = tmp_path / "log.json"
    good = autotvm.record.encode(*record())
    log.write_text(good + "\n" + good[:40])
    autotvm.record.append_records(log, [good])
    assert len(list(autotvm.record.load_from_file(log))) == 2
    assert log.read_text().count("\n") == 3


def test_candidates_run_on_a_server_of_a_tracker():
    tracker = Tracker(port=0)
    server = rpc.Server(port=0, key="board", tracker_addr=("127.0.0.1", tracker.port), silent=True)
    runner = autotvm.RPCRunner("board", "127.0.0.1", tracker.port, number=1, repeat=2, timeout=2)
    task = autotvm.task.create("test_autotvm/trouble", (16,), "llvm")
    inputs = [MeasureInput(task.target, task, task.config_space.get(i)) for i in (0, 1, 0)]
    results = create_measure_batch(task, autotvm.measure_option(autotvm.LocalBuilder(), runner))(inputs)
    assert [result.error_no == 0 for result in results] == [True, False, True]
    server.terminate()
    tracker.terminate()


def test_trials_that_bring_nothing_end_the_search():
    task = autotvm.task.create("test_autotvm/matmul", (16,), "llvm")
    monitor = autotvm.callback.Monitor()
    autotvm.tuner.GridSearchTuner(task).tune(25, local_option(), early_stopping=1, callbacks=[monitor])
    assert 0 < len(monitor.trial_scores()) <= 25


@pytest.mark.skipif(find_xgboost() is None, reason="needs xgboost")
def test_a_learned_model_finds_what_is_fast():
    task = autotvm.task.create("test_autotvm/matmul", (256,), "llvm")
    tuner = autotvm.tuner.XGBTuner(task, plan_size=16)
    fake = lambda config: 1.0 / (1 + config["tile_y"].size[1] + config["tile_x"].size[1])
    for _ in range(3):  # after a fourth most of the fast ones of 81 are measured, and a plan holds only others
        configs = tuner.next_batch(8)
        inputs = [MeasureInput(task.target, task, config) for config in configs]
        tuner.update(inputs, [autotvm.MeasureResult((fake(config),), 0, 0, 0) for config in configs])
    assert tuner.plan
    assert np.mean([fake(task.config_space.get(p)) for p in tuner.plan[:5]]) < np.mean(
        [fake(task.config_space.get(p)) for p in range(81)]
    )
