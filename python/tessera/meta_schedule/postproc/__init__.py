"""Postprocessors: what is done to schedules whose decisions are made."""

from .postproc import Postproc, PyPostproc
from .postprocs import (
    DisallowDynamicLoop,
    RewriteCooperativeFetch,
    RewriteLayout,
    RewriteParallelVectorizeUnroll,
    RewriteReductionBlock,
    RewriteTensorize,
    RewriteUnboundBlock,
    VerifyGPUCode,
)

__all__ = [
    "DisallowDynamicLoop",
    "Postproc",
    "PyPostproc",
    "RewriteCooperativeFetch",
    "RewriteLayout",
    "RewriteParallelVectorizeUnroll",
    "RewriteReductionBlock",
    "RewriteTensorize",
    "RewriteUnboundBlock",
    "VerifyGPUCode",
]
