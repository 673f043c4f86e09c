"""Searches end with their best beside what the schedule rules make of the same work; what lost is not applied."""

import json
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import auto_scheduler, autotvm, relay, te
from tessera import meta_schedule as ms
from tessera.autotvm.measure import models
from tessera.autotvm.measure.build import Form
from tessera.autotvm.measure.confirm import Outcome, beside_rule, left_to_rules, note_outcome
from tessera.meta_schedule.testing import te_workload

CPU = tvm.target.Target("llvm -num-cores=2")
LOST, WON = Outcome(False, 1.0, 2.0), Outcome(True, 2.0, 1.0)
QUICK = ms.runner.EvaluatorConfig(number=1, repeat=1, min_repeat_ms=0)


@auto_scheduler.register_workload
def confirmed_matmul(n):
    return te_workload.matmul(n, n, n)


def random(*shape):
    return np.random.default_rng(0).random(shape, dtype="float32")


def check(library, n=64):
    a, b, c = random(n, n), random(n, n), tvm.nd.empty((n, n))
    library(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def plain_plan():
    """How measured, by a worker of this machine."""
    runner = autotvm.LocalRunner(number=1, repeat=3)
    runner._runner = runner._open()
    return autotvm.measure.confirm.MeasurePlan(runner._runner, 10, 1, 3, 0)


def test_what_is_slower_than_the_rules_loses():
    program = te.create_prim_func(te_workload.matmul(256, 256, 256))
    plain = tvm.IRModule({"main": program.with_attr("global_symbol", "main")})
    outcome = beside_rule(program, Form.PROGRAM, plain, CPU, plain_plan())
    assert not outcome.is_faster and 0 < outcome.rule_seconds < outcome.found_seconds


def test_what_is_wrong_loses_however_fast_it_is():
    a, b, c = te_workload.matmul(64, 64, 64)
    wrong = te.compute((64, 64), lambda i, j: a[i, j] + b[i, j], name="wrong")
    found = tvm.IRModule({"main": te.create_prim_func([a, b, wrong]).with_attr("global_symbol", "main")})
    outcome = beside_rule(te.create_prim_func([a, b, c]), Form.PROGRAM, found, CPU, plain_plan())
    assert outcome is not None and not outcome.is_faster


def test_a_program_that_overwrites_its_input_is_not_compared():
    from tessera.script import tir as T

    @T.prim_func
    def results_first(b: T.handle, a: T.handle):
        A = T.match_buffer(a, (8,))
        B = T.match_buffer(b, (8,))
        for i in T.serial(8):
            with T.block("B"):
                x = T.axis.spatial(8, i)
                B[x] = A[x] + 1.0

    assert beside_rule(results_first, Form.PROGRAM, None, CPU, None) is None


def test_the_last_outcome_of_a_workload_counts_and_broken_lines_are_skipped(tmp_path):
    log = str(tmp_path / "log.json")
    assert left_to_rules(log) == set()
    for workload, outcome in (("a", LOST), ("b", LOST), ("b", WON), ("c", WON)):
        note_outcome(log, workload, "llvm", outcome)
    with open(log + ".rules", "a") as file:
        file.write("half a li\n[1]\n")
    note_outcome(log, "d", "llvm", Outcome(False, float("inf"), float("inf")))
    assert left_to_rules(log) == {("a", "llvm"), ("d", "llvm")}


def test_the_auto_scheduler_applies_the_rules_program_where_its_best_lost(tmp_path):
    log = str(tmp_path / "log.json")
    task = auto_scheduler.SearchTask(func=confirmed_matmul, args=(64,), target=CPU)
    options = auto_scheduler.TuningOptions(
        num_measure_trials=2,
        verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
    task.tune(options, auto_scheduler.SketchPolicy(task, auto_scheduler.RandomModel(), verbose=0))
    (line,) = Path(log + ".rules").read_text().splitlines()
    assert json.loads(line)["workload"] == task.workload_key and json.loads(line)["rule_seconds"] > 0

    note_outcome(log, str(task.workload_key), task.target, WON)
    schedule, args = task.apply_best(log)
    assert schedule.program is None
    check(tvm.build(schedule, args, CPU))
    assert auto_scheduler.ApplyHistoryBest(log)._query_inside(CPU, str(task.workload_key), "") is not None

    note_outcome(log, str(task.workload_key), task.target, LOST)
    schedule, args = task.apply_best(log)
    assert schedule.program is not None
    check(tvm.build(schedule, args, CPU))
    with pytest.raises(ValueError, match="a program of 3 arguments, and 2 are given"):
        tvm.build(schedule, args[:2], CPU)
    assert auto_scheduler.ApplyHistoryBest(log)._query_inside(CPU, str(task.workload_key), "") is None


def test_meta_schedule_gives_the_rules_program_where_its_best_lost(tmp_path):
    """Without vectors and threads, a search finds nothing that could win."""
    mod = ms.default_config.mod(te.create_prim_func(te_workload.matmul(256, 256, 256)))
    config = ms.TuneConfig(max_trials_global=2, num_trials_per_iter=2, strategy="replay_trace")
    runner = ms.runner.LocalRunner(evaluator_config=QUICK)
    plain = tvm.tir.Schedule(mod)
    database = ms.database.JSONDatabase(work_dir=str(tmp_path))
    workload = database.commit_workload(mod)
    database.commit_tuning_record(
        ms.database.TuningRecord(plain.trace, workload, [1e-9], CPU, ms.arg_info.ArgInfo.from_prim_func(mod["main"]))
    )
    sch = ms.tune_tir(mod, CPU, config, str(tmp_path), runner=runner, database=database)
    assert len(sch.trace.insts) == 0 and not tvm.ir.structural_equal(sch.mod, mod)
    check(tvm.build(sch.mod, target=CPU), 256)
    again = ms.database.JSONDatabase(work_dir=str(tmp_path))
    assert database.is_left_to_rules(mod) and again.is_left_to_rules(mod)
    again.leave_to_rules(mod, False)
    assert not again.is_left_to_rules(mod)


def test_a_model_takes_the_rules_kernel_of_what_the_database_leaves_to_them():
    x = relay.var("x", shape=(16, 32))
    model = tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(random(24, 32)))))
    options = {"relay.backend.use_meta_schedule": True}
    (task,) = [each for each in ms.extract_task_from_relay(model, CPU) if "dense" in each.task_name]
    mod = ms.default_config.mod(task.dispatched[0])
    asked = []

    def build(database):
        asked.clear()
        with CPU, database, tvm.transform.PassContext(opt_level=3, config=options):
            relay.build(model, CPU)
        return len(asked)

    def keep(sch):
        asked.append(sch)
        return True

    database = ms.database.ScheduleFnDatabase(keep)
    assert build(database) > 0
    assert build(ms.database.UnionDatabase(database)) > 0
    database.leave_to_rules(mod)
    assert build(database) == build(ms.database.UnionDatabase(database)) == 0


def test_models_take_no_record_of_a_template_that_lost(tmp_path):
    log = str(tmp_path / "log.json")
    args = (("TENSOR", (32, 64), "float32"), ("TENSOR", (48, 64), "float32"), None, "float32")
    task = autotvm.task.create("dense_nopack.x86", args, CPU)
    tuner = autotvm.tuner.RandomTuner(task)
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(number=1, repeat=1))
    tuner.tune(2, option, callbacks=[autotvm.callback.log_to_file(log)])
    (line,) = Path(log + ".rules").read_text().splitlines()
    assert json.loads(line)["workload"] == str(task.workload)
    note_outcome(log, str(task.workload), CPU, WON)
    assert autotvm.apply_history_best(log)._query_inside(CPU, task.workload) is not None
    note_outcome(log, str(task.workload), CPU, LOST)
    assert autotvm.apply_history_best(log)._query_inside(CPU, task.workload) is None


# ---- whole models ----------------------------------------------------------------------------------------------------


@pytest.fixture
def speeds(monkeypatch):
    """What comparisons of models say, one after the other; the sizes of what was compared."""
    answers, asked = [], []

    def is_model_faster(before, after):
        asked.append(after)
        return answers.pop(0)

    monkeypatch.setattr(models, "is_model_faster", is_model_faster)
    return answers, asked


def test_kernels_that_gain_least_are_left_until_the_model_is_faster(speeds):
    answers, asked = speeds
    answers += [False, False, True]
    left = []
    gains = {"a": 1.0, "b": 5.0, "c": 3.0, "d": 2.0, "e": 4.0}
    models.confirm_model(lambda: None, lambda: sorted(set(gains) - set(left)), gains, left.append)
    assert asked == [["a", "b", "c", "d", "e"], ["b", "e"], ["b"]] and left == ["c", "d", "a", "e"]
    models.confirm_model(lambda: pytest.fail("nothing to compare"), None, {}, left.append)


def test_what_does_not_compile_in_the_model_is_left_to_the_rules_and_a_model_that_does_not_is_not_compared():
    left = []
    models.confirm_model(lambda: None, lambda: 1 // 0, {"a": 1.0, "b": 2.0}, left.append)
    assert left == ["a", "b"]
    models.confirm_model(lambda: 1 // 0, None, {"c": 1.0}, left.append)
    assert left == ["a", "b"]


def test_a_faster_model_wins_twice_and_by_more_than_a_percent(monkeypatch):
    for rounds, is_faster in [([(1, 0.98), (1, 0.995)], True), ([(1, 0.98), (1, 1.01)], False), ([(1, 0.995)], False)]:
        times = iter(rounds)
        monkeypatch.setattr(models, "seconds_in_turns", lambda before, after, times=times: next(times))
        assert models.is_model_faster(None, None) == is_faster


def dense_model():
    x = relay.var("x", shape=(16, 32))
    return tvm.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(random(24, 32)))))


def test_models_are_measured_in_turns():
    with tvm.transform.PassContext(opt_level=3):
        library = relay.build(dense_model(), CPU)
    before, after = models.seconds_in_turns(library, library)
    assert 0 < before < 1 and 0 < after < 1


def test_meta_schedule_leaves_to_the_rules_what_makes_no_model_faster(tmp_path, speeds, monkeypatch):
    answers, asked = speeds
    answers.append(False)
    monkeypatch.setattr(ms.confirm, "beside_rule", lambda *_: WON)
    config = ms.TuneConfig(max_trials_global=2, num_trials_per_iter=2, strategy="replay_trace")
    runner = ms.runner.LocalRunner(evaluator_config=QUICK)
    (task,) = [each for each in ms.extract_task_from_relay(dense_model(), CPU) if "dense" in each.task_name]
    database = ms.tune_extracted_tasks([task], config, str(tmp_path), runner=runner)
    assert len(asked) == 1 and database.is_left_to_rules(ms.default_config.mod(task.dispatched[0]))
    assert ms.database.JSONDatabase(work_dir=str(tmp_path)).is_left_to_rules(ms.default_config.mod(task.dispatched[0]))


def test_the_auto_scheduler_leaves_to_the_rules_what_makes_no_model_faster(tmp_path, speeds, monkeypatch):
    answers, asked = speeds
    monkeypatch.setattr(auto_scheduler.confirm, "beside_rule", lambda *_: WON)
    tasks, weights = auto_scheduler.extract_tasks(dense_model(), {}, CPU)
    left = {(str(each.workload_key), str(each.target)) for each in tasks}
    for is_faster in (True, False):
        answers.append(is_faster)
        log = str(tmp_path / f"{is_faster}.json")
        tuner = auto_scheduler.TaskScheduler(tasks, weights, callbacks=[])
        options = auto_scheduler.TuningOptions(
            num_measure_trials=2 * len(tasks),
            verbose=0,
            runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        )
        tuner.tune(options, search_policy="sketch.random")
        assert left_to_rules(log) == (set() if is_faster else left)
    assert len(asked) == 2


def test_a_record_of_autotvm_is_compared_as_it_changes_the_model(tmp_path, monkeypatch):
    asked = []

    def plans_beside_rule(primitive, plans, target, plan):
        asked.append((primitive, plans))
        return beside(primitive, plans, target, plan)

    beside = autotvm.tuner.confirm.plans_beside_rule
    monkeypatch.setattr(autotvm.tuner.confirm, "plans_beside_rule", plans_beside_rule)
    x = relay.var("x", shape=(1, 16, 14, 14))
    model = tvm.IRModule.from_expr(
        relay.Function([x], relay.nn.conv2d(x, relay.const(random(32, 16, 3, 3)), padding=1))
    )
    (task,) = autotvm.task.extract_from_program(model, {}, CPU)
    log = str(tmp_path / "log.json")
    option = autotvm.measure_option(autotvm.LocalBuilder(), autotvm.LocalRunner(number=1, repeat=1))
    autotvm.tuner.RandomTuner(task).tune(4, option, callbacks=[autotvm.callback.log_to_file(log)])
    (line,) = Path(log + ".rules").read_text().splitlines()
    outcome = json.loads(line)
    assert outcome["workload"] == str(task.workload) and outcome["rule_seconds"] > 0 < outcome["found_seconds"]
    assert len(asked) <= 1
