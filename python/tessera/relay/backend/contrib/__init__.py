"""Interfaces for accelerators of others."""
