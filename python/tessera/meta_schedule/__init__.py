"""Workloads that programs over TE and TIR share; search over schedules is not there yet."""
