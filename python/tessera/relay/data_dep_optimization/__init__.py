"""Changes of a model that change its parameters too."""

from . import bsr_conv2d, bsr_dense, simplify_fc_transpose
