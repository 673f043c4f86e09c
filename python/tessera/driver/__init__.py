"""From programs to code that runs."""

from .build_module import build, lower
