"""Printing of any IR as Python text: objects become documents, and documents text."""

from . import doc, doc_printer, frame, ir_docsifier, var_table
from .entry import script
