"""Passes over Relay programs."""

from .transform import *  # noqa: F403
