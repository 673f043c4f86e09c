"""Design spaces: which schedules rules make of blocks, and with which decisions."""

# ruff: noqa: F821 - names inside scripts

import pytest
import tessera as tvm
from tessera import meta_schedule as ms
from tessera import te, tir
from tessera.meta_schedule.testing import te_workload
from tessera.meta_schedule.testing.schedule_rule import get_rules
from tessera.meta_schedule.testing.space_generation import check_sketches, check_trace
from tessera.script import tir as T
from tessera.target import Target

CPU = "llvm -num-cores=4"
GPU = "cuda -max_threads_per_block=1024 -max_shared_memory_per_block=49152 -thread_warp_size=32"


def workload(name):
    return ms.default_config.mod(te_workload.create_te_workload(name, 0))


def matmul(n=128):
    return ms.default_config.mod(te.create_prim_func(te_workload.matmul(n, n, n)))


def space(mod, target=CPU, rules="default"):
    context = ms.TuneContext(
        mod=mod, target=Target(target), space_generator=ms.space_generator.PostOrderApply(), sch_rules=rules
    )
    return context.generate_design_space()


def decisions(sch):
    return [str(inst.kind.name) for inst in sch.trace.insts if inst in sch.trace.decisions]


# How many schedules v0.10 makes of its workloads, and how many decisions each has.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("C1D", [7, 7, 7]),
        ("C2D", [9, 9, 9]),
        ("CAP", [12, 12, 12]),
        ("DEP", [8, 8, 8]),
        ("GMM", [5, 5, 5]),
        ("T2D", [9, 9, 9]),
        ("NRM", [4, 4, 2]),
        ("SFM", [8, 8, 6, 8, 8, 6, 6, 6, 4]),
        ("TBG", [8, 8, 8]),
    ],
)
def test_a_space_of_cpus_has_as_many_schedules_and_decisions_as_in_v0_10(name, expected):
    assert sorted(len(decisions(sch)) for sch in space(workload(name))) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "expected"), [("C2D", [10]), ("GMM", [7]), ("NRM", [1, 2]), ("SFM", [3, 3, 4, 4]), ("CBR", [10])]
)
def test_a_space_of_gpus_has_as_many_schedules_and_decisions_as_in_v0_10(name, expected):
    assert sorted(len(decisions(sch)) for sch in space(workload(name), GPU)) == expected


TILED = [
    'b0 = sch.get_block(name="C", func_name="main")',
    'sch.annotate(block_or_loop=b0, ann_key="meta_schedule.tiling_structure", ann_val="SSRSRS")',
    "l1, l2, l3 = sch.get_loops(block=b0)",
    "v4, v5, v6, v7 = sch.sample_perfect_tile(loop=l1, n=4, max_innermost_factor=64, decision={0})",
    "l8, l9, l10, l11 = sch.split(loop=l1, factors=[v4, v5, v6, v7], preserve_unit_iters=True)",
    "v12, v13, v14, v15 = sch.sample_perfect_tile(loop=l2, n=4, max_innermost_factor=64, decision={1})",
    "l16, l17, l18, l19 = sch.split(loop=l2, factors=[v12, v13, v14, v15], preserve_unit_iters=True)",
    "v20, v21 = sch.sample_perfect_tile(loop=l3, n=2, max_innermost_factor=64, decision={2})",
    "l22, l23 = sch.split(loop=l3, factors=[v20, v21], preserve_unit_iters=True)",
    "sch.reorder(l8, l16, l9, l17, l22, l10, l18, l23, l11, l19)",
]


def test_multi_level_tiling_writes_the_trace_of_v0_10():
    found = space(matmul(), rules=get_rules("llvm", ms.schedule_rule.MultiLevelTiling))
    assert len(found) == 3
    chosen = [found[0].trace.decisions[inst] for inst in found[0].trace.insts if inst in found[0].trace.decisions]
    lines = [line.format(*([int(v) for v in each] for each in chosen)) for line in TILED]
    cached = [
        'b24 = sch.cache_write(block=b0, write_buffer_index=0, storage_scope="global")',
        "sch.reverse_compute_at(block=b24, loop={}, preserve_unit_loops=True, index=-1)",
    ]
    expected = [lines] + [[*lines, cached[0], cached[1].format(loop)] for loop in ("l16", "l17")]
    check_trace(found, expected)


def test_sketches_of_a_matmul_and_its_relu():
    @T.prim_func
    def inside(
        A: T.Buffer[(128, 128), "float32"], B: T.Buffer[(128, 128), "float32"], out: T.Buffer[(128, 128), "float32"]
    ) -> None:
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        with T.block("root"):
            T.reads()
            T.writes()
            C = T.alloc_buffer([128, 128], dtype="float32")
            for i0, j0, i1, j1 in T.grid(4, 8, 2, 1):
                for k0, i2, j2, k1, i3, j3 in T.grid(16, 4, 4, 8, 4, 4):
                    with T.block("C"):
                        i = T.axis.spatial(128, i0 * 32 + i1 * 16 + i2 * 4 + i3)
                        j = T.axis.spatial(128, j0 * 16 + j1 * 16 + j2 * 4 + j3)
                        k = T.axis.reduce(128, k0 * 8 + k1)
                        T.reads(A[i, k], B[k, j])
                        T.writes(C[i, j])
                        T.block_attr({"meta_schedule.tiling_structure": "SSRSRS"})
                        with T.init():
                            C[i, j] = T.float32(0)
                        C[i, j] = C[i, j] + A[i, k] * B[k, j]
                for ax0, ax1 in T.grid(16, 16):
                    with T.block("compute"):
                        i = T.axis.spatial(128, i0 * 32 + i1 * 16 + ax0)
                        j = T.axis.spatial(128, j0 * 16 + ax1)
                        T.reads(C[i, j])
                        T.writes(out[i, j])
                        out[i, j] = T.max(C[i, j], T.float32(0))

    mod = ms.default_config.mod(te.create_prim_func(te_workload.matmul_relu(128, 128, 128)))
    found = space(mod, rules=get_rules("llvm", ms.schedule_rule.MultiLevelTiling))
    assert len(found) == 3
    chosen = [
        ("SamplePerfectTile", [4, 2, 4, 4]),
        ("SamplePerfectTile", [8, 1, 4, 4]),
        ("SamplePerfectTile", [16, 8]),
    ]
    # The consumer of the matmul is its copy: it is moved to the second level of tiles in one of the three.
    for sketch in found:
        try:
            check_sketches(mod, [sketch], [inside], [chosen])
            return
        except AssertionError:
            continue
    raise AssertionError("no sketch computes the relu inside the second level of tiles")


def test_a_sketch_that_is_not_there_is_an_error():
    mod = matmul()
    with pytest.raises(AssertionError, match="Expected sketch #0 doesn't exist"):
        check_sketches(mod, space(mod)[:1], [mod], [[("SampleCategorical", 0)]])


def test_wide_vectors_fill_the_innermost_spatial_loop():
    rule = ms.schedule_rule.MultiLevelTilingWideVector(structure="SRSRS", vector_length_in_bits=1024)
    (found,) = space(matmul(), "hexagon", [rule])
    loops = found.get_loops(found.get_block("C"))
    assert [int(found.get(loop).extent) for loop in loops][-1] == 32


def test_an_intrinsic_does_the_innermost_work():
    from tessera.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN

    mod = ms.default_config.mod(
        te.create_prim_func(te_workload.matmul(64, 64, 64, in_dtype="float32", out_dtype="float32"))
    )
    rule = ms.schedule_rule.MultiLevelTilingWithIntrin(VNNI_DOT_16x4_INTRIN, structure="SSRSRS")
    (same,) = space(mod, rules=[rule])
    assert tvm.ir.structural_equal(same.mod, mod)  # a matmul of floats is not what the intrinsic does


def test_matmuls_of_fp16_take_tensor_cores():
    from tessera.tir.tensor_intrin.cuda import get_wmma_intrin_group

    group = get_wmma_intrin_group(store_scope="shared", in_dtype="float16", out_dtype="float32", trans_b=False)
    rule = ms.schedule_rule.MultiLevelTilingTensorCore(
        [group],
        structure="SSSRRSRS",
        tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
        max_innermost_factor=4,
        vector_load_lens=[1, 2, 3, 4, 8, 16],
        reuse_read=ms.schedule_rule.ReuseType("must", [4], "shared"),
        reuse_write=ms.schedule_rule.ReuseType("must", [2], "shared"),
    )
    tensors = te_workload.matmul(128, 128, 128, in_dtype="float16", out_dtype="float32")
    mod = ms.default_config.mod(te.create_prim_func(tensors))
    (found,) = space(mod, GPU, [rule])
    scopes = {line.split('scope="')[1].split('"')[0] for line in found.mod.script().splitlines() if 'scope="' in line}
    assert scopes == {"shared", "wmma.accumulator", "wmma.matrix_a", "wmma.matrix_b"}
    found.enter_postproc()
    for postproc in (
        ms.postproc.RewriteCooperativeFetch(),
        ms.postproc.RewriteReductionBlock(),
        ms.postproc.RewriteTensorize(),
    ):
        assert postproc.apply(found)
    text = found.mod.script()
    assert all(f"T.{name}(" in text for name in ("tvm_load_matrix_sync", "tvm_mma_sync", "tvm_store_matrix_sync"))
    floats = ms.default_config.mod(te.create_prim_func(te_workload.matmul(128, 128, 128)))
    (same,) = space(floats, GPU, [rule])
    assert tvm.ir.structural_equal(same.mod, floats)  # there is no intrinsic for these


def test_the_root_is_noted_what_runs_in_parallel_and_in_vectors():
    for sch in space(matmul(), rules=get_rules("llvm", ms.schedule_rule.ParallelizeVectorizeUnroll)):
        notes = sch.get(sch.get_block("root")).annotations
        assert int(notes["meta_schedule.vectorize"]) == 64
        assert int(notes["meta_schedule.parallel"]) == 64  # 16 jobs on each of 4 cores


def test_threads_share_a_reduction():
    found = space(workload("NRM"), GPU, get_rules("cuda", ms.schedule_rule.CrossThreadReduction))
    kinds = {str(inst.kind.name) for inst in found[-1].trace.insts} | {
        str(inst.kind.name) for inst in found[0].trace.insts
    }
    assert {"Bind", "SampleCategorical"} <= kinds


def test_a_block_filter_leaves_blocks_alone():
    mod = matmul()
    generator = ms.space_generator.PostOrderApply(f_block_filter=lambda block: str(block.name_hint) != "C")
    context = ms.TuneContext(mod=mod, target=Target(CPU), space_generator=generator, sch_rules="default")
    (sch,) = context.generate_design_space()
    assert len(sch.get_loops(sch.get_block("C"))) == 3


def test_a_rule_in_python():
    @ms.derived_object
    class SplitInHalves(ms.schedule_rule.PyScheduleRule):
        def __init__(self):
            self.applied = 0

        def _initialize_with_tune_context(self, context):
            self.target = context.target

        def apply(self, sch, block):
            if str(sch.get(block).name_hint) != "C":
                return [sch]
            self.applied += 1
            other = sch.copy()
            sch.split(sch.get_loops(block)[0], [2, None])
            return [sch, other]

        def clone(self):
            return SplitInHalves()

    rule = SplitInHalves()
    assert isinstance(rule, ms.schedule_rule.ScheduleRule)
    found = space(matmul(), rules=[rule])
    assert sorted(len(sch.get_loops(sch.get_block("C"))) for sch in found) == [3, 4]
    assert rule.applied == 1
    assert str(rule.target.kind.name) == "llvm"


def test_what_a_rule_in_python_raises_arrives():
    @ms.derived_object
    class Broken(ms.schedule_rule.PyScheduleRule):
        def _initialize_with_tune_context(self, context):
            pass

        def apply(self, sch, block):
            raise KeyError("nothing here")

    with pytest.raises(KeyError, match="nothing here"):
        space(matmul(), rules=[Broken()])


def test_a_block_may_ask_for_its_own_rule():
    @tvm.register_func("tests.meta_schedule.own_rule", override=True)
    def own_rule(sch, block):
        sch.split(sch.get_loops(block)[0], [4, None])
        return [sch]

    sch = tir.Schedule(matmul())
    sch.annotate(sch.get_block("C"), "schedule_rule", "tests.meta_schedule.own_rule")
    (found,) = space(sch.mod, rules=[])
    assert len(found.get_loops(found.get_block("C"))) == 4


def test_schedules_of_a_function_and_unions_of_spaces():
    def halves(sch):
        sch.split(sch.get_loops(sch.get_block("C"))[0], [2, None])

    union = ms.space_generator.SpaceGeneratorUnion(
        [ms.space_generator.ScheduleFn(halves), ms.space_generator.ScheduleFn(lambda sch: [sch, sch.copy()])]
    )
    context = ms.TuneContext(mod=matmul(), target=Target(CPU), space_generator=union, sch_rules=[])
    assert [len(s.get_loops(s.get_block("C"))) for s in context.generate_design_space()] == [4, 3, 3]


def test_two_blocks_of_one_name_are_rejected():
    @T.prim_func
    def twice(A: T.Buffer[(8,), "float32"], B: T.Buffer[(8,), "float32"]) -> None:
        for i in range(8):
            with T.block("same"):
                v = T.axis.spatial(8, i)
                A[v] = T.float32(1)
        for i in range(8):
            with T.block("same"):
                v = T.axis.spatial(8, i)
                B[v] = T.float32(2)

    with pytest.raises(ValueError, match='two blocks of main have the name "same"'):
        space(ms.default_config.mod(twice))


def test_settings_that_mean_nothing_are_rejected():
    with pytest.raises(ValueError, match="letters S and R"):
        ms.schedule_rule.MultiLevelTiling(structure="SXR")
    with pytest.raises(ValueError, match=r"lies in \[1, 6\], 9 does not"):
        ms.schedule_rule.MultiLevelTiling(
            structure="SSRSRS", reuse_write=ms.schedule_rule.ReuseType("must", [9], "global")
        )
    with pytest.raises(ValueError, match="max_threads_per_block"):
        ms.TuneContext(mod=matmul(), target=Target("llvm"), sch_rules=[ms.schedule_rule.AutoBind()])
