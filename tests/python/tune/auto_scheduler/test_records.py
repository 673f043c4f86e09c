"""Records: lines of v0.10's form; files may hold anything."""

import json
import logging
from pathlib import Path

import pytest
import tessera
from tessera import auto_scheduler
from tessera.auto_scheduler import MeasureInput, MeasureResult, RecordReader, RecordToFile, load_best_record
from tessera.auto_scheduler.measure_record import dump_record_to_string, load_record_from_string
from tessera.testing.auto_scheduler import matmul_auto_scheduler_test


@pytest.fixture
def task():
    return auto_scheduler.SearchTask(func=matmul_auto_scheduler_test, args=(16, 16, 16), target="llvm")


def record(task, seconds=0.5, error=0):
    state = task.compute_dag.get_init_state()
    c = task.compute_dag.ops[2]
    state.split(c, state[c].iters[0], [4])
    return MeasureInput(task, state), MeasureResult([seconds], error, "", 1.5, 1700000000)


def test_a_line_is_read_back(task):
    line = dump_record_to_string(*record(task))
    assert json.loads(line)["i"][1][1] == [["SP", 2, 0, 16, [4], 1]]
    inp, result = load_record_from_string(line)
    assert dump_record_to_string(inp, result) == line
    assert [float(cost) for cost in result.costs] == [0.5] and len(inp.state.stages) == 0


def lines_of(path):
    return len(Path(path).read_text().splitlines())


HOSTILE = {
    "not JSON": "{",
    "no object": "[1]",
    "no fields": "{}",
    "a newer version": lambda good: good.replace('"v0.6"', '"v0.9"'),
    "an unknown step": lambda good: good.replace('"SP"', '"XX"'),
    "a negative stage": lambda good: good.replace('"SP", 2', '"SP", -2'),
    "a stage that is no number": lambda good: good.replace('"SP", 2', '"SP", "2"'),
    "too few entries": lambda good: good.replace(", 16, [4], 1]", "]"),
    "lengths that are no list": lambda good: good.replace("[4]", "4"),
    "huge lengths": lambda good: good.replace("[4]", "[99999999999]"),
    "an unknown target": lambda good: good.replace("llvm -keys=cpu", "nowhere"),
    "a layout option": lambda good: good.replace(', "", 1, []', ', "", 9, []'),
    "costs that are words": lambda good: good.replace("[0.5]", '["fast"]'),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_no_record_is_an_error(task, kind):
    good = dump_record_to_string(*record(task))
    bad = HOSTILE[kind](good) if callable(HOSTILE[kind]) else HOSTILE[kind]
    assert bad != good
    with pytest.raises(ValueError):
        load_record_from_string(bad)


@pytest.mark.parametrize(
    "step", [["SP", 9, 0, 16, [4], 1], ["SP", 2, 9, 16, [4], 1], ["FSP", 2, 0, 0, 1], ["CA", 2, 0, 0]]
)
def test_steps_that_do_not_fit_are_an_error_when_the_state_is_rebuilt(task, step):
    line = json.loads(dump_record_to_string(*record(task)))
    line["i"][1][1] = [step]
    inp, _ = load_record_from_string(json.dumps(line))
    with pytest.raises(ValueError, match="auto_scheduler:"):
        task.compute_dag.infer_bound_from_state(inp.state)


def test_broken_lines_of_a_file_are_reported_by_number(task, tmp_path, caplog):
    path = tmp_path / "log.json"
    good = dump_record_to_string(*record(task))
    path.write_text("\n".join([good, "# a comment", "broken", good.replace("v0.6", "v9.9"), "", good]) + "\n")
    with caplog.at_level(logging.WARNING, "auto_scheduler"):
        inputs, results = RecordReader(str(path)).read_lines()
    assert len(inputs) == len(results) == 2
    assert [f"{path}:{number}:" in message for number, message in zip((3, 4), caplog.messages)] == [True, True]
    assert len(RecordReader(str(path)).read_lines(max_lines=1)[0]) == 1
    assert len(RecordReader(str(path)).read_lines(skip_lines=1)[0]) == 1


def test_the_best_record_is_the_fastest_without_error(task, tmp_path):
    path = str(tmp_path / "log.json")
    pairs = [record(task, 0.5), record(task, 0.25), record(task, 0.1, error=4)]
    RecordToFile(path).callback(None, [p[0] for p in pairs[:2]], [p[1] for p in pairs[:2]])
    auto_scheduler.save_records(path, [pairs[2][0]], [pairs[2][1]])
    assert lines_of(path) == 3
    _, best = load_best_record(path, task.workload_key, task.target)
    assert float(best.costs[0]) == 0.25
    assert load_best_record(path, '["other", 1]', task.target) == (None, None)
    assert load_best_record(path, task.workload_key, tessera.target.Target("c")) == (None, None)
    auto_scheduler.measure_record.distill_record_file(path, path + ".best")
    assert lines_of(path + ".best") == 1


def test_compatible_records_serve_multiples_of_their_shapes(task, tmp_path):
    path = str(tmp_path / "log.json")
    auto_scheduler.save_records(path, *[[each] for each in record(task)])
    key = auto_scheduler.make_workload_key(matmul_auto_scheduler_test, (32, 16, 16))
    assert load_best_record(path, key, task.target)[0] is None
    assert load_best_record(path, key, task.target, include_compatible=True)[0] is not None
    odd = auto_scheduler.make_workload_key(matmul_auto_scheduler_test, (24, 16, 16))
    assert load_best_record(path, odd, task.target, include_compatible=True)[0] is None


def test_an_input_travels_as_text(task):
    inp, _ = record(task)
    again = MeasureInput.deserialize(inp.serialize())
    assert str(again.state) == str(task.compute_dag.infer_bound_from_state(inp.state))
