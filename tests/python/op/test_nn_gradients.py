"""Gradients of the nn, image and vision operators against finite differences."""

import pytest
import tessera
from gradient_cases_image import IMAGE_CASES, ROIS
from gradient_cases_nn import NN_CASES
from gradient_checks import check_gradient
from nn_checks import tensor, variables
from tessera import relay
from tessera.relay import image, nn
from tessera.relay.testing import check_grad

CASES = {**NN_CASES, **IMAGE_CASES}


@pytest.mark.parametrize("name", CASES)
def test_gradient(name):
    build, *arrays = CASES[name]()
    check_gradient(build, *arrays)


def test_regions_are_taken_as_they_are_where_they_say_the_number_of_samples():
    build = lambda x, r: relay.vision.roi_align(x, r, (2, 2), 0.6, -1, layout="NHWC")
    check_gradient(build, tensor(2, 5, 6, 2), ROIS, fixed=[1])


def test_a_gradient_that_is_not_there_is_said_so():
    x, grid = relay.var("x", shape=(1, 1, relay.Any(), 2)), relay.var("grid", shape=(1, 2, 4, 4))
    body = relay.transform.InferType()(tessera.IRModule.from_expr(image.grid_sample(x, grid)))["main"].body
    with pytest.raises(NotImplementedError, match="a gradient needs extent 2"):
        body.op.get_attr("FPrimalGradient")(body, relay.var("g", shape=(1, 1, 4, 4)))


def test_gradient_of_a_network():
    arrays = [tensor(*shape, dtype="float64") for shape in ((1, 2, 4, 4), (3, 2, 3, 3), (4, 12))]
    x, w, d = params = variables(arrays)
    features = nn.batch_flatten(nn.max_pool2d(nn.relu(nn.conv2d(x, w, padding=1)), 2, 2))
    body = relay.multiply(nn.log_softmax(nn.dense(features, d)), relay.const(tensor(1, 4), "float64"))
    for mode in ("first_order", "higher_order"):
        check_grad(relay.Function(params, body), arrays, eps=1e-6, atol=1e-4, rtol=1e-4, mode=mode)
