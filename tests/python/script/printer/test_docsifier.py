"""Documents from objects, by functions for their types; variables and frames."""

import pytest
from tessera import script, tir
from tessera.runtime import ObjectPath
from tessera.script.printer.doc import ExprDoc, IdDoc, LiteralDoc, OperationDoc, OperationKind, StmtBlockDoc
from tessera.script.printer.frame import MetadataFrame, VarDefFrame
from tessera.script.printer.ir_docsifier import IRDocsifier, RootNodeContainer
from tessera.script.printer.var_table import VarTable

ROOT = ObjectPath.root()


def test_names_are_unique_while_they_are_in_scope():
    table, frame = VarTable(), VarDefFrame()
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    with frame:
        assert [table.define(v, "x", ROOT, frame).name for v in (x, y)] == ["x", "x_1"]
        found = table.get_var_doc(y, ROOT.attr("y"))
        assert found.name == "x_1" and found.source_paths == [ROOT.attr("y")] and x in table
        with pytest.raises(ValueError, match="defined already"):
            table.define(x, "x", ROOT, frame)
    assert x not in table and table.get_var_doc(x, ROOT) is None
    with frame:
        assert table.define(y, "x", ROOT, frame).name == "x"


def test_a_document_may_stand_for_a_variable():
    table, frame = VarTable(), MetadataFrame()
    x = tir.Var("x", "int32")
    table.define_by_doc(x, lambda: IdDoc("y").attr("z"), frame)
    assert table.get_var_doc(x, ROOT).name == "z"


def test_frames_call_back_in_reverse_order():
    frame, calls = MetadataFrame(), []
    with frame:
        frame.add_exit_callback(lambda: calls.append(1))
        frame.add_exit_callback(lambda: calls.append(2))
    assert calls == [2, 1]


class Leaf:
    pass


class Special(Leaf):
    pass


def test_objects_are_translated_by_their_type_and_language(monkeypatch):
    monkeypatch.setattr(IRDocsifier, "_dispatch", {})
    IRDocsifier.set_dispatch(Leaf, lambda obj, path, docsifier: IdDoc("leaf"))
    IRDocsifier.set_dispatch(Leaf, lambda obj, path, docsifier: IdDoc(docsifier.ir_prefix["mine"]), "mine")
    docsifier = IRDocsifier({"mine": "M"})
    assert docsifier.as_doc(Leaf(), ROOT).name == "leaf"
    with docsifier.dispatch_token("mine"):
        found = docsifier.as_doc(Special(), ROOT.attr("a"))
    assert found.name == "M" and found.source_paths == [ROOT.attr("a")]
    with pytest.raises(ValueError, match="no function is set for int in any language"):
        docsifier.as_doc(1, ROOT)


def test_frames_of_a_translation():
    docsifier = IRDocsifier({})
    outer, inner = VarDefFrame(), MetadataFrame()
    with docsifier.frame(outer), docsifier.frame(inner):
        assert docsifier.get_frame(VarDefFrame) is outer and docsifier.get_frame(MetadataFrame) is inner
    assert docsifier.get_frame(VarDefFrame) is None


def test_an_object_becomes_text(monkeypatch):
    monkeypatch.setattr(IRDocsifier, "_dispatch", {})
    monkeypatch.setattr(IRDocsifier, "_root_dispatch", {})
    import tessera.script.printer as printer

    def root(container, docsifier):
        assert isinstance(container, RootNodeContainer)
        return docsifier.as_doc(container.root_node, ROOT)

    def add(node, path, docsifier):
        parts = [docsifier.as_doc(node.a, path.attr("a")), docsifier.as_doc(node.b, path.attr("b"))]
        return OperationDoc(OperationKind.Add, parts)

    IRDocsifier.set_root_dispatch("tir", root)
    IRDocsifier.set_dispatch(tir.Add, add, "tir")
    IRDocsifier.set_dispatch(tir.Var, lambda node, path, docsifier: IdDoc(node.name), "tir")
    IRDocsifier.set_dispatch(tir.IntImm, lambda node, path, docsifier: LiteralDoc(node.value), "tir")
    expr = tir.Var("x", "int32") + 1
    assert printer.script(expr, "tir", {"tir": "T"}) == "x + 1\n"
    assert printer.script(expr, "tir", {}, path_to_underline=ROOT.attr("b")) == "x + 1\n    ^\n"
    with pytest.raises(ValueError, match="no function is set for the roots of relay"):
        printer.script(expr, "relay", {})


def test_expressions_are_not_iterated_by_accident():
    with pytest.raises(RuntimeError, match="cannot be used as iterable"):
        list(IdDoc("x"))
    with pytest.raises(TypeError, match="Unsupported type"):
        LiteralDoc(ROOT)
    assert (
        isinstance(IdDoc("x")[1:2].indices[0].start, int)
        and issubclass(IdDoc, ExprDoc)
        and StmtBlockDoc([]).stmts == []
    )
    assert script.printer is not None
