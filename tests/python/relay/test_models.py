"""The networks of relay.testing, compiled at every level and run on every executor, against NumPy."""

import numpy as np
import pytest
import tessera
import tessera.relay.testing as models
from references import REFERENCES, evaluate
from references_nn import REFERENCES as NN_REFERENCES
from tessera import relay
from tessera.contrib import graph_executor

# Small images: NumPy's convolutions are slow.
NETWORKS = {
    "mlp": lambda: models.mlp.get_workload(2),
    "dqn": lambda: models.dqn.get_workload(1, image_shape=(4, 44, 44)),
    "dcgan": lambda: models.dcgan.get_workload(1, ngf=4),
    "synthetic": lambda: models.synthetic.get_workload(),
    "lstm": lambda: models.lstm.get_workload(2, 16),
    "resnet": lambda: models.resnet.get_workload(num_layers=18, num_classes=10, image_shape=(3, 32, 32)),
    "resnet of small images": lambda: models.resnet.get_workload(num_layers=8, num_classes=10, image_shape=(3, 16, 16)),
    "resnet, channels last": lambda: models.resnet.get_workload(
        num_layers=18, num_classes=10, image_shape=(32, 32, 3), layout="NHWC"
    ),
    "resnet_3d": lambda: models.resnet_3d.get_workload(num_layers=18, num_classes=10, image_shape=(3, 4, 32, 32)),
    "vgg": lambda: models.vgg.get_workload(1, num_classes=10, image_shape=(3, 32, 32), batch_norm=True),
    "mobilenet": lambda: models.mobilenet.get_workload(num_classes=10, image_shape=(3, 32, 32)),
    "squeezenet 1.0": lambda: models.squeezenet.get_workload(num_classes=10, image_shape=(3, 48, 48)),
    "squeezenet 1.1": lambda: models.squeezenet.get_workload(num_classes=10, version="1.1", image_shape=(3, 48, 48)),
    "densenet": lambda: models.densenet.get_workload(batch_size=1, classes=10, image_shape=(3, 32, 32)),
    "inception_v3": lambda: models.inception_v3.get_workload(num_classes=10, image_shape=(3, 96, 96)),
}
QUICK = ("mlp", "synthetic", "lstm", "resnet of small images", "mobilenet")


def seeded(params):
    """Weights of other values than zero and one, so that every layer counts."""
    rng = np.random.default_rng(3)
    out = {}
    for name, value in params.items():
        shape = value.shape
        if name.endswith("var"):
            array = rng.uniform(0.5, 1.5, shape)
        elif name.endswith(("gamma", "beta", "mean", "bias")):
            array = rng.uniform(-0.5, 0.5, shape) + (1 if name.endswith("gamma") else 0)
        else:
            array = value.numpy() + rng.uniform(-0.01, 0.01, shape)
        out[name] = tessera.nd.array(array.astype("float32"))
    return out


def expected(mod, params, data):
    """The answer of NumPy."""
    main = relay.transform.ToGraphNormalForm()(relay.transform.InferType()(mod))
    main = relay.transform._ffi_api.InlineClosures()(main)["main"]
    values = {"data": data, **{name: value.numpy() for name, value in params.items()}}
    return evaluate(main.body, values, {**REFERENCES, **NN_REFERENCES})


def answers(mod, params, data, opt_level):
    with tessera.transform.PassContext(opt_level=opt_level):
        graph = graph_executor.GraphModule(relay.build(mod, target="llvm", params=params)["default"](tessera.cpu()))
        graph.run(data=data)
        yield "graph", graph.get_output(0).numpy()
        machine = relay.create_executor("vm", mod, tessera.cpu(), "llvm", params)
        yield "vm", machine.evaluate()(data).numpy()


def check(name, levels):
    mod, params = NETWORKS[name]()
    params = seeded(params)
    shape = next(p for p in mod["main"].params if p.name_hint == "data").checked_type.concrete_shape
    data = np.random.default_rng(1).uniform(-1, 1, shape).astype("float32")
    want = expected(mod, params, data)
    for level in levels:
        for executor, got in answers(mod, params, data, level):
            np.testing.assert_allclose(
                got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max(), err_msg=f"{executor} at level {level}"
            )


@pytest.mark.parametrize("name", QUICK)
def test_a_network_agrees_with_numpy(name):
    check(name, (0, 3))


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_agrees_with_numpy_at_every_level(name):
    check(name, (0, 1, 2, 3, 4))
