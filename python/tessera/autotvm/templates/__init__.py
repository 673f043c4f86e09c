"""Templates of operators of models for CPUs, under v0.10's names: their spaces, and a TE schedule for each configuration."""

from . import conv2d, matmul

__all__ = ["conv2d", "matmul"]
