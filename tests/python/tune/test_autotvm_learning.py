"""What AutoTVM learns from: features of programs, databases, and the graph tuner."""

import importlib.util
import itertools

import numpy as np
import pytest
import tessera as tvm
from tessera import autotvm, relay, te
from tessera.autotvm import database, feature, utils
from tessera.autotvm.graph_tuner import DPTuner, PBQPTuner
from tessera.autotvm.measure import MeasureInput, MeasureResult
from tessera.autotvm.task import extract_from_program
from tessera.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from tessera.contrib.boosted_trees import find_xgboost
from test_tune_models import random

LLVM = tvm.target.Target("llvm")


def matmul(tile=4):
    a, b = te.placeholder((8, 16), name="A"), te.placeholder((16, 4), name="B")
    k = te.reduce_axis((0, 16), name="k")
    c = te.compute((8, 4), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    i, j = s[c].op.axis
    io, ii = s[c].split(i, tile)
    s[c].reorder(io, k, ii, j)
    s[c].parallel(io)
    s[c].vectorize(j)
    return s, [a, b, c]


# ---- features --------------------------------------------------------------------------------------------------------


def test_loops_have_lengths_reuse_and_what_is_done_with_them():
    rows = feature.get_itervar_feature(*matmul(), take_log=False)
    assert [row[0][1].name for row in rows] == ["i.outer", "k", "i.inner", "j"]
    names = feature.get_flatten_name(rows)
    values = dict(zip(names, feature.get_itervar_feature_flatten(*matmul(), take_log=False).tolist()))
    assert len(names) == len(set(names)) == len(feature.get_itervar_feature_flatten(*matmul()))
    assert values["i.outer._attr_.length"] == 2 and values["i.outer._attr_.bottomup"] == 2 * 16 * 4 * 4
    kinds = {"i.outer": "parallel", "k": "serial", "i.inner": "serial", "j": "vectorized"}
    for loop, kind in itertools.product(kinds, ("serial", "parallel", "vectorized", "unrolled")):
        assert values[f"{loop}._attr_.{kind}"] == (kind == kinds[loop])
    touched = {group[0]: group[1:] for group in rows[1][3:]}
    assert touched["A_0"][:4] == [1, -1, 64, 4] and touched["B_0"][:4] == [4, -1, 64, 4]  # stride, mod, count, reuse
    assert rows[-1][2] == ["_arith_", 1, 1, 0]


def test_features_of_all_configurations_have_one_length():
    lengths = {len(feature.get_itervar_feature_flatten(*matmul(tile))) for tile in (1, 2, 8)}
    assert len(lengths) == 1
    curves = [feature.get_buffer_curve_sample_flatten(*matmul(tile), sample_n=10) for tile in (1, 8)]
    assert len(curves[0]) == len(curves[1]) and not np.array_equal(curves[0], curves[1])


def tasks(mod):
    return extract_from_program(mod, {}, "llvm")


def chain(channels=(16, 32, 16)):
    """Convolutions one after the other, and one that reads two of them."""
    x = relay.var("x", shape=(1, channels[0], 8, 8))
    y = x
    for before, after in itertools.pairwise(channels):
        y = relay.nn.relu(relay.nn.conv2d(y, relay.const(random(after, before, 3, 3)), padding=(1, 1)))
    joined = relay.nn.conv2d(relay.add(x, y), relay.const(random(8, channels[-1], 1, 1)))
    return tvm.IRModule.from_expr(relay.Function([x], joined))


@pytest.mark.parametrize("kind", ["knob", "itervar", "curve"])
def test_a_model_without_xgboost_knows_nothing_and_has_features(kind, monkeypatch):
    monkeypatch.setattr("tessera.autotvm.tuner.xgboost_cost_model.find_xgboost", lambda: None)
    task = tasks(chain())[0]
    model = XGBoostCostModel(task, kind, "rank")
    assert len(model.feature(0)) == len(model.feature(len(task.config_space) - 1)) > 0
    model.fit(range(8), [float(i + 1) for i in range(8)], 8)
    assert not model.is_there and list(model.predict([0, 1])) == [0, 0]
    with pytest.raises(RuntimeError, match="Invalid feature type"):
        XGBoostCostModel(task, "smell", "rank")


@pytest.mark.skipif(find_xgboost() is None, reason="needs xgboost")
def test_what_was_learned_of_another_task_is_used():
    first, second = tasks(chain())[:2]
    records = [(i, MeasureResult((1.0 / (1 + i.config.index),), 0, 1, 1))
               for i in (MeasureInput(LLVM, first, first.config_space.get(k)) for k in range(24))]  # fmt: skip
    tuner = autotvm.tuner.XGBTuner(second, plan_size=8, feature_type="curve")
    tuner.load_history(records, min_seed_records=10)
    assert tuner.plan


# ---- databases and helpers -------------------------------------------------------------------------------------------


def record_of(task, index, seconds, error=0):
    return MeasureInput(LLVM, task, task.config_space.get(index)), MeasureResult((seconds,), error, 1.0, 1.0)


def test_a_database_gives_what_was_measured():
    task = tasks(chain())[0]
    db = database.DummyDatabase()
    inp, result = record_of(task, 3, 0.5)
    assert db.load(inp) is None
    db.save(inp, result)
    db.save(inp, record_of(task, 3, 0.25)[1], extend=True)
    assert db.load(inp).costs == (0.25,) and [each.costs[0] for each in db.load(inp, get_all=True)] == [0.5, 0.25]
    other, failed = record_of(task, 4, 1e9, error=4)
    db.save(other, failed)
    results, left = database.filter_inputs(db, [inp, other, record_of(task, 5, 1)[0]], retry=True)
    assert results[0].costs == (0.25,) and results[1:] == [None, None] and len(left) == 2
    assert len(db.filter(lambda _, res: res.error_no == 0)) == 2
    db.flush()
    assert db.load(inp) is None
    if importlib.util.find_spec("redis") is None:
        with pytest.raises(ImportError, match="needs the package redis"):
            database.RedisDatabase()


def test_helpers():
    assert utils.get_rank([0.5, 2, 1]).tolist() == [2, 0, 1]
    assert sorted(utils.sample_ints(3, 6, 3)) == [3, 4, 5] and len(set(utils.sample_ints(0, 10**9, 5))) == 5
    assert utils.format_si_prefix(2e9, "G") == 2 and utils.get_func_name(test_helpers) == "test_helpers"
    with pytest.raises(ValueError, match='no prefix "x"'):
        utils.format_si_prefix(1, "x")
    assert utils.pool_map(abs, [-1, 2], 1).tolist() == [1, 2]


# ---- graphs ----------------------------------------------------------------------------------------------------------


def records_of(mod, seconds):
    """For each convolution three records: blocks of 4, 8 and 16 channels."""
    out = []
    for at, task in enumerate(tasks(mod)):
        space = task.config_space
        for block in (4, 8, 16):
            index = next(i for i in range(len(space)) if space.get(i)["tile_ic"].size[-1] == block
                         and space.get(i)["tile_oc"].size[-1] == min(block, 8))  # fmt: skip
            out.append(record_of(task, index, seconds(at, block)))
    return out


@pytest.mark.parametrize("tuner", [DPTuner, PBQPTuner])
def test_the_graph_tuner_finds_the_least_sum(tuner, tmp_path):
    mod = chain()
    rng = np.random.default_rng(3)
    times = {(at, block): float(rng.uniform(1e-5, 2e-5)) for at in range(3) for block in (4, 8, 16)}
    records = records_of(mod, lambda at, block: times[(at, block)])
    found = tuner(mod["main"], {"x": (1, 16, 8, 8)}, records, [relay.op.get("nn.conv2d")], "llvm", verbose=False)
    assert [node.inputs for node in found.nodes] == [[], [0], [1]]
    found.run()
    every = itertools.product(*(range(len(node.records)) for node in found.nodes))
    assert found.total_seconds() == pytest.approx(min(found.total_seconds(list(choices)) for choices in every))
    log = tmp_path / "best.log"
    found.write_opt_sch2record_file(str(log))
    with autotvm.task.ApplyGraphBest(str(log)) as best:
        for inp, _ in found.get_optimal_records():
            assert best.query(LLVM, inp.task.workload).index == inp.config.index


def test_moves_between_blocks_are_measured():
    mod = chain()
    found = DPTuner(mod, {}, records_of(mod, lambda *_: 1e-5), ["nn.conv2d"], "llvm", verbose=False)
    found.benchmark_layout_transform(min_exec_num=10, infer_layout=True)
    assert found.move_seconds(0, 8, 8) == 0 < found.move_seconds(0, 4, 16) < 1
    with pytest.raises(RuntimeError, match="has records"):
        DPTuner(mod, {}, [], ["nn.conv2d"], "llvm", verbose=False)
