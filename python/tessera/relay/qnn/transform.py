"""Passes over quantised operators."""

from __future__ import annotations

from ...ir.transform import Pass
from .. import transform

__all__ = ["CanonicalizeOps", "Legalize"]


def CanonicalizeOps() -> Pass:
    """Writes quantised operators as plain ones, as their slot FTVMQnnCanonicalize says."""
    return transform.Legalize("FTVMQnnCanonicalize")


def Legalize() -> Pass:
    """Replaces quantised operators by those that the target has instructions for (slot FTVMQnnLegalize)."""
    return transform.Legalize("FTVMQnnLegalize")
