"""The state of a schedule as users look at it, and how errors are shown."""

import pytest
import tessera as tvm
from tessera import te, tir
from tessera.tir.schedule import DepKind, ScheduleState


def matmul_add(n=16):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, te.compute((n, n), lambda i, j: c[i, j] + 1.0, name="D")])


def test_references_follow_their_statements():
    sch = tir.Schedule(matmul_add())
    loop = sch.get_loops("C")[0]
    sref = sch.get_sref(loop)
    assert sref.stmt.loop_var.name == "i0" and sref.seq_index == 0
    assert sref.parent.stmt.name_hint == "root" and sref.parent.parent is None
    block = sch.get_sref(sch.get_block("C"))
    assert block.same_as(sch.get_sref(sch.get(sch.get_block("C"))))
    outer, _ = sch.split(loop, [None, 4])
    assert sref.stmt is None
    assert block.stmt.name_hint == "C" and sch.get(block).same_as(block.stmt)
    assert sch.get_sref(outer).stmt.loop_var.name == "i0_0"
    assert sch.get_sref(sch.get_loops("D")[0]).seq_index == 1


def test_a_scope_knows_its_dependencies():
    sch = tir.Schedule(matmul_add())
    c, d = (sch.get_sref(sch.get_block(name)) for name in "CD")
    scope = sch.state.get_block_scope(sch.get_sref(sch.get_block("root")))
    (edge,) = scope.get_deps_by_src(c)
    assert edge.dst.same_as(d) and edge.kind == DepKind.RAW
    assert [e.src.stmt.name_hint for e in scope.get_deps_by_dst(d)] == ["C"]
    assert len(scope.get_deps_by_dst(c)) == 0
    sch.decompose_reduction(sch.get_block("C"), sch.get_loops("C")[2])
    scope = sch.state.get_block_scope(sch.get_sref(sch.get_block("root")))
    update = sch.get_sref(sch.get_block("C_update"))
    assert sorted(e.kind for e in scope.get_deps_by_dst(update)) == [DepKind.RAW, DepKind.WAW]


def test_flags_tell_what_is_known_of_a_block():
    state = ScheduleState(matmul_add(), debug_mask="all")
    assert state.debug_mask == 3
    root = state.mod["main"].body.block
    sref = state.get_sref(root)
    assert state._get_cached_flags(sref) == (True, True, True)
    assert state.get_sref(tvm.tir.Evaluate(0)) is None


def test_a_statement_is_replaced_by_hand():
    sch = tir.Schedule(matmul_add())
    sref = sch.get_sref(sch.get_loops("D")[0])
    loop = sref.stmt
    fast = tir.For(loop.loop_var, loop.min, loop.extent, tir.ForKind.PARALLEL, loop.body)
    sch.state.replace(sref, fast)
    assert "for i0 in T.parallel(16):" in sch.mod.script()
    assert sref.stmt.same_as(fast)


REJECTED = """\
        for i0, i1 in T.grid(16, 16):
            # tir.For#0
            for i2 in T.serial(16):
            ^^^^^^^^^^^^^^^^^^^^^^^
"""


def test_an_error_underlines_the_loop_in_the_program():
    sch = tir.Schedule(matmul_add())
    before = sch.mod.script()
    with pytest.raises(tir.ScheduleError) as caught:
        sch.parallel(sch.get_loops("C")[2])
    text = str(caught.value)
    assert "An error occurred in the schedule primitive 'parallel'." in text
    assert REJECTED in text
    assert text.rstrip().splitlines()[-1].startswith("Error message: ")
    assert sch.mod.script() == before


def test_an_error_underlines_the_block():
    sch = tir.Schedule(matmul_add())
    with pytest.raises(tir.ScheduleError) as caught:
        sch.compute_inline("D")
    lines = str(caught.value).splitlines()
    at = next(i for i, line in enumerate(lines) if "^" in line)
    assert [line.strip() for line in lines[at - 2 : at + 1]] == [
        "# tir.Block#0",
        'with T.block("D"):',
        "^" * len('with T.block("D"):'),
    ]


def test_an_error_about_the_root_block_underlines_it():
    sch = tir.Schedule(matmul_add())
    with pytest.raises(tir.ScheduleError) as caught:
        sch.compute_inline(sch.get_block("root"))
    assert '        # tir.Block#0\n        with T.block("root"):\n        ^^^^^^^^^^^^^^^^^^^^^\n' in str(caught.value)


def test_a_module_of_several_functions_needs_one_to_work_on():
    matmul = matmul_add()
    sch = tir.Schedule(tvm.IRModule({"a": matmul, "b": matmul}))
    with pytest.raises(ValueError, match="does not know which function to be working on"):
        sch.get_block("C")
    sch.work_on("b")
    sch.get_block("C")


@pytest.mark.parametrize("level", ["fast", "none"])
def test_an_error_says_as_much_as_it_is_asked_to(level):
    sch = tir.Schedule(matmul_add(), error_render_level=level)
    with pytest.raises(tir.ScheduleError) as caught:
        sch.compute_inline("D")
    text = str(caught.value)
    assert "T.block" not in text
    assert ("is an output block" in text) == (level == "fast")
    assert ("(not rendered)" in text) == (level == "none")


def test_wrong_options_are_rejected():
    with pytest.raises(ValueError, match="error_render_level"):
        tir.Schedule(matmul_add(), error_render_level="loud")
    with pytest.raises(ValueError, match="debug_mask"):
        tir.Schedule(matmul_add(), debug_mask="some")
    with pytest.raises(TypeError, match="a PrimFunc or an IRModule"):
        tir.Schedule("main")


def test_blocks_are_found_by_name_and_outputs_by_what_they_write():
    sch = tir.Schedule(matmul_add())
    analysis = tir.schedule.analysis
    assert analysis.has_block(sch, "C") and not analysis.has_block(sch, "E")
    assert analysis.is_output_block(sch, sch.get_block("D"))
    assert not analysis.is_output_block(sch, "C")
