"""Changes of a model that change its parameters too."""

from . import bsr_dense, simplify_fc_transpose
