"""What a module allocates."""

from .analysis import extract_buffer_info
