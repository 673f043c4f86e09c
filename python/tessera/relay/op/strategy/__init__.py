"""Strategies: which implementations an operator has on a target.

    @relay.op.strategy.dense_strategy.register("cpu")
    def mine(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(wrap_compute_dense(my_dense), wrap_topi_schedule(my_schedule), name="mine")
        return strategy

The defaults are the core's: an operator's own compute, scheduled by the rule of its target.
"""

from . import adreno, arm_cpu, bifrost, cuda, generic, hls, intel_graphics, mali, rocm, wrap, x86
from .generic import *
from .wrap import *

_TARGETS = ["adreno", "arm_cpu", "bifrost", "cuda", "hls", "intel_graphics", "mali", "rocm", "x86"]
__all__ = ["generic", "wrap", *_TARGETS, *generic.__all__, *wrap.__all__]
