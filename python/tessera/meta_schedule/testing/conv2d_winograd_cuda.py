"""A Winograd convolution as a function of blocks, for rules to schedule."""

from __future__ import annotations

from ._winograd import winograd_conv2d

__all__ = ["conv2d_winograd_cuda"]

#: 3x3 over an image of 56x56 in 64 channels, padding 1, channels last; the weight is transformed already.
conv2d_winograd_cuda = winograd_conv2d(56, 56, 64, 64)
