"""Drawings of TE schedules: the data flow, the tree of stages, and where loops come from."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

from ..ir import Array
from ..te import Schedule
from ..te.schedule import Fuse, Rebase, Singleton, Split
from ..tir import IterVar
from ._dot import Digraph

__all__ = ["viz_dataflow_graph", "viz_itervar_relationship_graph", "viz_schedule_tree"]

#: Names and colours of kinds of loops.
_KINDS = {
    IterVar.DataPar: ("kDataPar", "#FFFFFF"),
    IterVar.ThreadIndex: ("kThreadIndex", "#2980B9"),
    IterVar.CommReduce: ("kCommReduce", "#FAD7A0"),
    IterVar.Ordered: ("kOrdered", "#D35400"),
    IterVar.DimInfo: ("kOpaque", "#ABB2B9"),
    IterVar.Unrolled: ("kUnrolled", "#D2B4DE"),
    IterVar.Vectorized: ("kVectorized", "#AED6F1"),
    IterVar.Parallelized: ("kParallelized", "#F5B7B1"),
    IterVar.Tensorized: ("kTensorized", "#A9DFBF"),
}


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class _Names:
    """Names of the stages, tensors and loops of a schedule."""

    def __init__(self, sch: Schedule):
        self.stages = list(sch.stages)
        self.stage_of = {stage.op: i for i, stage in enumerate(self.stages)}
        self.stage_of.update({stage.origin_op: i for i, stage in enumerate(self.stages)})

    def stage(self, index: int) -> str:
        return f"Stage_{index}"

    def tensor(self, tensor: Any) -> str:
        return f"Tensor_{self.stage_of[tensor.op]}_{tensor.value_index}"

    def loop(self, index: int, loop: Any) -> str:
        loops = list(self.stages[index].all_iter_vars)
        position = next(i for i, known in enumerate(loops) if known.same_as(loop))
        return f"Stage_{index}_IterVar_{position}"


def _loop_kind(stage: Any, loop: Any) -> tuple[str, str]:
    attrs = stage.iter_var_attrs
    known = attrs.get(loop) if hasattr(attrs, "get") else None
    kind = known.iter_type if known is not None else loop.iter_type
    if known is not None and known.bind_thread is not None:
        kind = IterVar.ThreadIndex
    return _KINDS.get(int(kind), ("kOpaque", "#ABB2B9"))


def _loop_text(stage: Any, loop: Any) -> str:
    attrs = stage.iter_var_attrs
    known = attrs.get(loop) if hasattr(attrs, "get") else None
    thread = f" ({known.bind_thread.var.name})" if known is not None and known.bind_thread is not None else ""
    domain = f" range(min={loop.dom.min}, ext={loop.dom.extent})" if loop.dom is not None else ""
    return _escape(f"{loop.var.name}{thread}{domain}")


def _finish(graph: Digraph, show_svg: bool, dot_file_path: str, output_dot_string: bool) -> Any:
    """Writes, shows or gives the text of a graph."""
    if dot_file_path:
        with open(dot_file_path, "w", encoding="utf-8") as file:
            file.write(graph.source)
    if output_dot_string:
        return graph.source
    if show_svg:
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError("Graphviz (dot) is not installed; ask for output_dot_string or dot_file_path")
        done = subprocess.run([program, "-Tsvg"], input=graph.source, capture_output=True, text=True, check=True)
        return done.stdout
    return None


def viz_dataflow_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Any:
    """Stages and the tensors between them; ports O_i are results, I_i what is read."""
    names = _Names(sch)
    graph = Digraph("Dataflow Graph", {"rankdir": "BT"})
    for index, stage in enumerate(names.stages):
        inputs = list(stage.op.input_tensors)
        cells = "".join(f'<TD PORT="I_{i}">{i}</TD>' for i in range(len(inputs)))
        outputs = "".join(f'<TD PORT="O_{i}">{i}</TD>' for i in range(stage.op.num_outputs))
        span = max(len(inputs), stage.op.num_outputs, 1)
        rows = [
            f"<TR>{outputs}</TR>",
            f'<TR><TD COLSPAN="{span}">{_escape(stage.op.name)}<br/>Scope: {stage.scope or "global"}</TD></TR>',
        ]
        rows += [f"<TR>{cells}</TR>"] if cells else []
        graph.node(names.stage(index), f"<<TABLE>{''.join(rows)}</TABLE>>", shape="none")
        for i in range(stage.op.num_outputs):
            tensor = stage.op.output(i)
            shape = ", ".join(map(str, tensor.shape))
            graph.node(f"Tensor_{index}_{i}", f"[{shape}]\n{tensor.dtype}", shape="note")
            graph.edge(f"{names.stage(index)}:O_{i}", f"Tensor_{index}_{i}")
        for i, tensor in enumerate(inputs):
            graph.edge(names.tensor(tensor), f"{names.stage(index)}:I_{i}")
    return _finish(graph, show_svg, dot_file_path, output_dot_string)


def viz_schedule_tree(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Any:
    """Stages with their loops, outermost first; an edge leads from a stage to the loop it is computed at."""
    names = _Names(sch)
    graph = Digraph("Schedule Tree", {"rankdir": "BT"})
    legend = Digraph("cluster_legend", {"label": "Legend"})
    rows = "".join(f'<TR><TD BGCOLOR="{color}">{name}</TD></TR>' for name, color in _KINDS.values())
    legend.node("legend", f"<<TABLE>{rows}</TABLE>>", shape="none")
    graph.subgraph(legend)
    for index, stage in enumerate(names.stages):
        title = f"{_escape(stage.op.name)}<br/>Scope: {stage.scope or 'global'}"
        rows = f"<TR><TD>{title}</TD></TR>"
        for i, loop in enumerate(stage.leaf_iter_vars):
            kind, color = _loop_kind(stage, loop)
            rows += f'<TR><TD BGCOLOR="{color}" PORT="{names.loop(index, loop)}">{i}: {_loop_text(stage, loop)} {kind}</TD></TR>'
        if isinstance(getattr(stage.op, "body", None), (list, Array)):
            rows += "".join(f"<TR><TD>{_escape(str(expr))}</TD></TR>" for expr in stage.op.body)
        graph.node(names.stage(index), f"<<TABLE>{rows}</TABLE>>", shape="none")
        if stage.attach_type == 4:  # computed at a loop of another stage
            around = names.stage_of[stage.attach_stage.op]
            graph.edge(names.stage(index), f"{names.stage(around)}:{names.loop(around, stage.attach_ivar)}")
        elif not stage.is_output and stage.attach_type not in (2, 3):
            graph.edge(names.stage(index), "ROOT")
    graph.node("ROOT", "ROOT", shape="point")
    return _finish(graph, show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> Any:
    """The loops of each stage, and how they came from others by split and fuse."""
    names = _Names(sch)
    graph = Digraph("IterVar Relationship Graph", {"rankdir": "TB"})
    for index, stage in enumerate(names.stages):
        title = f"{stage.op.name}(Scope: {stage.scope or 'global'})"
        cluster = Digraph(f"cluster_{names.stage(index)}", {"label": title})
        for loop in stage.all_iter_vars:
            kind, color = _loop_kind(stage, loop)
            cluster.node(names.loop(index, loop), f"{loop.var.name}\n{kind}", style="filled", fillcolor=color)
        for number, relation in enumerate(stage.relations):
            from_loops, to_loops, kind = _ends(relation)
            node = f"{names.stage(index)}_{kind}_{number}"
            cluster.node(node, kind, shape="box")
            for loop in from_loops:
                cluster.edge(names.loop(index, loop), node)
            for loop in to_loops:
                cluster.edge(node, names.loop(index, loop))
        graph.subgraph(cluster)
    return _finish(graph, show_svg, dot_file_path, output_dot_string)


def _ends(relation: Any) -> tuple[list[Any], list[Any], str]:
    """The loops that a relation reads and those that it makes."""
    if isinstance(relation, Split):
        return [relation.parent], [relation.outer, relation.inner], "Split"
    if isinstance(relation, Fuse):
        return [relation.outer, relation.inner], [relation.fused], "Fuse"
    if isinstance(relation, Rebase):
        return [relation.parent], [relation.rebased], "Rebase"
    if isinstance(relation, Singleton):
        return [], [relation.iter], "Singleton"
    raise ValueError(f"a relation of loops of an unknown kind: {relation}")
