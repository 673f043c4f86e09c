"""The cost models of the tuners learn, with the package xgboost and with its C library alone."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import tessera as tvm
from tessera import auto_scheduler, autotvm, te
from tessera import meta_schedule as ms
from tessera.autotvm.measure import MeasureInput, MeasureResult
from tessera.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from tessera.contrib import boosted_trees
from tessera.contrib.boosted_trees import LibraryTrees, find_xgboost, threads_for

LLVM = tvm.target.Target("llvm")


def library_path():
    found = importlib.util.find_spec("xgboost")
    inside = Path(found.origin).parent / "lib" / "libxgboost.so" if found else None
    return str(inside) if inside and inside.exists() else None


@pytest.fixture(params=["package", "library"])
def trees(request, monkeypatch):
    """XGBoost in one of its two forms; models find this one."""
    if request.param == "package":
        out = pytest.importorskip("xgboost")
    else:
        if library_path() is None:
            pytest.skip("needs libxgboost.so, which the package xgboost has")
        out = LibraryTrees(library_path())
    for user in ("autotvm.tuner.xgboost_cost_model", "auto_scheduler.cost_model.xgb_model", "meta_schedule.cost_model.xgb_model"):  # fmt: skip
        monkeypatch.setattr(f"tessera.{user}.find_xgboost", lambda: out)
    return out


def order(values):
    return np.argsort(np.argsort(values))


def correlation(a, b):
    """Of their orders."""
    return float(np.corrcoef(order(a), order(b))[0, 1])


# ---- the C library ---------------------------------------------------------------------------------------------------


def test_the_library_gives_what_the_package_gives(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    library = LibraryTrees(library_path())
    generator = np.random.default_rng(0)
    rows = generator.random((200, 6)).astype("float32")
    labels = rows[:, 0] * 3 + rows[:, 1] ** 2
    params = {"max_depth": 4, "eta": 0.3, "objective": "reg:squarederror", "nthread": 1, "base_score": 0.0}

    def square_error(predicted, data):
        return predicted - data.get_label(), np.ones(len(predicted), dtype="float32")

    for objective in (None, square_error):
        predictions = []
        for each in (xgboost, library):
            data = each.DMatrix(rows, labels)
            data.set_weight(np.linspace(0.5, 1, 200))
            data.set_base_margin(np.full(200, 0.25))
            model = each.train(params, data, num_boost_round=12, obj=objective)
            predictions.append(model.predict(data, output_margin=True))
        np.testing.assert_allclose(*predictions, rtol=1e-5)
    model.save_model(str(tmp_path / "model.json"))
    again = library.Booster(params)
    again.load_model(str(tmp_path / "model.json"))
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    with pytest.raises(RuntimeError, match="XGBoosterLoadModel"):
        again.load_model(str(tmp_path / "none.json"))
    assert library.DMatrix(rows).get_weight().size == 0


def test_what_is_not_installed_is_not_found(monkeypatch):
    boosted_trees._library_trees.cache_clear()
    monkeypatch.setattr(boosted_trees.importlib, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    monkeypatch.setattr(boosted_trees.ctypes.util, "find_library", lambda name: None)
    with monkeypatch.context() as without:
        without.setattr(boosted_trees.ctypes, "CDLL", lambda name: (_ for _ in ()).throw(OSError(name)))
        assert find_xgboost() is None
    boosted_trees._library_trees.cache_clear()
    monkeypatch.setattr(boosted_trees.ctypes.util, "find_library", lambda name: library_path())
    assert (find_xgboost() is None) == (library_path() is None)
    boosted_trees._library_trees.cache_clear()


def test_few_rows_are_learned_from_by_one_thread():
    assert threads_for(0) == threads_for(500) == 1 and threads_for(10**9) >= 1


# ---- AutoTVM ---------------------------------------------------------------------------------------------------------


@autotvm.template("tests/boosted_trees/matmul")
def matmul(n):
    a, b = (te.placeholder((n, n), name=name) for name in "ab")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    schedule = te.create_schedule(c.op)
    cfg = autotvm.get_config()
    y, x = schedule[c].op.axis
    cfg.define_split("tile_y", y, num_outputs=2)
    cfg.define_split("tile_x", x, num_outputs=2)
    outer, inner = cfg["tile_y"].apply(schedule, c, y)
    left, right = cfg["tile_x"].apply(schedule, c, x)
    schedule[c].reorder(outer, left, k, inner, right)
    return schedule, [a, b, c]


def speed(task, index):
    config = task.config_space.get(index)
    tall, wide = config["tile_y"].size[1], config["tile_x"].size[1]
    return 1e9 / (1 + abs(np.log2(wide) - 4) + 0.3 * abs(np.log2(tall) - 2))


def task_of(n):
    return autotvm.task.create("tests/boosted_trees/matmul", (n,), "llvm")


@pytest.mark.parametrize("loss", ["rank", "reg"])
@pytest.mark.parametrize("kind", ["knob", "itervar", "curve"])
def test_autotvm_learns_from_each_kind_of_features(trees, kind, loss):
    task = task_of(128)
    indices = np.random.default_rng(1).permutation(len(task.config_space))
    known, others = indices[:40], indices[40:]
    model = XGBoostCostModel(task, kind, loss)
    assert model.is_there
    model.fit(known, [speed(task, int(i)) for i in known], 8)
    assert correlation(model.predict(others), [speed(task, int(i)) for i in others]) > 0.6


@pytest.mark.parametrize("kind", ["itervar", "curve"])
def test_autotvm_transfers_what_it_learned_of_another_task(trees, kind):
    first, second = task_of(128), task_of(64)
    records = [
        (MeasureInput(LLVM, first, first.config_space.get(i)), MeasureResult((1 / speed(first, i),), 0, 1, 1))
        for i in range(len(first.config_space))
    ]
    tuner = autotvm.tuner.XGBTuner(second, plan_size=8, feature_type=kind)
    tuner.load_history(records, min_seed_records=10)
    everything = range(len(second.config_space))
    scores = tuner.cost_model.base_model.predict(everything)
    assert correlation(scores, [speed(second, i) for i in everything]) > 0.3
    best = max(speed(second, i) for i in everything)
    assert max(speed(second, config.index) for config in tuner.next_batch(8)) > 0.8 * best


# ---- the others ------------------------------------------------------------------------------------------------------


@auto_scheduler.register_workload
def matmul_of_boosted_trees(n):
    a, b = (te.placeholder((n, n), name=name) for name in "ab")
    k = te.reduce_axis((0, n), name="k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")]


def test_the_auto_scheduler_learns_and_goes_on_from_a_file(trees, tmp_path):
    task = auto_scheduler.SearchTask(func=matmul_of_boosted_trees, args=(64,), target="llvm")
    sampling = {"sample_init_min_population": 64}
    states = auto_scheduler.SketchPolicy(task, auto_scheduler.RandomModel(), sampling, 1, 0).sample_initial_population()
    rows = auto_scheduler.feature.get_per_store_features_from_states(states, task)
    between = auto_scheduler.feature.get_per_store_feature_names().index("B1.reuse_dis_bytes")
    seconds = [1e-3 * (1 + float(each[:, between].sum())) for each in rows]
    inputs = [auto_scheduler.MeasureInput(task, state) for state in states]
    results = [auto_scheduler.MeasureResult([each], 0, "", 0.1, 0) for each in seconds]
    path = str(tmp_path / "model.json")
    model = auto_scheduler.XGBModel(num_warmup_sample=0, seed=3, model_file=path)
    model.update(inputs[:48], results[:48])
    scores = model.predict(task, states)
    assert correlation(scores[48:], [1 / each for each in seconds[48:]]) > 0.4
    np.testing.assert_array_equal(auto_scheduler.XGBModel(model_file=path).predict(task, states), scores)
    per_stage = model.predict_stages(task, states[:2])
    assert per_stage[:2] == scores[:2] and per_stage[2] == len(rows[0])


def test_meta_schedule_learns_what_sums_of_stores_cost(trees, tmp_path):
    @ms.derived_object
    class Given(ms.feature_extractor.PyFeatureExtractor):
        def extract_from(self, context, candidates):
            return [tvm.nd.array(np.asarray(each, dtype="float64")) for each in candidates]

    class Task:
        mod = tvm.IRModule.from_expr(te.create_prim_func(matmul_of_boosted_trees(8)))

    generator = np.random.default_rng(0)
    candidates = [generator.random((generator.integers(1, 4), 3)) for _ in range(120)]
    speeds = np.array([each[:, 0].sum() + 0.5 * each[:, 1].sum() for each in candidates])
    results = [ms.runner.RunnerResult([1 / each], None) for each in speeds]
    model = ms.cost_model.XGBModel(extractor=Given(), num_warmup_samples=10)._inst
    model.update(Task, candidates[:80], results[:80])
    assert correlation(model.predict(Task, candidates[80:]), speeds[80:]) > 0.8
    model.save(str(tmp_path / "cost_model.json"))
    other = ms.cost_model.XGBModel(extractor=Given(), num_warmup_samples=10)._inst
    other.load(str(tmp_path))
    np.testing.assert_allclose(other.predict(Task, candidates), model.predict(Task, candidates), rtol=1e-5)
