"""Calls of the operators of images and regions, each with arrays that its gradient is compared at."""

import numpy as np
from gradient_checks import positions
from nn_checks import tensor
from tessera import relay
from tessera.relay import image, nn

BOXES = np.array([[0.13, 0.21, 0.83, 0.97], [0.71, 0.11, 0.24, 0.52], [-0.33, 0.42, 0.61, 1.27]])
# the number of an image first, which is cut to an integer
ROIS = np.array([[1.4, 1.3, 0.7, 9.1, 8.3], [0.4, -3.1, 2.3, 6.2, 7.4], [1.4, 4.2, 5.1, 4.9, 5.3]])
IMAGE_CASES = {
    "resize1d": lambda: (lambda x: image.resize1d(x, 7), tensor(1, 2, 4)),
    "resize2d": lambda: (lambda x: image.resize2d(x, (5, 2)), tensor(1, 2, 3, 4)),
    "resize2d_last": lambda: (
        lambda x: image.resize2d(x, (5, 6), layout="NHWC", coordinate_transformation_mode="align_corners"),
        tensor(1, 3, 4, 2),
    ),
    "resize2d_cubic": lambda: (
        lambda x: image.resize2d(x, (5, 7), method="cubic", cubic_exclude=1),
        tensor(1, 1, 4, 5),
    ),
    "resize2d_nearest": lambda: (
        lambda x: image.resize2d(
            x, (5, 3), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"
        ),
        tensor(1, 1, 4, 5),
    ),
    "resize2d_part": lambda: (
        lambda x: image.resize2d(
            x,
            (3, 4),
            roi=(0.1, -0.2, 1.3, 0.8),
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=5.0,
        ),
        tensor(1, 1, 4, 5),
    ),
    "resize3d": lambda: (lambda x: image.resize3d(x, (3, 2, 4)), tensor(1, 1, 2, 3, 3)),
    "upsampling_bilinear": lambda: (lambda x: nn.upsampling(x, 2, 1.5, method="bilinear"), tensor(1, 2, 2, 4)),
    "upsampling_corners": lambda: (
        lambda x: nn.upsampling(x, 2, 2, method="bilinear", align_corners=True),
        tensor(1, 1, 1, 3),
    ),
    "upsampling3d": lambda: (lambda x: nn.upsampling3d(x, 2, 1, 2, method="trilinear"), tensor(1, 1, 2, 2, 3)),
    "upsampling": lambda: (lambda x: nn.upsampling(x, 2, 3), tensor(1, 2, 2, 3)),
    "affine_grid": lambda: (lambda m: image.affine_grid(m, (3, 4)), tensor(2, 2, 3)),
    "grid_sample": lambda: (image.grid_sample, tensor(2, 3, 4, 5), positions(2, 2, 3, 3)),
    "grid_sample_volume": lambda: (
        lambda x, g: image.grid_sample(x, g, layout="NCDHW", align_corners=False),
        tensor(1, 2, 3, 2, 3),
        positions(1, 3, 2, 2, 2),
    ),
    "grid_sample_border": lambda: (
        lambda x, g: image.grid_sample(x, g, padding_mode="border"),
        tensor(1, 1, 4, 5),
        positions(1, 2, 3, 4, size=1.5),
    ),
    "grid_sample_reflection": lambda: (
        lambda x, g: image.grid_sample(x, g, padding_mode="reflection", align_corners=False),
        tensor(1, 1, 4, 5),
        positions(1, 2, 3, 4, size=2.5),
    ),
    "grid_sample_nearest": lambda: (
        lambda x, g: image.grid_sample(x, g, method="nearest"),
        tensor(1, 2, 4, 5),
        positions(1, 2, 3, 3, size=1.2),
    ),
    "grid_sample_bicubic": lambda: (
        lambda x, g: image.grid_sample(x, g, method="bicubic"),
        tensor(1, 1, 5, 5),
        positions(1, 2, 2, 3),
    ),
    "grid_sample_bicubic_border": lambda: (
        lambda x, g: image.grid_sample(x, g, method="bicubic", padding_mode="reflection"),
        tensor(1, 1, 5, 5),
        positions(1, 2, 2, 3, size=1.3),
    ),
    "crop_and_resize": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (3, 2), "NCHW"),
        tensor(2, 2, 4, 5),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "crop_and_resize_to_one": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (1, 4), layout="NHWC", extrapolation_value=3.0),
        tensor(2, 4, 5, 2),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "crop_and_resize_nearest": lambda: (
        lambda x, b, i: image.crop_and_resize(x, b, i, (3, 2), "NCHW", method="nearest_neighbor"),
        tensor(2, 2, 4, 5),
        BOXES,
        np.array([1, 0, 1], "int32"),
    ),
    "dilation2d": lambda: (
        lambda x, w: image.dilation2d(x, w, strides=[1, 2], padding=[1, 1, 0, 1], dilations=[2, 1]),
        tensor(1, 2, 5, 5),
        tensor(2, 2, 3),
    ),
    "dilation2d_last": lambda: (
        lambda x, w: image.dilation2d(x, w, data_layout="NHWC", kernel_layout="HWI"),
        tensor(1, 4, 4, 2),
        tensor(2, 2, 2),
    ),
    "roi_align": lambda: (
        lambda x, r: relay.vision.roi_align(x, r, (2, 3), 0.5, 2),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
    "roi_align_max": lambda: (
        lambda x, r: relay.vision.roi_align(x, r, (2, 3), 0.5, 2, mode="max"),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
    "roi_pool": lambda: (
        lambda x, r: relay.vision.roi_pool(x, r, (2, 3), 0.5),
        tensor(2, 2, 5, 6),
        ROIS,
    ),
}
