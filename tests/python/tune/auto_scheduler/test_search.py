"""Search: sketches by rules, states sampled from them, measuring, and going on from records."""

import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest
import tessera
from tessera import auto_scheduler, te
from tessera.auto_scheduler import PreloadCustomSketchRule, PreloadMeasuredStates, SketchPolicy
from tessera.auto_scheduler.cost_model import PythonBasedModel, RandomModel
from tessera.testing.auto_scheduler import (
    conv2d_nchw_bn_relu_auto_scheduler_test,
    conv2d_winograd_nhwc_auto_scheduler_test,
    double_matmul_auto_scheduler_test,
    matmul_auto_scheduler_test,
    max_pool2d_auto_scheduler_test,
    min_nm_auto_scheduler_test,
    softmax_nm_auto_scheduler_test,
    zero_rank_compute_auto_scheduler_test,
    zero_rank_reduce_auto_scheduler_test,
)

CPU = auto_scheduler.HardwareParams(4, 64, 64, 0, 0, 0, 0, 0)
GPU = auto_scheduler.HardwareParams(-1, 16, 64, 49152, 2147483647, 1024, 8, 32)
FAST = {"evolutionary_search_population": 16, "sample_init_min_population": 8}


def task_of(func, args, target="llvm"):
    hardware = CPU if target == "llvm" else GPU
    return auto_scheduler.SearchTask(func=func, args=args, target=target, hardware_params=hardware)


def sketches(func, args, target="llvm"):
    return SketchPolicy(task_of(func, args, target), RandomModel(), seed=1, verbose=0).generate_sketches()


@pytest.mark.parametrize(
    "func, args, count",
    [
        (matmul_auto_scheduler_test, (512, 512, 512), 3),
        (matmul_auto_scheduler_test, (8, 8, 512), 5),  # so few elements that partial sums give more parallelism
        (conv2d_nchw_bn_relu_auto_scheduler_test, (1, 56, 56, 64, 64, 3, 1, 1), 3),
        (max_pool2d_auto_scheduler_test, (1, 56, 56, 32, 1), 1),
        (min_nm_auto_scheduler_test, (10, 1024), 3),
        (softmax_nm_auto_scheduler_test, (1, 1024), 9),
        (zero_rank_compute_auto_scheduler_test, (16,), 1),
        (zero_rank_reduce_auto_scheduler_test, (16,), 3),
    ],
)
def test_sketches_of_cpus(func, args, count):
    assert len(sketches(func, args)) == count


@pytest.mark.parametrize(
    "func, args, count, text",
    [
        (matmul_auto_scheduler_test, (512, 512, 512), 1, "A.shared = ..."),
        (min_nm_auto_scheduler_test, (10, 1024), 2, "threadIdx.x"),
        (conv2d_winograd_nhwc_auto_scheduler_test, (1, 28, 28, 64, 64), 1, "unroll"),
    ],
)
def test_sketches_of_gpus(func, args, count, text):
    found = sketches(func, args, "cuda")
    assert len(found) == count and text in str(found[0])


def test_two_matmuls_have_the_sketches_of_each():
    assert len(sketches(double_matmul_auto_scheduler_test, (512,))) == 9


@pytest.mark.parametrize("kind", ["llvm", "cuda"])
@pytest.mark.parametrize(
    "func, args",
    [
        (matmul_auto_scheduler_test, (64, 64, 64)),
        (conv2d_nchw_bn_relu_auto_scheduler_test, (1, 14, 14, 8, 8, 3, 1, 1)),
        (softmax_nm_auto_scheduler_test, (16, 64)),
    ],
)
def test_sampled_states_are_complete_programs(func, args, kind):
    task = task_of(func, args, kind)
    policy = SketchPolicy(task, RandomModel(), params=FAST, seed=1, verbose=0)
    population = policy.sample_initial_population()
    assert len(population) >= 4
    for state in population[:4]:
        assert "None" not in str(state)
        sch, tensors = task.compute_dag.apply_steps_from_state(state)
        tessera.lower(sch, tensors)
        if kind == "cuda":
            assert "threadIdx.x" in str(state)


def test_the_same_seed_samples_the_same_states():
    task = task_of(matmul_auto_scheduler_test, (64, 64, 64))
    texts = [
        [str(s) for s in SketchPolicy(task, RandomModel(), FAST, seed=7, verbose=0).generate_sketches()],
        [str(s) for s in SketchPolicy(task, RandomModel(), FAST, seed=7, verbose=0).generate_sketches()],
    ]
    assert texts[0] == texts[1]


class LikesVectors(PythonBasedModel):
    """A model with an opinion."""

    def update(self, inputs, results):
        pass

    def predict(self, task, states):
        return [1.0 if "vectorize j.3 (0,16)" in str(state) else 0.01 for state in states]


def test_evolution_finds_what_the_model_likes():
    task = task_of(matmul_auto_scheduler_test, (64, 64, 64))
    params = {**FAST, "evolutionary_search_population": 64}
    policy = SketchPolicy(task, LikesVectors(), params, seed=3, verbose=0)
    population = policy.sample_initial_population()
    found = policy.evolutionary_search(population, 8)
    scores = LikesVectors().predict(task, found)
    assert len(found) == 8 and scores == sorted(scores, reverse=True)
    assert len({str(state) for state in found}) == 8
    assert sum(scores) > sum(LikesVectors().predict(task, population[:8]))


def test_a_rule_of_the_users_own_comes_first():
    met = []

    def condition(policy, state, stage_id):
        met.append(stage_id)
        name = state.stages[stage_id].op.name
        return PreloadCustomSketchRule.APPLY_AND_SKIP_REST if name == "C" else PreloadCustomSketchRule.PASS

    def apply(policy, state, stage_id):
        own = auto_scheduler.loop_state.State(state, policy.search_task.compute_dag)
        c = own.stage_ops[stage_id]
        own.split(c, own[c].iters[0], [None])
        return [[own.state_object, stage_id - 1]]

    task = task_of(matmul_auto_scheduler_test, (64, 64, 64))
    rule = PreloadCustomSketchRule(condition, apply, "rows")
    found = SketchPolicy(task, RandomModel(), verbose=0, init_search_callbacks=[rule]).generate_sketches()
    assert len(found) == 1 and "i.1 (None)" in str(found[0]) and met == [2, 1, 0]


def test_a_search_measures_records_and_goes_on(tmp_path):
    log = str(tmp_path / "log.json")
    task = task_of(matmul_auto_scheduler_test, (32, 32, 32))

    def options(trials):
        return auto_scheduler.TuningOptions(
            num_measure_trials=trials,
            num_measures_per_round=4,
            verbose=0,
            runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
            measure_callbacks=[auto_scheduler.RecordToFile(log)],
        )

    task.tune(options(4), SketchPolicy(task, RandomModel(), FAST, verbose=0))
    first = [json.loads(line) for line in Path(log).read_text().splitlines()]
    assert len(first) == 4 and all(line["r"][1] == 0 for line in first)
    callbacks = [PreloadMeasuredStates(log)]
    task.tune(options(4), SketchPolicy(task, RandomModel(), FAST, verbose=0, init_search_callbacks=callbacks))
    steps = [json.dumps(json.loads(line)["i"][1]) for line in Path(log).read_text().splitlines()]
    assert len(steps) == 8 and len(set(steps)) == 8
    sch, args = task.apply_best(log)
    a, b = (np.random.rand(32, 32).astype("float32") for _ in range(2))
    out = tessera.nd.array(np.zeros((32, 32), "float32"))
    tessera.build(sch, args, "llvm")(tessera.nd.array(a), tessera.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)
    assert "s[C].split" in task.print_best(log) or "s[C_local].split" in task.print_best(log)


def results_of(task, sch, tensors, values):
    arrays = [tessera.nd.array(value) for value in values]
    tessera.build(sch, tensors, "llvm")(*arrays)
    return arrays[-1].numpy()


@pytest.mark.parametrize(
    "func, args, copies",
    [
        ("matmul_auto_scheduler_test_rename_1", (64, 96, 48), True),
        (matmul_auto_scheduler_test, (64, 96, 48), False),  # B may be laid out anew, which packs it
        ("matmul_auto_scheduler_test_rename_1", (7, 5, 3), True),  # nothing divides into vectors
        (double_matmul_auto_scheduler_test, (32,), True),
        (conv2d_nchw_bn_relu_auto_scheduler_test, (1, 14, 14, 4, 8, 3, 1, 1), False),
    ],
)
def test_planned_states_are_right(func, args, copies):
    task = task_of(func, args)
    planned = SketchPolicy(task, RandomModel(), seed=1, verbose=0)._planned_states()
    assert any("B.global" in str(state) for state in planned) == copies
    if args[0] == 64:
        assert all("vectorize" in str(state) and "parallel" in str(state) for state in planned)
    dag = task.compute_dag
    rng = np.random.default_rng(1)
    values = [rng.standard_normal([int(n) for n in tensor.shape]).astype("float32") for tensor in dag.tensors]
    wanted = results_of(task, *dag.apply_steps_from_state(dag.get_init_state()), values)
    if len(values) == 3:
        np.testing.assert_allclose(wanted, values[0] @ values[1], rtol=1e-3, atol=1e-4)
    assert planned
    for state in planned:
        steps = dag.apply_steps_from_state(state, task.layout_rewrite_option)
        np.testing.assert_allclose(results_of(task, *steps, values), wanted, rtol=1e-3, atol=1e-4, err_msg=str(state))


def test_other_programs_have_no_planned_states():
    assert not SketchPolicy(task_of(softmax_nm_auto_scheduler_test, (16, 64)), verbose=0)._planned_states()
    assert not SketchPolicy(task_of(matmul_auto_scheduler_test, (64, 64, 64), "cuda"), verbose=0)._planned_states()


def test_a_search_begins_with_planned_states(tmp_path):
    log = str(tmp_path / "log.json")
    task = task_of(matmul_auto_scheduler_test, (32, 32, 32))
    policy = SketchPolicy(task, RandomModel(), FAST, verbose=0)
    planned = [str(state) for state in policy._planned_states()]
    options = auto_scheduler.TuningOptions(
        num_measure_trials=4,
        verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
    task.tune(options, policy)
    inputs, results = auto_scheduler.RecordReader(log).read_lines()
    measured = [str(task.compute_dag.infer_bound_from_state(each.state).state_object) for each in inputs]
    assert measured == planned[: len(measured)] and all(each.error_no == 0 for each in results)


class Interrupted(auto_scheduler.measure.PythonBasedMeasureCallback):
    """Control-C after the first batch."""

    def callback(self, policy, inputs, results):
        raise KeyboardInterrupt


def test_an_interrupted_search_leaves_whole_records(tmp_path):
    log = str(tmp_path / "log.json")
    task = task_of(matmul_auto_scheduler_test, (32, 32, 32))
    options = auto_scheduler.TuningOptions(
        num_measure_trials=64,
        verbose=0,
        builder=auto_scheduler.LocalBuilder(n_parallel=2),
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile(log), Interrupted()],
    )
    with pytest.raises(KeyboardInterrupt):
        task.tune(options, SketchPolicy(task, RandomModel(), FAST, verbose=0))
    assert [json.loads(line)["v"] for line in Path(log).read_text().splitlines()] == ["v0.6"] * 4


def test_a_state_that_cannot_be_built_is_a_result():
    task = task_of(matmul_auto_scheduler_test, (16, 16, 16))
    state = task.compute_dag.get_init_state()
    c = task.compute_dag.ops[2]
    state.bind(c, state[c].iters[0], "threadIdx.x")
    builder = auto_scheduler.LocalBuilder()
    inputs = [auto_scheduler.MeasureInput(task, state)]
    built = builder.build(inputs, verbose=0)
    results = auto_scheduler.LocalRunner(number=1).run(inputs, built, verbose=0)
    assert results[0].error_no in (1, 2) and str(results[0].error_msg)
    measure = auto_scheduler.measure
    fine = [auto_scheduler.MeasureInput(task, task.compute_dag.get_init_state())]
    built = measure.local_builder_build(fine, 15, 1, verbose=0)
    assert measure.local_run(fine, built, number=1, verbose=0)[0].error_no == measure.MeasureErrorNo.NO_ERROR


def test_inputs_with_values_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @auto_scheduler.register_workload("test_gather_rows")
    def gather(n):
        data, index = te.placeholder((n,), name="data"), te.placeholder((n,), name="index", dtype="int32")
        return [data, index, te.compute((n,), lambda i: data[index[i]] + 1.0, name="out")]

    values = tessera.nd.array(np.arange(16, dtype="int32"))
    task = auto_scheduler.SearchTask(func="test_gather_rows", args=(16,), target="llvm", task_inputs={"index": values})
    inputs = [auto_scheduler.MeasureInput(task, task.compute_dag.get_init_state())]
    built = auto_scheduler.LocalBuilder().build(inputs, verbose=0)
    assert auto_scheduler.measure.prepare_runner_args(inputs[0], built[0])[1] is values
    assert auto_scheduler.LocalRunner(number=1).run(inputs, built, verbose=0)[0].error_no == 0
    again = auto_scheduler.SearchTask(func="test_gather_rows", args=(16,), target="llvm", task_inputs=["unknown"])
    with pytest.raises(ValueError, match="unknown not found in TASK_INPUT_BUFFER_TABLE"):
        auto_scheduler.search_task.get_task_input_buffer(again.workload_key, "unknown")


def test_without_xgboost_the_search_says_so_once(caplog, monkeypatch):
    from tessera.auto_scheduler.cost_model import xgb_model

    monkeypatch.setattr(xgb_model, "_said", set())
    monkeypatch.setattr(xgb_model, "find_xgboost", lambda: None)
    with caplog.at_level(logging.WARNING, "auto_scheduler"):
        models = [auto_scheduler.XGBModel(), auto_scheduler.XGBModel()]
    assert [m for m in caplog.messages if "xgboost is not installed" in m] == caplog.messages and len(
        caplog.messages
    ) == 1
    assert all(model.is_random for model in models)


def test_a_task_scheduler_gives_each_task_its_turn(tmp_path):
    tasks = [task_of(matmul_auto_scheduler_test, (n, 16, 16)) for n in (16, 32)]
    log = str(tmp_path / "log.json")
    tuner = auto_scheduler.TaskScheduler(tasks, [1, 3], strategy="round-robin", callbacks=[])
    options = auto_scheduler.TuningOptions(
        num_measure_trials=8,
        num_measures_per_round=2,
        verbose=0,
        runner=auto_scheduler.LocalRunner(number=1, min_repeat_ms=0),
        measure_callbacks=[auto_scheduler.RecordToFile(log)],
    )
    tuner.tune(options, search_policy="sketch.random", search_policy_params=FAST)
    keys = [json.loads(line)["i"][0][0] for line in Path(log).read_text().splitlines()]
    assert sorted(keys) == sorted([str(tasks[0].workload_key)] * 4 + [str(tasks[1].workload_key)] * 4)
    assert tuner.cur_score == pytest.approx(tuner.best_costs[0] + 3 * tuner.best_costs[1])
    again = auto_scheduler.TaskScheduler(tasks, load_log_file=log, callbacks=[])
    again._restore_status(log, 2)
    assert again.task_cts == [3, 3] and np.allclose(again.best_costs, tuner.best_costs, rtol=1e-4)
    assert not os.path.exists("total_latency.tsv")
