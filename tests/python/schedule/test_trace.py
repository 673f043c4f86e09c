"""Traces: what is noted, printed, saved, done again, changed and left out."""

import json

import pytest
import tessera as tvm
from tessera import te, tir
from tessera.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV, Trace


def matmul(n=128):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def fresh():
    return tir.Schedule(te.create_prim_func(matmul()), seed=3)


@pytest.fixture
def sch():
    sch = fresh()
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.get_consumers(block)
    tiles = sch.sample_perfect_tile(i, 2, decision=[8, 16])
    outer, inner = sch.split(i, tiles)
    sch.reorder(outer, j, k, inner)
    note = sch.sample_categorical([1, 2, 4], [0.2, 0.3, 0.5], decision=2)
    sch.annotate(block, "note", note)
    sch.enter_postproc()
    sch.vectorize(inner)
    return sch


LINES = [
    'b0 = sch.get_block(name="C", func_name="main")',
    "l1, l2, l3 = sch.get_loops(block=b0)",
    "v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[8, 16])",
    "l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True)",
    "sch.reorder(l6, l2, l3, l7)",
    "v8 = sch.sample_categorical(candidates=[1, 2, 4], probs=[0.20000000000000001, 0.29999999999999999, 0.5], "
    "decision=2)",
    'sch.annotate(block_or_loop=b0, ann_key="note", ann_val=v8)',
]


def test_a_trace_prints_as_python_that_does_the_same(sch):
    lines = sch.trace.simplified(remove_postproc=True).as_python()
    assert lines == LINES
    again = fresh()
    exec("\n".join(sch.trace.as_python()), {"sch": again})
    assert tvm.ir.structural_equal(again.mod, sch.mod)
    assert str(sch.trace).startswith("# from tvm import tir\ndef apply_trace(sch: tir.Schedule) -> None:\n  b0 = sch.")
    assert str(fresh().trace).endswith("-> None:\n  pass")


def test_instructions_that_nothing_uses_are_left_out(sch):
    kinds = [inst.kind.name for inst in sch.trace.simplified(remove_postproc=False).insts]
    assert "GetConsumers" not in kinds and kinds[-2:] == ["EnterPostproc", "Vectorize"]
    assert all(not InstructionKind.get(kind).is_pure for kind in ("Split", "EnterPostproc", "Annotate"))
    assert InstructionKind.get("SampleCategorical").is_pure


def test_post_processing_can_be_left_out(sch):
    assert len(sch.trace.as_python()) == 10
    assert len(sch.trace.as_python(remove_postproc=True)) == 8
    assert len(sch.trace.as_json(remove_postproc=True)[0]) == 8
    again = fresh()
    sch.trace.apply_to_schedule(again, remove_postproc=True)
    assert "vectorized" in sch.mod.script() and "vectorized" not in again.mod.script()


def test_json_goes_through_text_and_does_the_same(sch):
    text = json.dumps(sch.trace.as_json())
    again = fresh()
    Trace.apply_json_to_schedule(json.loads(text), again)
    assert tvm.ir.structural_equal(again.mod, sch.mod)
    assert again.trace.as_json() == sch.trace.as_json()


def test_a_changed_decision_is_followed(sch):
    inst = next(inst for inst in sch.trace.insts if inst.kind.name == "SamplePerfectTile")
    other = sch.trace.with_decision(inst, [32, 4], remove_postproc=True)
    again = fresh()
    other.apply_to_schedule(again, remove_postproc=False)
    assert "T.grid(32, 128, 128, 4)" in again.mod.script()
    assert list(sch.trace.get_decision(inst)) == [8, 16]


def test_a_provider_decides_while_a_trace_is_applied(sch):
    asked = []

    def provide(inst, inputs, attrs, decision):
        asked.append(inst.kind.name)
        return [64, 2] if inst.kind.name == "SamplePerfectTile" else decision

    again = fresh()
    sch.trace.apply_to_schedule(again, remove_postproc=True, decision_provider=provide)
    assert asked[:4] == ["GetBlock", "GetLoops", "GetConsumers", "SamplePerfectTile"]
    assert "T.grid(64, 128, 128, 2)" in again.mod.script()


def test_a_trace_is_made_by_hand_and_taken_apart(sch):
    source = sch.trace
    trace = Trace([], {})
    for inst in list(source.insts)[:4]:
        trace.append(inst, source.get_decision(inst))
    popped = trace.pop()
    assert popped.kind.name == "SamplePerfectTile" and trace.get_decision(popped) is None
    assert len(trace.insts) == 3
    made = Instruction(InstructionKind.get("GetBlock"), [], ["C", "main"], [tir.schedule.BlockRV()])
    assert Trace([made], {}).as_python() == [LINES[0]]
    assert Trace([], {}).pop() is None
    with pytest.raises(ValueError, match='no schedule instruction "Nonsense"'):
        InstructionKind.get("Nonsense")


def test_copies_go_on_separately(sch):
    other = sch.copy()
    before = sch.mod.script()
    other.annotate(other.get_block("C"), "more", 1)
    assert sch.mod.script() == before
    assert len(other.trace.insts) == len(sch.trace.insts) + 2


def test_a_module_that_was_asked_for_stays_as_it_was():
    sch = fresh()
    held = sch.mod
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert "i0_0" not in held.script() and "i0_0" in sch.mod.script()


@pytest.mark.parametrize(
    "json_trace, message",
    [
        ([1, 2], "expected a list"),
        ([[["GetBlock", [], ["C", "main"]]], []], "an instruction is"),
        ([[["Parallel", ["l9"], [], []]], []], "uses l9 before it is defined"),
        ([[["Nonsense", [], [], []]], []], "there is no schedule instruction"),
        ([[["GetBlock", [], ["C", "main"], ["b0", "b1"]]], []], "gave 1 results"),
    ],
)
def test_broken_json_says_what_is_broken(json_trace, message):
    with pytest.raises(ValueError, match=message):
        Trace.apply_json_to_schedule(json_trace, fresh())


def test_texts_with_quotation_marks_come_back_as_they_were():
    sch = fresh()
    sch.annotate(sch.get_block("C"), "note", 'say "so"\\')
    again = fresh()
    Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert again.get(again.get_block("C")).annotations["note"] == 'say "so"\\'


def test_an_instruction_of_no_trace_names_nothing():
    loops = Instruction(InstructionKind.get("GetLoops"), [BlockRV()], [], [LoopRV(), LoopRV()])
    assert str(loops) == "_, _ = sch.get_loops(block=_)"
    block = Instruction(InstructionKind.get("GetBlock"), [], ["C", "main"], [BlockRV()])
    assert str(block) == '_ = sch.get_block(name="C", func_name="main")'


def test_the_reference_of_a_loop_is_of_its_own_schedule():
    sch = fresh()
    loop = sch.get_loops("C")[0]
    assert sch.get_sref(loop).stmt.same_as(sch.get(loop))
    with pytest.raises(IndexError, match="found in another schedule"):
        fresh().get_sref(loop)
