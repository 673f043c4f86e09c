"""Templates of operators of models, under v0.10's names: their spaces, and a TE schedule for each configuration."""

from . import conv2d, cpu_blocks, cpu_int8, gpu, gpu_winograd, matmul

__all__ = ["conv2d", "cpu_blocks", "cpu_int8", "gpu", "gpu_winograd", "matmul"]
