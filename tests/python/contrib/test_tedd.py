"""Drawings of TE schedules."""

import re

import pytest
from tessera import te
from tessera.contrib import tedd


@pytest.fixture
def schedule():
    a = te.placeholder((64, 32), name="A")
    b = te.compute((64, 32), lambda i, j: a[i, j] + 1, name="B")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((64,), lambda i: te.sum(b[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[0], 8)
    s[c].bind(outer, te.thread_axis("blockIdx.x"))
    s[b].compute_at(s[c], inner)
    s[b].vectorize(b.op.axis[1])
    return s


def test_data_flow(schedule):
    text = tedd.viz_dataflow_graph(schedule, output_dot_string=True)
    assert text.startswith('digraph "Dataflow Graph" {')
    for edge in ('"Stage_0":O_0 -> "Tensor_0_0"', '"Tensor_0_0" -> "Stage_1":I_0', '"Tensor_1_0" -> "Stage_2":I_0'):
        assert edge in text


def test_stages_and_where_they_are_computed(schedule):
    text = tedd.viz_schedule_tree(schedule, output_dot_string=True)
    assert 'digraph "Schedule Tree"' in text and 'subgraph "cluster_legend"' in text
    assert re.search(r'"Stage_1" -> "Stage_2":Stage_2_IterVar_\d', text)
    assert re.search(r"B<br/>Scope: global.*kVectorized", text) and "(blockIdx.x)" in text and "kCommReduce" in text


def test_loops_and_where_they_come_from(schedule):
    text = tedd.viz_itervar_relationship_graph(schedule, output_dot_string=True)
    assert 'subgraph "cluster_Stage_2"' in text and text.count('-> "Stage_2_Split_0"') == 1
    assert text.count('"Stage_2_Split_0" ->') == 2


def test_drawings_are_written_to_files(schedule, tmp_path, monkeypatch):
    assert tedd.viz_dataflow_graph(schedule, dot_file_path=str(tmp_path / "x.dot")) is None
    assert (tmp_path / "x.dot").read_text().startswith("digraph")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="Graphviz \\(dot\\) is not installed"):
        tedd.viz_dataflow_graph(schedule, show_svg=True)
