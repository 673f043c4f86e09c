"""Drawings of TE schedules: the data flow, the tree of stages, and where loops come from."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from ..ir import Array
from ..te import Schedule
from ..te.schedule import Fuse, Rebase, Singleton, Split
from ..tir import IterVar
from ._dot import Digraph

__all__ = [
    "ObjectManager",
    "create_graph",
    "dom_path_to_string",
    "dump_graph",
    "dump_json",
    "extract_dom_for_viz",
    "get_itervar_label_color",
    "get_itervar_type_info",
    "get_or_create_dot_id",
    "get_port_id",
    "insert_dot_id",
    "itervar_label",
    "leaf_itervars",
    "legend_dot",
    "legend_label",
    "linebrk",
    "stage_label",
    "viz_dataflow_graph",
    "viz_itervar_relationship_graph",
    "viz_schedule_tree",
]

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


# ---- a schedule as JSON, and the labels that drawings of it are made of -------------------------------------------


class ObjectManager:
    """Where stages, tensors and loops of a schedule stand: paths of names and numbers."""

    def __init__(self, sch: Schedule) -> None:
        self.paths: list[tuple[Any, list[Any]]] = [(sch, [sch])]
        for i, stage in enumerate(sch.stages):
            self.paths.append((stage, ["stage", i]))
            for j, loop in enumerate(stage.all_iter_vars):
                self.paths.append((loop, ["stage", i, "itervar", j]))
            for j in range(stage.op.num_outputs):
                self.paths.append((stage.op.output(j), ["stage", i, "tensor", j]))

    def get_dom_path(self, obj: Any) -> list[Any] | None:
        """The path of an object; None for nothing."""
        if obj is None:
            return None
        for known, path in self.paths:
            if known is obj or (hasattr(known, "same_as") and known.same_as(obj)):
                return path
        raise KeyError(f"{obj} is no part of the schedule")


def get_or_create_dot_id(obj: Any, prefix: str = "", assert_on_missing: bool = False) -> str:
    """The name of a part in a drawing: kept in it as "dot_id"."""
    if "dot_id" not in obj:
        if assert_on_missing:
            raise AssertionError("the part has no name in the drawing")
        obj["dot_id"] = f"{prefix}_{id(obj):x}"
    return str(obj["dot_id"])


def get_port_id(is_input: bool, index: int) -> str:
    """The name of a port of a stage."""
    return f"{'I' if is_input else 'O'}_{index}"


def get_itervar_type_info(iter_type: int) -> dict[str, str]:
    """Name and colour of a kind of loop."""
    name, color = _KINDS.get(int(iter_type), ("kOpaque", "#ABB2B9"))
    return {"name": name, "color": color}


def get_itervar_label_color(itervar: dict[str, Any], iv_type: dict[str, str]) -> tuple[str, str]:
    """What is written of a loop, and on which colour."""
    extent = itervar.get("properties", {}).get("range", "")
    return f"{itervar['name']} {linebrk(str(extent), 30)}".strip(), iv_type["color"]


def linebrk(s: str, n: int) -> str:
    """A text broken after every n characters."""
    return "<br/>".join(_escape(s[i : i + n]) for i in range(0, len(s), n))


def dom_path_to_string(dom_path: Any, prefix: str = "") -> str:
    """A path as one name."""
    return "_".join([prefix, *map(str, dom_path)] if prefix else map(str, dom_path))


def create_graph(name: str = "", rankdir: str = "BT") -> Digraph:
    """An empty graph; `rankdir` is the direction in which it grows."""
    return Digraph(name, {"rankdir": rankdir})


def dump_graph(dot_string: str, show_svg: bool = True, dot_file_path: str = "", output_dot_string: bool = False) -> Any:
    """Writes, shows or gives the text of a graph."""

    class _Text:
        source = dot_string

    return _finish(_Text(), show_svg, dot_file_path, output_dot_string)  # type: ignore[arg-type]


def leaf_itervars(stage: dict[str, Any]) -> list[Any]:
    """The loops of a stage that run, outermost first."""
    return [stage["all_itervars"][index] for index in stage["leaf_itervars"]]


def legend_label() -> str:
    """The table of kinds of loops."""
    rows = "".join(f'<TR><TD BGCOLOR="{color}">{name}</TD></TR>' for name, color in _KINDS.values())
    return f"<<TABLE>{rows}</TABLE>>"


def legend_dot(g: Digraph) -> None:
    """Adds that table to a graph."""
    g.node("legend", legend_label(), shape="none")


def itervar_label(itervar: dict[str, Any], index: int, index_color: str, label: str) -> str:
    """A row of a table of loops: its number and what is written of it."""
    color = get_itervar_type_info(itervar["itervar_type"])["color"]
    port = itervar.get("dot_id", f"itervar_{index}")
    return f'<TR><TD BGCOLOR="{index_color}">{index}</TD><TD BGCOLOR="{color}" PORT="{port}">{label}</TD></TR>'


def stage_label(stage: dict[str, Any]) -> str:
    """What is written of a stage."""
    return f"{_escape(stage['name'])}<br/>Scope: {stage['scope']}"


def extract_dom_for_viz(sch: Schedule, need_range: bool = True) -> dict[str, Any]:
    """A schedule as dicts and lists: stages with their loops, relations, tensors and where they are computed."""
    schedule = sch.normalize() if need_range else sch
    manager = ObjectManager(schedule)
    stages = []
    for stage in schedule.stages:
        loops = list(stage.all_iter_vars)
        position = dict(enumerate(loops))

        def index_of(loop: Any, among: dict[int, Any] = position) -> int:
            return next(i for i, known in among.items() if known.same_as(loop))

        relations = []
        for relation in stage.relations:
            ends = _ends(relation)
            relations.append(
                {"type": f"{ends[2]}_Relation", "from": [*map(index_of, ends[0])], "to": [*map(index_of, ends[1])]}
            )
        stages.append(
            {
                "type": "stage",
                "name": str(stage.op.name),
                "scope": str(stage.scope or "global"),
                "op": type(stage.op).__name__,
                "is_output": bool(stage.is_output),
                "attach_type": int(stage.attach_type),
                "attaching_to": manager.get_dom_path(stage.attach_ivar) if stage.attach_ivar is not None else None,
                "all_itervars": [
                    {
                        "type": "itervar",
                        "name": str(loop.var.name),
                        "itervar_type": int(loop.iter_type),
                        "properties": {"range": str(loop.dom)} if need_range and loop.dom is not None else {},
                    }
                    for loop in loops
                ],
                "leaf_itervars": [index_of(loop) for loop in stage.leaf_iter_vars],
                "relations": relations,
                "input_tensors": [str(tensor.op.name) for tensor in stage.op.input_tensors],
                "output_tensors": [
                    {"shape": str(stage.op.output(i).shape), "dtype": str(stage.op.output(i).dtype)}
                    for i in range(stage.op.num_outputs)
                ],
            }
        )
    return {"type": "schedule", "stages": stages}


def dump_json(sch: Schedule, need_range: bool) -> str:
    """The same as JSON."""
    return json.dumps(extract_dom_for_viz(sch, need_range), indent=2)


def insert_dot_id(sch: dict[str, Any]) -> None:
    """Names all parts of an extracted schedule for a drawing."""
    for i, stage in enumerate(sch["stages"]):
        stage["dot_id"] = f"Stage_{i}"
        for j, loop in enumerate(stage["all_itervars"]):
            loop["dot_id"] = f"Stage_{i}_IterVar_{j}"
        for j, tensor in enumerate(stage["output_tensors"]):
            tensor["dot_id"] = f"Tensor_{i}_{j}"
