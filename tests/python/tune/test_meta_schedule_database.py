"""Databases: what is written, read, asked, and what of hostile files is skipped."""

from __future__ import annotations

import json

import pytest
import tessera as tvm
from tessera import meta_schedule as ms
from tessera import te
from tessera.meta_schedule.testing import te_workload
from tessera.target import Target
from tessera.tir import Schedule

CPU = Target("llvm -num-cores=2")


def matmul(n=16):
    return ms.default_config.mod(te.create_prim_func(te_workload.matmul(n, n, n)))


def record(database, mod, seconds, parts=2):
    sch = Schedule(mod)
    sch.split(sch.get_loops(sch.get_block("C"))[0], [parts, None])
    infos = ms.arg_info.ArgInfo.from_entry_func(mod)
    made = ms.database.TuningRecord(sch.trace, database.commit_workload(mod), seconds, CPU, infos)
    database.commit_tuning_record(made)
    return made


def memory(folder):
    del folder
    return ms.database.MemoryDatabase()


def files(folder):
    return ms.database.JSONDatabase(work_dir=str(folder))


@pytest.mark.parametrize("make", [memory, files])
def test_the_fastest_records_come_first(make, tmp_path):
    database = make(tmp_path)
    mod, other = matmul(), matmul(32)
    assert not database.has_workload(mod)
    for parts, seconds in [(2, [3.0]), (4, [1.0, 2.0]), (8, [1e9])]:
        record(database, mod, seconds, parts)
    record(database, other, [0.1])
    workload = database.commit_workload(mod)
    assert [float(each.run_secs[0]) for each in database.get_top_k(workload, 5)] == [1.0, 3.0]
    assert database.get_top_k(workload, 0) == []
    assert len(database) == len(database.get_all_tuning_records()) == 4
    assert database.has_workload(matmul())
    best = database.query_schedule(mod, CPU, "main")
    assert "in T.grid(4, 4, 16, 16)" in best.mod.script()
    assert database.query_tuning_record(matmul(64), CPU, "main") is None
    assert tvm.ir.structural_equal(database.query(mod, CPU, kind="ir_module"), best.mod)


def test_files_are_read_again(tmp_path):
    first = files(tmp_path)
    made = record(first, matmul(), [0.5, 0.25])
    again = files(tmp_path)
    (found,) = again.get_all_tuning_records()
    assert found.as_json() == made.as_json()
    assert [str(line) for line in found.trace.as_python()] == [str(line) for line in made.trace.as_python()]
    assert tvm.ir.structural_equal(found.workload.mod, matmul())
    assert str(found.target) == str(CPU)


def test_lines_have_the_format_of_v0_10(tmp_path):
    record(files(tmp_path), matmul(), [0.5])
    hashed, module = json.loads((tmp_path / "database_workload.json").read_text())
    assert hashed.isdigit()
    assert isinstance(module, str)
    index, (trace, seconds, target, args) = json.loads((tmp_path / "database_tuning_record.json").read_text())
    assert index == 0
    assert [inst[0] for inst in trace[0]] == ["GetBlock", "GetLoops", "Split"]
    assert trace[0][0] == ["GetBlock", [], ["C", "main"], ["b0"]]
    assert seconds == [0.5]
    assert target["kind"] == "llvm"
    assert args[0] == ["TENSOR", "float32", [16, 16]]


def test_broken_lines_are_skipped_by_number(tmp_path, capfd):
    record(files(tmp_path), matmul(), [0.5])
    records, workloads = tmp_path / "database_tuning_record.json", tmp_path / "database_workload.json"
    good = records.read_text()
    _, (trace, seconds, target, args) = json.loads(good)
    wrong = [
        "{",
        "[7, [[[],[]], [1.0], null, null]]",
        "[0, [[[],[]], null]]",
        json.dumps([0, [trace, ["fast"], target, args]]),
        json.dumps([0, [[[["Nothing", [], [], []]], []], seconds, target, args]]),
        json.dumps([0, [trace, seconds, {"kind": "nothing"}, args]]),
        json.dumps([0, [trace, seconds, target, [["TENSOR", "float32", [-1]]]]]),
        json.dumps(
            [
                0,
                [
                    [
                        [
                            ["GetBlock", [], ["C", "main"], ["b0"]],
                            ["GetLoops", ["b0"], [], ["l1", "l2", "l3"]],
                            ["SamplePerfectTile", ["l1"], [2**31 - 1, 64], ["v4"]],
                        ],
                        [],
                    ],
                    seconds,
                    target,
                    args,
                ],
            ]
        ),
        "[" * 5000,
    ]
    records.write_text("\n".join(wrong) + "\n" + good)
    workloads.write_text(workloads.read_text() + '["0", "!!!"]\n["1", "e30="]\n')
    database = files(tmp_path)
    assert len(database) == 1
    reported = capfd.readouterr().err
    for number in range(1, len(wrong) + 1):
        assert f"database_tuning_record.json:{number}: skipped: " in reported
    assert "database_workload.json:2: skipped: " in reported
    assert "database_workload.json:3: skipped: " in reported
    # What is added later has the number of its own line.
    record(database, matmul(32), [0.1])
    (_, second) = files(tmp_path).get_all_tuning_records()
    assert tvm.ir.structural_equal(second.workload.mod, matmul(32))


def test_a_line_after_a_half_written_one_stands_alone(tmp_path):
    record(files(tmp_path), matmul(), [0.5])
    path = tmp_path / "database_tuning_record.json"
    path.write_text(path.read_text() + '[0, [[["GetBl')
    record(files(tmp_path), matmul(), [0.25], 4)
    assert len(files(tmp_path)) == 2


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(OSError, match="cannot open"):
        ms.database.JSONDatabase(work_dir=str(tmp_path / "missing"))
    with pytest.raises(OSError, match="cannot open"):
        ms.database.JSONDatabase(work_dir=str(tmp_path), allow_missing=False)
    with pytest.raises(ValueError, match="path_workload"):
        ms.database.JSONDatabase()


def test_unions_take_the_fastest_or_the_first():
    slow, fast, empty = (ms.database.MemoryDatabase() for _ in range(3))
    record(slow, matmul(), [2.0], 2)
    record(fast, matmul(), [1.0], 4)
    union = ms.database.UnionDatabase(empty, slow, fast)
    ordered = ms.database.OrderedUnionDatabase(empty, slow, fast)
    assert float(union.query_tuning_record(matmul(), CPU, "main").run_secs[0]) == 1.0
    assert float(ordered.query_tuning_record(matmul(), CPU, "main").run_secs[0]) == 2.0
    with pytest.raises(NotImplementedError, match="only answers queries"):
        union.get_all_tuning_records()


def test_a_function_as_a_database():
    def schedule(sch):
        if int(sch.get(sch.get_loops(sch.get_block("C"))[0]).extent) != 16:
            return False
        sch.split(sch.get_loops(sch.get_block("C"))[0], [2, None])
        return True

    database = ms.database.ScheduleFnDatabase(schedule)
    assert "T.grid(2, 8, 16, 16)" in database.query_ir_module(matmul(), CPU, "main").script()
    assert database.query_schedule(matmul(32), CPU, "main") is None


def test_a_database_in_python():
    @ms.derived_object
    class Mine(ms.database.PyDatabase):
        def __init__(self):
            self.workloads, self.records = [], []

        def has_workload(self, mod):
            return any(tvm.ir.structural_equal(mod, each.mod) for each in self.workloads)

        def commit_workload(self, mod):
            for each in self.workloads:
                if tvm.ir.structural_equal(mod, each.mod):
                    return each
            self.workloads.append(ms.database.Workload(mod))
            return self.workloads[-1]

        def commit_tuning_record(self, record):
            self.records.append(record)

        def get_all_tuning_records(self):
            return self.records

        def get_top_k(self, workload, top_k):
            return sorted(self.records, key=lambda each: float(each.run_secs[0]))[:top_k]

        def __len__(self):
            return len(self.records)

    database = Mine()
    record(database, matmul(), [2.0], 2)
    record(database, matmul(), [1.0], 4)
    assert len(database) == 2
    assert float(database.query_tuning_record(matmul(), CPU, "main").run_secs[0]) == 1.0
    assert "T.grid(4, 4, 16, 16)" in database.query_schedule(matmul(), CPU, "main").mod.script()
    union = ms.database.UnionDatabase(database)
    assert float(union.query_tuning_record(matmul(), CPU, "main").run_secs[0]) == 1.0


def test_with_enters_a_database():
    outer, inner = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    assert ms.database.Database.current() is None
    with outer, inner:
        assert ms.database.Database.current() is inner
    assert ms.database.Database.current() is None


def test_records_become_candidates():
    database = ms.database.MemoryDatabase()
    candidate = record(database, matmul(), [1.0]).as_measure_candidate()
    assert "T.grid(2, 8, 16, 16)" in candidate.sch.mod.script()
    assert len(candidate.args_info) == 3
    workload = ms.database.Workload.from_json(ms.database.Workload(matmul()).as_json())
    assert tvm.ir.structural_equal(workload.mod, matmul())
