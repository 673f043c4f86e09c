"""Strategies: which implementations an operator has on a target.

    @relay.op.strategy.dense_strategy.register("cpu")
    def mine(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(wrap_compute_dense(my_dense), wrap_topi_schedule(my_schedule), name="mine")
        return strategy

The defaults are the core's: an operator's own compute, scheduled by the rule of its target.
"""

from . import generic, wrap
from .generic import *
from .wrap import *

__all__ = ["generic", "wrap", *generic.__all__, *wrap.__all__]
