"""Graphs launched at once on a CUDA device."""
