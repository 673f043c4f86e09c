"""Features of programs: what they count is v0.10's (tests/golden/programs/ansor_records.py); here how they are asked for."""

import numpy as np
import pytest
from tessera import auto_scheduler, te
from tessera.auto_scheduler import feature
from tessera.testing.auto_scheduler import get_tiled_matmul, matmul_auto_scheduler_test


def task_and_state():
    dag, state = get_tiled_matmul()
    key = auto_scheduler.make_workload_key(matmul_auto_scheduler_test, (512, 512, 512))
    return auto_scheduler.SearchTask(compute_dag=dag, workload_key=key, target="llvm", layout_rewrite_option=0), state


def test_a_row_has_a_number_for_each_name():
    task, state = task_and_state()
    rows = feature.get_per_store_features_from_states([state, state], task)
    names = feature.get_per_store_feature_names()
    assert len(rows) == 2 and rows[0].shape == (1, len(names)) == (1, 164)
    row = dict(zip(names, rows[0][0]))
    assert row["float_mul"] == pytest.approx(np.log2(512**3 + 1)) and row["num_loops"] == pytest.approx(np.log2(10))


def test_fewer_buffers_have_fewer_numbers():
    task, state = task_and_state()
    assert feature.get_per_store_features_from_states([state], task, max_n_bufs=2)[0].shape == (1, 164 - 3 * 18)


def test_what_cannot_be_lowered_has_no_features():
    task, state = task_and_state()
    c = state.stage_ops[2]
    state.split(c, state[c].iters[0], [None])
    rows = feature.get_per_store_features_from_states([state], task)[0]
    assert rows.shape == (1, 164) and not rows.any()


def test_features_of_a_function():
    a = te.placeholder((8, 4), name="A")
    b = te.compute((8, 4), lambda i, j: te.exp(a[i, j]) + 1.0, name="B")
    func = te.create_prim_func([a, b])
    named = feature.named_features_from_primfunc(func)
    assert named["float_mathfunc"].tolist() == [32.0] and named["float_addsub"].tolist() == [32.0]
    assert named["outer_prod"].tolist() == [32.0] and named["B0.acc_type.kRead"].size == 1


def test_throughputs_are_relative_to_the_best_of_a_task():
    task, state = task_and_state()
    inputs = [auto_scheduler.MeasureInput(task, state)] * 3
    results = [auto_scheduler.MeasureResult([t], e, "", 0.1, 0) for t, e in ((0.2, 0), (0.1, 0), (1.0, 4))]
    features, throughputs, numbers = feature.get_per_store_features_from_measure_pairs(inputs, results)
    assert throughputs.tolist() == pytest.approx([0.5, 1.0, 0.0], abs=1e-6)
    assert numbers.tolist() == [0, 0, 0] and features[0].any() and not features[2].any()


def test_a_model_of_boosted_trees_learns_an_order():
    pytest.importorskip("xgboost")
    task = auto_scheduler.SearchTask(func=matmul_auto_scheduler_test, args=(64, 64, 64), target="llvm")
    policy = auto_scheduler.SketchPolicy(
        task, auto_scheduler.RandomModel(), {"sample_init_min_population": 64}, seed=1, verbose=0
    )
    states = policy.sample_initial_population()[:64]
    rows = feature.get_per_store_features_from_states(states, task)
    bytes_between = feature.get_per_store_feature_names().index("B1.reuse_dis_bytes")
    seconds = [1e-3 * (1 + float(each[:, bytes_between].sum())) for each in rows]
    model = auto_scheduler.XGBModel(num_warmup_sample=0)
    inputs = [auto_scheduler.MeasureInput(task, state) for state in states]
    model.update(inputs, [auto_scheduler.MeasureResult([t], 0, "", 0.1, 0) for t in seconds])
    scores = model.predict(task, states)
    assert np.corrcoef(scores, [1 / t for t in seconds])[0, 1] > 0.7


def test_a_model_that_was_not_trained_cannot_be_saved(tmp_path):
    with pytest.raises(RuntimeError, match="nothing has been learned yet"):
        auto_scheduler.XGBModel().save(str(tmp_path / "model"))
