"""Quantised operators: the passes that turn them into plain ones."""

from . import transform

__all__ = ["transform"]
