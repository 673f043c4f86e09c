"""Passes over loop programs, by name."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from ...ir.transform import Pass
from . import _ffi_api
from .function_pass import prim_func_pass

__all__ = [
    "AnnotateEntryFunc",
    "Apply",
    "ApplyLayoutTransforms",
    "BF16CastElimination",
    "BF16Legalize",
    "BF16Promote",
    "BF16TypeLowering",
    "BindTarget",
    "CoProcSync",
    "CombineContextCall",
    "CommonSubexprElimTIR",
    "CompactBufferAllocation",
    "ConvertBlocksToOpaque",
    "ConvertForLoopsToSerial",
    "DecorateDeviceScope",
    "ExtractPrimFuncConstants",
    "Filter",
    "FlattenBuffer",
    "HoistCheckedIndex",
    "HoistExpression",
    "HoistIfThenElse",
    "HoistedConditionals",
    "HoistedLetBindings",
    "InferFragment",
    "InjectCopyIntrin",
    "InjectDoubleBuffer",
    "InjectPTXAsyncCopy",
    "InjectPrefetch",
    "InjectRollingBuffer",
    "InjectSoftwarePipeline",
    "InjectVirtualThread",
    "InstrumentBoundCheckers",
    "LegalizePackedCalls",
    "LiftAttrScope",
    "LoopPartition",
    "LowerCrossThreadReduction",
    "LowerCustomDatatypes",
    "LowerDeviceStorageAccessInfo",
    "LowerInitBlock",
    "LowerIntrin",
    "LowerMatchBuffer",
    "LowerOpaqueBlock",
    "LowerTVMBuiltin",
    "LowerThreadAllreduce",
    "LowerWarpMemory",
    "MakePackedAPI",
    "MakeUnpackedAPI",
    "ManifestSharedMemoryLocalStage",
    "MergeDynamicSharedMemoryAllocations",
    "NarrowDataType",
    "PlanAndUpdateBufferAllocationLocation",
    "RemoveAssume",
    "RemoveNoOp",
    "RemoveStoreUndef",
    "RemoveWeightLayoutRewriteBlock",
    "RenormalizeSplitPattern",
    "RewriteUnsafeSelect",
    "Simplify",
    "SkipAssert",
    "SplitHostDevice",
    "StorageFlatten",
    "StorageRewrite",
    "TextureFlatten",
    "ThreadSync",
    "UnifyThreadBinding",
    "UnrollLoop",
    "VectorizeLoop",
    "VerifyMemory",
]


def Apply(ftransform: Callable[[Any], Any]) -> Pass:
    """Replaces each function by `ftransform(func)`."""

    def transform(func: Any, mod: Any, ctx: Any) -> Any:
        return ftransform(func)

    return prim_func_pass(transform, opt_level=0, name="Apply")


def CommonSubexprElimTIR(enable_cse_tir: bool = True, identify_equiv_terms: bool = False) -> Pass:
    """Computes an expression that occurs more than once only once."""
    return _ffi_api.CommonSubexprElimTIR(enable_cse_tir, identify_equiv_terms)


def HoistIfThenElse(variant: str | None = None) -> Pass:
    """Moves conditions out of the loops they do not depend on; variant "basic" stays inside kernels."""
    if variant == "basic":
        return _ffi_api.HoistIfThenElseBasic()
    if variant is not None:
        raise ValueError(f'wrong variant of HoistIfThenElse, {variant}; it may be "basic" or None')
    return _ffi_api.HoistIfThenElse()


def HoistCheckedIndex() -> Pass:
    """Checks indices from data once, before the loops that they do not change in."""
    return _ffi_api.HoistCheckedIndex()


def BindTarget(target: Any) -> Pass:
    """Gives every function a target."""
    return _ffi_api.BindTarget(target)


def Filter(fcond: Any) -> Pass:
    """Keeps the functions for which `fcond(func)` is true."""
    return _ffi_api.Filter(fcond)


def AnnotateEntryFunc() -> Pass:
    """Marks the only function of a module as its entry."""
    return _ffi_api.AnnotateEntryFunc()


def InjectPrefetch() -> Pass:
    """Turns Prefetch statements into prefetch instructions."""
    return _ffi_api.InjectPrefetch()


def StorageFlatten(cache_line_size: int, create_bound_attribute: bool = False) -> Pass:
    """Makes memory of functions from TE schedules flat."""
    return _ffi_api.StorageFlatten(cache_line_size, create_bound_attribute)


def ApplyLayoutTransforms() -> Pass:
    """Gives buffers the layouts of the function's attribute "layout_transform_map"."""
    return _ffi_api.ApplyLayoutTransforms()


def FlattenBuffer() -> Pass:
    """Makes memory of all other functions flat."""
    return _ffi_api.FlattenBuffer()


def TextureFlatten() -> Pass:
    """Makes texture memory two-dimensional."""
    return _ffi_api.TextureFlatten()


def LoopPartition() -> Pass:
    """Cuts loops where their `likely` guards begin and end to hold."""
    return _ffi_api.LoopPartition()


def UnrollLoop() -> Pass:
    """Unrolls loops marked so, and small ones as the config says."""
    return _ffi_api.UnrollLoop()


def VectorizeLoop(enable_vectorize: bool = True) -> Pass:
    """Turns vectorized loops into vector operations, or into serial loops."""
    return _ffi_api.VectorizeLoop(enable_vectorize)


def ConvertForLoopsToSerial() -> Pass:
    """Turns parallel loops into serial ones."""
    return _ffi_api.ConvertForLoopsToSerial()


def InjectVirtualThread() -> Pass:
    """Replaces virtual threads by copies of what differs between them."""
    return _ffi_api.InjectVirtualThread()


def InjectDoubleBuffer() -> Pass:
    """Gives double-buffered memory its two halves."""
    return _ffi_api.InjectDoubleBuffer()


def StorageRewrite() -> Pass:
    """Moves allocations outward and lets them share memory."""
    return _ffi_api.StorageRewrite()


def MergeDynamicSharedMemoryAllocations() -> Pass:
    """Joins allocations of dynamic shared memory."""
    return _ffi_api.MergeDynamicSharedMemoryAllocations()


def CompactBufferAllocation() -> Pass:
    """Shrinks buffers of blocks to the region in use."""
    return _ffi_api.CompactBufferAllocation()


def PlanAndUpdateBufferAllocationLocation() -> Pass:
    """Moves buffers of blocks to the innermost place that holds all their uses."""
    return _ffi_api.PlanAndUpdateBufferAllocationLocation()


def ManifestSharedMemoryLocalStage() -> Pass:
    """Adds local stages for shared memory."""
    return _ffi_api.ManifestSharedMemoryLocalStage()


def InjectSoftwarePipeline() -> Pass:
    """Overlaps the stages of annotated loops."""
    return _ffi_api.InjectSoftwarePipeline()


def Simplify() -> Pass:
    """Simplifies with what is known of loops, branches and lets."""
    return _ffi_api.Simplify()


def RemoveNoOp() -> Pass:
    """Removes statements without effect."""
    return _ffi_api.RemoveNoOp()


def RewriteUnsafeSelect() -> Pass:
    """Makes a Select lazy where a value is not safe to evaluate."""
    return _ffi_api.RewriteUnsafeSelect()


def RenormalizeSplitPattern() -> Pass:
    """Brings quotients of split indices to one form."""
    return _ffi_api.RenormalizeSplitPattern()


def BF16Legalize() -> Pass:
    """Computes bfloat16 in float32 and keeps it as 16-bit words."""
    return _ffi_api.BF16Legalize()


def BF16Promote() -> Pass:
    """Computes bfloat16 in float32."""
    return _ffi_api.BF16Promote()


def BF16CastElimination() -> Pass:
    """Drops casts to bfloat16 and back."""
    return _ffi_api.BF16CastElimination()


def BF16TypeLowering() -> Pass:
    """Keeps bfloat16 as 16-bit words."""
    return _ffi_api.BF16TypeLowering()


def NarrowDataType(target_bits: int) -> Pass:
    """Does index arithmetic that fits in fewer bits in those."""
    return _ffi_api.NarrowDataType(target_bits)


def LowerCustomDatatypes() -> Pass:
    """Lowers custom data types."""
    return _ffi_api.LowerCustomDatatypes()


def LowerInitBlock() -> Pass:
    """Turns the init of reduction blocks into a condition."""
    return _ffi_api.LowerInitBlock()


def LowerCrossThreadReduction() -> Pass:
    """Lowers reductions whose loops are bound to threads."""
    return _ffi_api.LowerCrossThreadReduction()


def ConvertBlocksToOpaque() -> Pass:
    """Puts the values of block variables in."""
    return _ffi_api.ConvertBlocksToOpaque()


def LowerMatchBuffer() -> Pass:
    """Replaces views of regions by their source."""
    return _ffi_api.LowerMatchBuffer()


def LowerOpaqueBlock() -> Pass:
    """Turns blocks into plain statements."""
    return _ffi_api.LowerOpaqueBlock()


def UnifyThreadBinding() -> Pass:
    """Makes loops bound to one thread one launch dimension."""
    return _ffi_api.UnifyThreadBinding()


def MakePackedAPI(num_unpacked_params: int = -1) -> Pass:
    """Makes functions callable through the packed convention, arguments checked."""
    return _ffi_api.MakePackedAPI(num_unpacked_params)


def MakeUnpackedAPI() -> Pass:
    """Makes functions callable as C functions."""
    return _ffi_api.MakeUnpackedAPI()


def LegalizePackedCalls() -> Pass:
    """Wraps pointers that packed calls pass to functions of the module into tensors."""
    return _ffi_api.LegalizePackedCalls()


def SplitHostDevice() -> Pass:
    """Splits kernels off host functions."""
    return _ffi_api.SplitHostDevice()


def DecorateDeviceScope() -> Pass:
    """Marks a function's body as device code."""
    return _ffi_api.DecorateDeviceScope()


def SkipAssert() -> Pass:
    """Removes checks."""
    return _ffi_api.SkipAssert()


def ThreadSync(storage_scope: str) -> Pass:
    """Puts barriers between accesses of memory that threads share."""
    return _ffi_api.ThreadSync(storage_scope)


def LowerThreadAllreduce() -> Pass:
    """Lowers reductions across threads."""
    return _ffi_api.LowerThreadAllreduce()


def LowerWarpMemory() -> Pass:
    """Lowers memory shared by a warp to shuffles."""
    return _ffi_api.LowerWarpMemory()


def InferFragment() -> Pass:
    """Infers the shapes of matrix fragments."""
    return _ffi_api.InferFragment()


def LowerTVMBuiltin() -> Pass:
    """Lays out arguments of packed calls; takes large temporaries from the workspace."""
    return _ffi_api.LowerTVMBuiltin()


def LowerIntrin() -> Pass:
    """Replaces calls by what the target has."""
    return _ffi_api.LowerIntrin()


def LowerDeviceStorageAccessInfo() -> Pass:
    """Turns access pointers into addresses."""
    return _ffi_api.LowerDeviceStorageAccessInfo()


def CoProcSync() -> Pass:
    """Synchronises a coprocessor with the processor."""
    return _ffi_api.CoProcSync()


def CombineContextCall() -> Pass:
    """Makes equal context calls once."""
    return _ffi_api.CombineContextCall()


def InstrumentBoundCheckers() -> Pass:
    """Checks indices of stores where bounds were noted."""
    return _ffi_api.InstrumentBoundCheckers()


def VerifyMemory() -> Pass:
    """Refuses functions that touch device memory from the host."""
    return _ffi_api.VerifyMemory()


def ExtractPrimFuncConstants() -> Pass:
    """Moves the constants of functions into the module's attribute "constants"."""
    return _ffi_api.ExtractPrimFuncConstants()


class HoistedConditionals(enum.Flag):
    """Which conditions HoistExpression moves, for its config "hoisted_conditionals"."""

    Never = 0
    IfElseStmt = 1
    IfElseExpr = 2
    BooleanExpression = 4
    UsingBlockVar = 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(enum.Flag):
    """Which bindings HoistExpression moves, for its config "hoisted_let_bindings"."""

    Never = 0
    RequiredByCondition = 1
    LetStmt = 2
    LetExpr = 4
    All = RequiredByCondition | LetStmt | LetExpr


def HoistExpression() -> Pass:
    """Moves conditions and bindings out of the loops they do not depend on, as the config says."""
    return _ffi_api.HoistExpression()


def InjectPTXAsyncCopy() -> Pass:
    """Turns copies from global to shared memory in an async_scope into cp.async instructions."""
    return _ffi_api.InjectPTXAsyncCopy()


def LiftAttrScope(attr_key: str) -> Pass:
    """Says an attribute that neighbours share once, and as far out as it holds."""
    return _ffi_api.LiftAttrScope(attr_key)


def RemoveAssume() -> Pass:
    """Drops assumptions, which only passes need."""
    return _ffi_api.RemoveAssume()


def RemoveStoreUndef() -> Pass:
    """Drops stores of undefined values."""
    return _ffi_api.RemoveStoreUndef()


def RemoveWeightLayoutRewriteBlock() -> Pass:
    """Drops blocks that lay out weights, which callers then pass laid out."""
    return _ffi_api.RemoveWeightLayoutRewriteBlock()


def InjectCopyIntrin(pragma_key: str, fintrin: Callable[..., Any]) -> Pass:
    """Replaces copy nests under `pragma_key` by ``fintrin(src, dst, pad_before, pad_after, pad_value)``."""
    return _ffi_api.InjectCopyIntrin(pragma_key, fintrin)


def InjectRollingBuffer() -> Pass:
    """Keeps in rolling buffers what the next iteration needs again. Runs in phase 0, before memory is flat."""
    return _ffi_api.InjectRollingBuffer()
