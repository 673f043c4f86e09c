"""Quantised operators, and the passes that turn them into plain ones."""

from . import op, transform

__all__ = ["op", "transform"]
