"""Logs from elsewhere are data only: lines that are broken, forged or of other formats are skipped, and those behind them are read."""

import json
from pathlib import Path

import pytest
import tessera as tvm
from tessera import auto_scheduler, autotvm
from tessera import meta_schedule as ms

AUTOTVM = json.dumps(
    {
        "input": ["llvm -keys=cpu ", "matmul", [64, 64, 64, "float32"], {}],
        "config": {"index": 17, "code_hash": None, "entity": [["tile_y", "sp", [-1, 8]], ["k", "ot", 4]]},
        "result": [[0.00012], 0, 1.23, 1660000000.0],
        "version": 0.2,
        "tvm_version": "0.10.0",
    }
)
WORKLOAD = '["matmul_auto_scheduler_test", 128, 128, 128]'
STEPS = [["SP", 2, 0, 128, [4, 1, 8], 1], ["AN", 3, 0, 3]]
AUTO_SCHEDULER = json.dumps(
    {
        "i": [[WORKLOAD, "llvm -keys=cpu ", [8, 64, 64, 0, 0, 0, 0, 0], "", 1, []], [[], STEPS]],
        "r": [[0.00021], 0, 0.5, 1660000000],
        "v": "v0.6",
    }
)
TRAP = "the line ran"


def forged(line, *changes):
    """A line with each change alone; all have to fit."""
    assert all(old in line for old, _ in changes)
    return [line.replace(old, new) for old, new in changes]


LINES = [
    *("{", "null", "[]", "1e999", '"x"', "{}", '{"input": 5}', "[NaN]", "\x00\x01\x7f", "\ufffe\u202e"),
    *("[" * 20000, '{"a":' * 3000 + "1" + "}" * 3000),
    "gASVIAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAVsczticJSFlFKULg==\t" * 6,  # what v0.10's pickles look like
    *forged(
        AUTOTVM,
        ("17", '"x"'),
        ("17", "1e400"),
        ('"sp"', '"zz"'),
        ("[-1, 8]", "null"),
        ("[-1, 8]", '["a", {}]'),
        ("llvm -keys=cpu ", f"__import__('pathlib').Path('{TRAP}').touch()"),
        ("0.00012", '"inf"'),
        ('[64, 64, 64, "float32"]', '[["TENSOR", [-1], "float99"]]'),
        ("64", "9" * 30),
        ('"version": 0.2', '"version": 9.9'),
    ),
    *forged(
        AUTO_SCHEDULER,
        ("[4, 1, 8]", "[4, -1, 8]"),
        ('"SP"', '"ZZ"'),
        ("2, 0, 128", "99999, 0, 128"),
        ("2, 0, 128", "-1, -1, 128"),
        ("0.00021", "null"),
        ("v0.6", "v9.9"),
        ("[8, 64", '["x", 64'),
        ('["AN", 3, 0, 3]', '["AN", 3, 0, 99999999999]'),
        ('["AN", 3, 0, 3]', f'["PR", 3, 0, "auto_unroll_max_step${"9" * 30}"]'),
        ("[[], [[", "[[], ["),
    ),
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A file of each line with good ones of both tuners behind it."""
    folder = tmp_path_factory.mktemp("logs")
    out = []
    for number, line in enumerate(LINES):
        path = folder / f"{number}.json"
        path.write_text("\n".join([line, AUTOTVM, AUTO_SCHEDULER, ""]), encoding="utf-8", errors="surrogatepass")
        out.append(str(path))
    return out


def test_autotvm_reads_what_is_behind_a_hostile_line(logs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in logs:
        assert any(inp.config.index == 17 for inp, _ in autotvm.record.load_from_file(path)), path
        autotvm.record.pick_best(path, f"{path}.best")
        with autotvm.apply_history_best(path) as best:
            best.query(tvm.target.Target("llvm"), ("matmul", 64, 64, 64, "float32"))
    assert not Path(TRAP).exists()


def test_the_auto_scheduler_reads_what_is_behind_a_hostile_line(logs):
    for path in logs:
        assert auto_scheduler.load_records(path), path
        auto_scheduler.ApplyHistoryBest(path)


def test_databases_of_meta_schedule_skip_hostile_lines(tmp_path):
    for number, line in enumerate(LINES):
        folder = tmp_path / str(number)
        folder.mkdir()
        behind = '[0, [[[], []], [1.0], "x", []]]'
        (folder / "database_workload.json").write_text(line + "\n", encoding="utf-8", errors="surrogatepass")
        records = folder / "database_tuning_record.json"
        records.write_text(f"{line}\n{behind}\n", encoding="utf-8", errors="surrogatepass")
        assert len(ms.database.JSONDatabase(work_dir=str(folder))) == 0


def test_skipped_lines_are_told_by_their_number(tmp_path, caplog, capfd):
    path = tmp_path / "log.json"
    path.write_text("\n".join([AUTOTVM, "{", AUTOTVM.replace("17", '"x"'), ""]))
    assert len(list(autotvm.record.load_from_file(str(path)))) == 1
    told = caplog.text + capfd.readouterr().err
    assert "2" in told and "3" in told and "skip" in told.lower()
