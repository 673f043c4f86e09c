"""What a search uses where nothing is given."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from ..contrib.boosted_trees import find_xgboost
from ..ir import IRModule
from ..target import Target
from ..tir import PrimFunc
from .builder import Builder, LocalBuilder
from .cost_model import CostModel, RandomModel, XGBModel
from .database import Database, JSONDatabase
from .feature_extractor import PerStoreFeature
from .measure_callback import AddToDatabase, EchoStatistics, MeasureCallback, RemoveBuildArtifact, UpdateCostModel
from .mutator import MutateComputeLocation, MutateParallel, MutateThreadBinding, MutateTileSize, MutateUnroll, Mutator
from .postproc import (
    DisallowDynamicLoop,
    Postproc,
    RewriteCooperativeFetch,
    RewriteLayout,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
    RewriteUnboundBlock,
    VerifyGPUCode,
)
from .runner import LocalRunner, Runner
from .schedule_rule import (
    AddRFactor,
    AutoBind,
    AutoInline,
    CrossThreadReduction,
    MultiLevelTiling,
    MultiLevelTilingWideVector,
    ParallelizeVectorizeUnroll,
    RandomComputeLocation,
    ReuseType,
    ScheduleRule,
)
from .space_generator import PostOrderApply, SpaceGenerator

__all__ = [
    "builder",
    "callbacks",
    "cost_model",
    "database",
    "mod",
    "mutator_probs",
    "postproc",
    "random_model",
    "runner",
    "schedule_rules",
    "space_generator",
    "target",
]

logger = logging.getLogger(__name__)


def mod(mod: PrimFunc | IRModule) -> IRModule:
    """A module with one function, "main"."""
    if isinstance(mod, PrimFunc):
        mod = mod.with_attr("global_symbol", "main")
        mod = mod.with_attr("tir.noalias", True)
        mod = IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise TypeError(f"Expected `mod` to be PrimFunc or IRModule, but gets: {mod}")
    variables = list(mod.get_global_vars())
    if len(variables) != 1:
        raise ValueError(f"a workload is a module of one function, not of {len(variables)}")
    if variables[0].name_hint != "main":
        mod = IRModule({"main": mod[variables[0]]})
    return mod


def target(target: str | Target) -> Target:
    """A target."""
    if isinstance(target, str):
        target = Target(target)
    if not isinstance(target, Target):
        raise TypeError(f"Expected `target` to be str or Target, but gets: {target}")
    return target


def _expect(given: Any, kind: type, name: str) -> Any:
    if not isinstance(given, kind):
        raise TypeError(f"Expected `{name}` to be {kind.__name__}, but gets: {given}")
    return given


def builder(builder: Builder | None) -> Builder:
    """A builder: LocalBuilder."""
    return _expect(LocalBuilder() if builder is None else builder, Builder, "builder")


def runner(runner: Runner | None) -> Runner:
    """A runner: LocalRunner."""
    return _expect(LocalRunner() if runner is None else runner, Runner, "runner")


def database(database: Database | None, path: str) -> Database:
    """A database: JSON files in the folder `path`."""
    if database is None:
        os.makedirs(path, exist_ok=True)
        database = JSONDatabase(work_dir=path)
    return _expect(database, Database, "database")


def callbacks(measure_callbacks: list[MeasureCallback] | None) -> list[MeasureCallback]:
    """Callbacks: results go into the database and to the cost model."""
    if measure_callbacks is None:
        return [AddToDatabase(), RemoveBuildArtifact(), EchoStatistics(), UpdateCostModel()]
    if not isinstance(measure_callbacks, (list, tuple)):
        raise TypeError(f"Expected `measure_callbacks` to be List[MeasureCallback], but gets: {measure_callbacks}")
    for i, callback in enumerate(measure_callbacks):
        if not isinstance(callback, MeasureCallback):
            raise TypeError(
                f"Expected `measure_callbacks` to be List[MeasureCallback], but measure_callbacks[{i}] is: {callback}"
            )
    return list(measure_callbacks)


def cost_model(cost_model: CostModel | None, adpative_training: bool | None) -> CostModel:
    """A cost model: XGBModel; without xgboost a random one, and it says so."""
    if cost_model is not None:
        return _expect(cost_model, CostModel, "cost_model")
    if find_xgboost() is None:
        logger.warning("xgboost is not installed: candidates are scored at random")
        return random_model()
    learned: Any = XGBModel(
        extractor=PerStoreFeature(), adaptive_training=adpative_training is None or adpative_training
    )
    return learned


def random_model() -> CostModel:
    """A cost model that knows nothing."""
    model: Any = RandomModel()
    return model


def space_generator(space_generator: Callable[[], SpaceGenerator] | SpaceGenerator | None) -> SpaceGenerator:
    """A design space: PostOrderApply."""
    if space_generator is None:
        return PostOrderApply()
    if callable(space_generator):
        space_generator = space_generator()
    if not isinstance(space_generator, SpaceGenerator):
        raise TypeError(f"Expected `space_generator` to return SpaceGenerator, but gets: {space_generator}")
    return space_generator


def _kind(target: Target) -> str:
    kinds = {"llvm": "llvm", "c": "llvm", "cuda": "cuda", "rocm": "cuda", "vulkan": "cuda", "hexagon": "hexagon"}
    name = str(target.kind.name)
    if name not in kinds:
        raise ValueError(f"Unsupported target: {target}")
    return kinds[name]


def schedule_rules(sch_rules: Callable[[], list[ScheduleRule]] | None, target: Target) -> list[ScheduleRule]:
    """The schedule rules of a target."""
    if callable(sch_rules):
        return sch_rules()
    if sch_rules is not None:
        raise TypeError(f"Expected `sch_rules` to be None or callable, but gets: {sch_rules}")
    return _RULES[_kind(target)]()


def postproc(postproc: Callable[[], list[Postproc]] | None, target: Target) -> list[Postproc]:
    """The postprocessors of a target."""
    if callable(postproc):
        return postproc()
    if postproc is not None:
        raise TypeError(f"Expected `postproc` to be None or callable, but gets: {postproc}")
    if _kind(target) == "cuda":
        return [
            DisallowDynamicLoop(),
            RewriteCooperativeFetch(),
            RewriteUnboundBlock(),
            RewriteParallelVectorizeUnroll(),
            RewriteReductionBlock(),
            VerifyGPUCode(),
        ]
    return [DisallowDynamicLoop(), RewriteParallelVectorizeUnroll(), RewriteReductionBlock(), RewriteLayout()]


def mutator_probs(mutator_probs: Callable[[], dict[Mutator, float]] | None, target: Target) -> dict[Mutator, float]:
    """The mutators of a target, and how likely each is."""
    if callable(mutator_probs):
        return mutator_probs()
    if mutator_probs is not None:
        raise TypeError(f"Expected `mutator_probs` to be None or callable, but gets: {mutator_probs}")
    if _kind(target) == "cuda":
        return {MutateTileSize(): 0.9, MutateUnroll(): 0.08, MutateThreadBinding(): 0.02}
    return {
        MutateTileSize(): 0.9,
        MutateComputeLocation(): 0.05,
        MutateUnroll(): 0.03,
        MutateParallel(max_jobs_per_core=16): 0.02,
    }


def _inline_simple() -> AutoInline:
    return AutoInline(
        into_producer=False,
        into_consumer=True,
        inline_const_tensor=True,
        disallow_if_then_else=True,
        require_injective=True,
        require_ordered=True,
        disallow_op=["tir.exp"],
    )


def _llvm_rules() -> list[ScheduleRule]:
    return [
        _inline_simple(),
        AddRFactor(max_jobs_per_core=16, max_innermost_factor=64),
        MultiLevelTiling(
            structure="SSRSRS",
            max_innermost_factor=64,
            reuse_write=ReuseType(req="may", levels=[1, 2], scope="global"),
        ),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16, max_vectorize_extent=64, unroll_max_steps=[0, 16, 64, 512], unroll_explicit=True
        ),
        RandomComputeLocation(),
    ]


def _hexagon_rules() -> list[ScheduleRule]:
    return [
        _inline_simple(),
        MultiLevelTilingWideVector(
            structure="SRSRS",
            vector_length_in_bits=1024,
            max_innermost_factor=128,
            reuse_write=ReuseType(req="may", levels=[1, 2], scope="global"),
        ),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=16, max_vectorize_extent=128, unroll_max_steps=[0, 16, 64, 512], unroll_explicit=True
        ),
    ]


def _cuda_rules() -> list[ScheduleRule]:
    return [
        MultiLevelTiling(
            structure="SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=[1, 2, 3, 4, 8, 16],
            reuse_read=ReuseType(req="must", levels=[4], scope="shared"),
            reuse_write=ReuseType(req="must", levels=[3], scope="local"),
        ),
        AutoInline(
            into_producer=True,
            into_consumer=True,
            inline_const_tensor=True,
            disallow_if_then_else=False,
            require_injective=False,
            require_ordered=False,
        ),
        CrossThreadReduction(thread_extents=[4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(
            max_jobs_per_core=-1,
            max_vectorize_extent=-1,
            unroll_max_steps=[0, 16, 64, 512, 1024],
            unroll_explicit=True,
        ),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]


_RULES: dict[str, Callable[[], list[ScheduleRule]]] = {
    "llvm": _llvm_rules,
    "cuda": _cuda_rules,
    "hexagon": _hexagon_rules,
}
