"""Passes over quantised operators."""

from __future__ import annotations

from ...ir.transform import Pass, Sequential
from .. import transform

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> Pass:
    """Writes quantised operators as plain ones, as their slot FTVMQnnCanonicalize says."""
    return transform.Legalize("FTVMQnnCanonicalize")


def Legalize() -> Pass:
    """Replaces quantised operators by those that the target has instructions for.

    Rules of users come first (slot FTVMQnnLegalize). `relay.build` needs only those: its kernels take all types of integers.
    """
    rules = [transform.Legalize("FTVMQnnLegalize"), transform.Legalize("TQnnTargetForm")]
    return Sequential(rules, name="qnn.Legalize")
