"""The table of operators by framework: what becomes of the cases of an operator, and how sections are merged."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import framework_operators as tool
from framework_cases import Case, difference


class OpNotImplemented(Exception):
    """As importers raise it."""


def rejected():
    raise OpNotImplemented("the operator Foo is not supported")


def test_a_case_is_ok_rejected_or_wrong():
    ones, twos = np.ones(2, "float32"), np.full(2, 2, "float32")
    assert tool.run_case(Case("Add", "a", lambda: [(ones, ones)])) == {"state": "ok", "error": 0.0}
    assert tool.run_case(Case("Add", "b", lambda: [(ones, twos)]))["state"] == "wrong"
    assert tool.run_case(Case("Add", "c", lambda: []))["state"] == "wrong"  # nothing was compared
    assert tool.run_case(Case("Add", "d", rejected))["state"] == "rejected"
    assert tool.run_case(Case("Add", "e", lambda: 1 / 0))["state"] == "wrong"


def test_shapes_types_and_what_is_not_finite_count_as_differences():
    x = np.array([1, np.nan], "float32")
    assert difference(x, x) == 0
    assert difference(x, np.array([1, 2], "float32")) == np.inf
    assert difference(x, x.astype("float64")) == difference(x, x[:1]) == np.inf


def test_one_wrong_case_makes_an_operator_wrong_and_none_rejected():
    ok, wrong = {"state": "ok", "error": 1e-7}, {"state": "wrong", "error": 0.5, "note": "axis | 1"}
    assert tool.merged("Add", [ok, ok]).row() == "| Add | ok | 1.0e-07 |  |"
    assert tool.merged("Add", [ok, wrong]).row() == "| Add | wrong | 5.0e-01 | axis / 1 |"
    assert tool.merged("Add", []).state == "rejected"


def test_a_section_replaces_its_own_and_leaves_others():
    def section(title, *states):
        module = SimpleNamespace(TITLE=title, ORACLE="NumPy")
        return tool.section(module, [tool.Result(f"Op{i}", state) for i, state in enumerate(states)])

    page = tool.with_section("", "TFLite", section("TFLite", "ok", "wrong"))
    page = tool.with_section(page, "Keras", section("Keras", "ok"))
    page = tool.with_section(page, "TFLite", section("TFLite", "ok", "ok", "ok", "rejected"))
    assert "| TFLite | 4 | 3 | 1 | 0 | 75.0 % |" in page
    assert "| Keras | 1 | 1 | 0 | 0 | 100.0 % |" in page
    assert page.count("## TFLite") == page.count("## Keras") == 1
