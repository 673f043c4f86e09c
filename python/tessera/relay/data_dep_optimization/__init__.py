"""Changes of a model that change its parameters too."""

from . import simplify_fc_transpose
