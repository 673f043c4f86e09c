"""Relay modules as trees of text and as graphs of Graphviz."""

import pytest
import tessera
from tessera import relay
from tessera.contrib import relay_viz
from tessera.contrib.relay_viz.interface import VizEdge, VizNode, VizParser
from tessera.contrib.relay_viz.terminal import TermGraph, TermPlotter


@pytest.fixture
def module():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    y = relay.nn.dense(x, w)
    return tessera.IRModule.from_expr(relay.Function([x, w], relay.Tuple([relay.nn.relu(y), y])))


def test_a_function_is_a_tree_from_its_result(module, capsys):
    relay_viz.RelayVisualizer(module, {"w": None}).render()
    text = capsys.readouterr().out
    lines = [line.strip(" |`-") for line in text.splitlines()]
    assert lines[0] == "@main" and lines[1] == "Func" and lines[2] == "Tuple" and lines[3] == "Call nn.relu"
    assert lines[4].startswith("Call nn.dense (units: ")
    assert "Var(Input) (name_hint: x, shape: (2, 3), dtype: float32)" in text and "Var(Param) (name_hint: w" in text
    assert text.count("(see above)") == 1  # the second use of dense


def test_trees_go_into_a_file(module, tmp_path, capsys):
    relay_viz.RelayVisualizer(module, plotter=TermPlotter()).render(str(tmp_path / "out.txt"))
    assert "@main" in (tmp_path / "out.txt").read_text() and capsys.readouterr().out == ""


def test_graphs_of_graphviz(module, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    plotter = relay_viz.DotPlotter(get_node_attr=lambda node: {"color": "red"} if "dense" in node.type_name else {})
    relay_viz.RelayVisualizer(module, plotter=plotter).render(str(tmp_path / "net"))
    text = (tmp_path / "net_main.gv").read_text()
    assert text.startswith('digraph "main" {') and text.count("->") == 6
    assert 'color="red"' in text and "Call nn.dense" in text


def test_parsers_of_users_are_asked(module):
    class Own(VizParser):
        def get_node_edges(self, node, relay_param, node_to_id):
            if not isinstance(node, relay.Call):
                return None, []
            edges = [VizEdge(node_to_id[arg], node_to_id[node]) for arg in node.args]
            return VizNode(node_to_id[node], "mine", node.op.name), edges

    drawn = []

    class Plot(TermPlotter):
        def render(self, filename=None):
            drawn.extend(graph.render() for graph in self._graphs)

    relay_viz.RelayVisualizer(module, plotter=Plot(), parser=Own()).render()
    assert drawn == ["@main\n`--mine nn.relu\n   `--mine nn.dense\n"]
    assert TermGraph("empty").render() == "@empty\n"
