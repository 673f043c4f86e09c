"""Reports of what a run cost."""

import csv
import io
import json

import numpy as np
import pytest
import tessera as tvm
from tessera import te
from tessera.runtime import profiling
from tessera.runtime.profiling import Count, Duration, Percent, Ratio, Report


def row(name, microseconds, share, count=1, shapes="float32[4]", **more):
    return {
        "Name": name,
        "Duration (us)": Duration(microseconds),
        "Percent": Percent(share),
        "Device": "cpu0",
        "Count": Count(count),
        "Argument Shapes": shapes,
        **more,
    }


@pytest.fixture
def report():
    calls = [
        row("add", 10.0, 10.0),
        row("conv", 1234.5, 70.0, shapes="float32[1, 3, 8, 8]"),
        row("add", 20.0, 15.0),
        row("add", 5.0, 5.0, shapes="float32[9]"),
    ]
    return Report(calls, {"cpu0": row("Total", 1300.25, 100.0)}, {"Executor": "Graph"})


def lines_of(table):
    return [line.rstrip() for line in table.split("\n")]


def test_table_merges_equal_calls_sorts_by_time_and_adds_up(report):
    lines = lines_of(report.table())
    assert lines[0].split() == ["Name", "Duration", "(us)", "Percent", "Device", "Count", "Argument", "Shapes"]
    assert [line.split()[:2] for line in lines[1:4]] == [["conv", "1,234.50"], ["add", "30.00"], ["add", "5.00"]]
    assert lines[2].split()[2:5] == ["25.00", "cpu0", "2"]
    assert lines[4] == "----------"
    assert lines[5].split() == ["Sum", "1,269.50", "100.00", "4"]
    assert lines[6].split()[:3] == ["Total", "1,300.25", "100.00"]
    assert lines[8:11] == ["Configuration", "-------------", "Executor: Graph"]
    assert str(report) == report.table()


def test_table_can_leave_calls_apart_in_order_and_without_sums(report):
    lines = lines_of(report.table(sort=False, aggregate=False, col_sums=False))
    assert [line.split()[0] for line in lines[1:5]] == ["add", "conv", "add", "add"]
    assert "Sum" not in "".join(lines) and "Total" not in "".join(lines)


def test_ratios_are_not_added_up():
    rows = [row("a", 1.0, 50.0, Hits=Ratio(0.5)), row("a", 1.0, 50.0, Hits=Ratio(0.25))]
    line = lines_of(Report(rows, {}).table(col_sums=False))[1]
    assert "0.75" not in line and "0.50" not in line and line.split()[1] == "2.00"


def test_csv_has_a_line_for_each_call(report):
    head, *rows = csv.reader(io.StringIO(report.csv()))
    assert head == sorted(head) and len(rows) == 4
    column = dict(zip(head, zip(*rows)))
    assert column["Name"] == ("add", "conv", "add", "add")
    assert [float(x) for x in column["Duration (us)"]] == [10.0, 1234.5, 20.0, 5.0]
    assert column["Argument Shapes"][1] == "float32[1, 3, 8, 8]"


def test_json_says_the_kind_of_each_value_and_reads_back(report):
    data = json.loads(report.json())
    assert data["calls"][1]["Duration (us)"] == {"microseconds": 1234.5}
    assert data["calls"][1]["Count"] == {"count": 1}
    assert data["calls"][1]["Name"] == {"string": "conv"}
    assert data["device_metrics"]["cpu0"]["Percent"] == {"percent": 100.0}
    again = Report.from_json(report.json())
    assert again.json() == report.json() and again.table() == report.table()


def test_times_keep_their_digits_in_json():
    report = Report([row("a", 123456.7890123, 33.333333333)], {})
    assert Report.from_json(report.json()).calls[0]["Duration (us)"].microseconds == 123456.7890123


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "the text is not an object"),
        ("{}", "calls is not a list"),
        ('{"calls": [3], "device_metrics": {}}', "call 0 is not an object"),
        ('{"calls": [{"x": {"count": "1"}}], "device_metrics": {}}', "call 0's x is not a number of the kind count"),
        ('{"calls": [{"x": {"parsec": 1}}], "device_metrics": {}}', "call 0's x has the unknown kind parsec"),
        ('{"calls": [{"x": {"string": null}}], "device_metrics": {}}', "call 0's x is not a string"),
        ('{"calls": [{"x": {}}], "device_metrics": {}}', "call 0's x has 0 kinds"),
        ('{"calls": [], "device_metrics": {"cpu0": []}}', "device cpu0 is not an object"),
        ("{", "JSON"),
    ],
)
def test_text_that_is_no_report_is_rejected(text, problem):
    with pytest.raises(ValueError, match=problem):
        Report.from_json(text)


@pytest.fixture(scope="module")
def doubling():
    x = te.placeholder((16,), name="x")
    y = te.compute((16,), lambda i: x[i] * 2.0, name="y")
    return tvm.build(te.create_schedule(y.op), [x, y], "llvm")


class Calls(profiling.MetricCollector):
    def __init__(self):
        self.events = []

    def prepare(self, devices):
        self.events.append(("prepare", [str(device) for device in devices]))

    def start_call(self, device):
        self.events.append(("start", str(device)))
        return {"began": len(self.events)}

    def stop_call(self, started):
        self.events.append(("stop", started["began"]))
        return {"Events": Count(len(self.events))}


def test_profile_function_measures_one_call_with_the_collectors_given(doubling):
    a, b = tvm.nd.array(np.arange(16, dtype="float32")), tvm.nd.empty((16,))
    collector = Calls()
    metrics = profiling.profile_function(doubling, tvm.cpu(), [collector], warmup_iters=2)(a, b)
    assert collector.events == [("prepare", ["cpu(0)"]), ("start", "cpu(0)"), ("stop", 2)]
    assert set(metrics.keys()) == {"Duration (us)", "Events"}
    assert metrics["Events"].value == 3 and metrics["Duration (us)"].microseconds > 0
    np.testing.assert_array_equal(b.numpy(), a.numpy() * 2)


def test_profile_function_of_an_unknown_function_says_so(doubling):
    with pytest.raises(AttributeError, match="has no function 'nothing'"):
        profiling.profile_function(doubling, tvm.cpu(), [], func_name="nothing")


def test_a_device_travels_as_an_object():
    wrapped = profiling.DeviceWrapper(tvm.device("cuda", 3))
    assert (wrapped.device_type, wrapped.device_id) == (2, 3) and str(wrapped.device) == "cuda(3)"
