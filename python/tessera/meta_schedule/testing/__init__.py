"""Workloads to try schedules on."""
