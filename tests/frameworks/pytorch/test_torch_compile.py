"""`torch.compile(backend="tessera")` gives what PyTorch gives: values, shapes, element types and strides."""

import gc
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest
import tessera.torch
import torch
from tessera.torch import RunsByPyTorch
from tessera.torch import _program as program
from torch import nn
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunsByPyTorch)
        yield


@pytest.fixture
def builds(monkeypatch):
    """The number of parameters that each compiled program had as constants."""
    made = []

    class Counted(program._Compiled):
        def __init__(self, of, weights):
            made.append(len(weights))
            super().__init__(of, weights)

    monkeypatch.setattr(program, "_Compiled", Counted)
    return made


def same(ours, theirs):
    assert type(ours) is type(theirs)
    if isinstance(theirs, torch.Tensor):
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours, theirs)
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif isinstance(theirs, dict):
        same(list(ours.items()), list(theirs.items()))
    else:
        assert ours == theirs


def check(function, *args, no_grad=True, **options):
    compiled = torch.compile(function, backend="tessera", **options)
    with torch.set_grad_enabled(not no_grad):
        same(compiled(*args), function(*args))
    return compiled


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)
        self.scale = torch.tensor(1.5)  # neither a parameter nor a buffer

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x))) * self.scale
        return self.head(x.mean((2, 3)))


def test_the_backend_is_known_by_its_name():
    assert "tessera" in torch._dynamo.list_backends()


def test_an_entry_point_and_an_import_do_not_register_it_twice(tmp_path):
    info = tmp_path / "fake_tessera-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-tessera\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[torch_dynamo_backends]\ntessera = tessera.torch:backend\n")
    for first in ("", "import tessera.torch;", "torch._dynamo.list_backends(); import tessera.torch;"):
        code = f"import torch; {first} print(torch.compile(lambda x: x + 1, backend='tessera')(torch.ones(2)))"
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert out.stdout == "tensor([2., 2.])\n", out.stderr


def test_several_outputs_of_all_kinds():
    def function(x, n):
        y = x @ x.t()
        return {"y": y, "x": x, "none": None, "n": n, "again": (y, y > 0)}, x.shape[0] * 2, y[0, 0].expand(4), y.t()

    check(function, torch.rand(3, 4), 7)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.bool])
def test_element_types(dtype):
    x = (torch.rand(4, 6) * 10 - 5).to(dtype)
    check(lambda x: (x.to(torch.float32).sum(0), torch.where(x > 0, x, x.new_zeros(())), x.t().contiguous()), x)


def test_memory_orders_and_gaps_of_inputs_and_outputs():
    net = Net().eval().to(memory_format=torch.channels_last)
    x = torch.rand(2, 3, 8, 8)
    check(lambda x: (net.conv(x), net(x)), x.to(memory_format=torch.channels_last))
    check(lambda x: x * 2 + 1, torch.rand(8, 6)[::2, 1:4])
    check(lambda x: x.permute(2, 0, 1) * 2, torch.rand(3, 4, 5).transpose(0, 1))
    check(lambda x: torch.relu(x).sum(), torch.rand(0, 4))


def test_inputs_and_outputs_are_not_copied(monkeypatch):
    seen = []
    real = program.ndarray_of
    monkeypatch.setattr(program, "ndarray_of", lambda t: seen.append((t, real(t))) or seen[-1][1])
    x = torch.rand(64, 64)
    compiled = check(lambda x: x * 2 + 1, x)
    seen.clear()
    kept = compiled(x)
    ((_, ours),) = seen
    x.fill_(5)
    assert (ours.numpy() == 5).all()
    before = kept.clone()
    compiled(x)
    torch.testing.assert_close(kept, before)  # results of earlier calls are not written to


def test_shapes_that_change_make_one_dynamic_program():
    net = Net().eval()
    compiled = torch.compile(net, backend="tessera")
    counter = torch._dynamo.testing.CompileCounterWithBackend("tessera")
    counted = torch.compile(lambda x: F.softmax(x * x.shape[0], -1) @ x.t(), backend=counter)
    with torch.no_grad():
        for batch in (2, 3, 5, 7):
            x = torch.rand(batch, 3, 8, 8)
            same(compiled(x), net(x))
            y = torch.rand(batch, 4)
            torch.testing.assert_close(counted(y), F.softmax(y * batch, -1) @ y.t())
    assert counter.frame_count == 2


def test_a_number_that_changes_is_an_input():
    compiled = torch.compile(lambda x, n: x * n + n, backend="tessera")
    for n in (2, 3, 5, 9):
        torch.testing.assert_close(compiled(torch.ones(3), n), torch.full((3,), 2.0 * n))


def test_graph_breaks():
    def function(x):
        y = torch.sin(x) + 1
        torch._dynamo.graph_break()
        z = y * 2
        if z.sum() > 0:  # depends on values
            return z - x
        return z + x

    check(function, torch.rand(4))
    check(function, -torch.rand(4) - 3)


def test_weights_that_are_changed_in_place(builds):
    net = Net().eval()
    compiled = check(net, x := torch.rand(2, 3, 8, 8))
    assert builds == [9]
    with torch.no_grad():
        net.head.weight.mul_(2)
        same(compiled(x), net(x))
        net.norm.running_mean.add_(1)
        same(compiled(x), net(x))
        assert builds == [9, 9, 9]
        for _ in range(3):  # from now on weights are inputs
            net.load_state_dict(Net().state_dict())
            same(compiled(x), net(x))
        assert builds == [9, 9, 9, 0]


def test_weights_that_are_changed_behind_the_back_of_autograd(builds):
    net = Net().eval()
    compiled = check(net, x := torch.rand(2, 3, 8, 8))
    with torch.no_grad():
        net.conv.weight.data.mul_(2)
        same(compiled(x), net(x))
        net.conv.weight.data = torch.rand(8, 3, 3, 3)
        same(compiled(x), net(x))
        assert builds == [9, 9, 9]


def test_weights_are_inputs_where_they_shall_not_be_frozen(builds):
    net = Net().eval()
    compiled = check(net, x := torch.rand(2, 3, 8, 8), options={"freeze": False})
    with torch.no_grad():
        net.conv.weight.data.mul_(2)
        same(compiled(x), net(x))
    assert builds == [0]


def test_layers_that_share_a_graph_have_a_program_each(builds):
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
                torch._dynamo.graph_break()
            return x

    net = Layers()
    compiled = check(net, x := torch.rand(2, 8))
    with torch.no_grad():
        same(compiled(x), net(x))
    assert len(builds) <= 5 and 0 not in builds


def test_memory_of_weights_that_are_replaced_is_freed():
    def parameters():
        memory = np.random.rand(64, 64).astype("float32")
        return nn.Parameter(torch.from_numpy(memory)), weakref.ref(memory)

    net = nn.Linear(64, 64, bias=False)
    compiled = torch.compile(net, backend="tessera")
    alive = []
    with torch.no_grad():
        for _ in range(3):
            net.weight, memory = parameters()
            alive.append(memory)
            same(compiled(x := torch.rand(2, 64)), net(x))
    gc.collect()
    assert [memory() is not None for memory in alive] == [False, False, True]


def test_training_takes_the_same_steps():
    def steps(net, forward):
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = F.cross_entropy(forward(data), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses)

    data, labels = torch.rand(4, 3, 8, 8), torch.arange(4)
    net, other = Net(), Net()
    other.load_state_dict(net.state_dict())
    torch.testing.assert_close(steps(net, torch.compile(net, backend="tessera")), steps(other, other))
    torch.testing.assert_close(net.state_dict(), other.state_dict())


@pytest.mark.parametrize("masked", ["", "mask", "causal"])
def test_gradients_of_attention_and_layer_norm(masked):
    def function(q, k, v):
        mask = torch.arange(5)[:, None] + 1 > torch.arange(7) if masked == "mask" else None
        out = F.scaled_dot_product_attention(q, k, v, mask, is_causal=masked == "causal")
        return F.layer_norm(out, (8,)).square().mean() + out.sum()

    shapes = (2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8)
    ours, theirs = ([x.clone().requires_grad_() for x in tensors] for tensors in [[torch.rand(s) for s in shapes]] * 2)
    for function_, tensors in ((torch.compile(function, backend="tessera"), ours), (function, theirs)):
        function_(*tensors).backward()
    same([x.grad for x in ours], [x.grad for x in theirs])


def test_inputs_that_are_changed_in_place():
    def function(x, y):
        x.mul_(2)
        y[0] = x.sum()
        return x + y[0]

    compiled = torch.compile(function, backend="tessera")
    ours, theirs = (torch.ones(3), torch.zeros(2)), (torch.ones(3), torch.zeros(2))
    same((compiled(*ours), ours), (function(*theirs), theirs))


def test_what_is_not_supported_is_left_to_pytorch_with_a_warning():
    def function(x):
        y = torch.tanh(x) * 2 + 1
        y = torch.linalg.inv(y @ y.t() + torch.eye(4))
        return torch.relu(y) * 3 - 1

    with pytest.warns(
        RunsByPyTorch, match="a part of the model runs by PyTorch: there is no operator aten::linalg_inv_ex"
    ):
        check(function, torch.rand(4, 4))


def test_random_numbers_are_pytorchs():
    def function(x):
        return F.dropout(torch.sin(x) * 2 + 1, 0.5, True) * x

    compiled = torch.compile(function, backend="tessera")
    x = torch.rand(1000)
    with pytest.warns(RunsByPyTorch, match="random numbers"), torch.no_grad():
        torch.manual_seed(1)
        ours = compiled(x)
    torch.manual_seed(1)
    torch._dynamo.reset()
    torch.testing.assert_close(ours, torch.compile(function, backend="aot_eager")(x))


def test_a_graph_that_the_compiler_rejects_is_pytorchs(monkeypatch):
    def rejected(*args, **kwargs):
        raise RuntimeError("no such thing\nand more")

    monkeypatch.setattr(program, "compile_model", rejected)
    with pytest.warns(RunsByPyTorch, match="^a graph runs by PyTorch: no such thing$"):
        check(lambda x: x + 1, torch.rand(3))


def test_options_are_checked():
    with pytest.raises(Exception, match='has no option "speed"; its options are target, opt_level, precision'):
        torch.compile(lambda x: x + 1, backend="tessera", options={"speed": 11})(torch.ones(2))
    with pytest.raises(Exception, match='has no mode "max-autotune"; give options'):
        torch.compile(lambda x: x + 1, backend=tessera.torch.backend, mode="max-autotune")(torch.ones(2))
    check(Net().eval(), torch.rand(1, 3, 8, 8), options={"opt_level": 2, "num_threads": 1})


def test_threads_may_call_it():
    from concurrent.futures import ThreadPoolExecutor

    net = Net().eval()
    compiled = check(net, torch.rand(2, 3, 8, 8))
    images = [torch.rand(2, 3, 8, 8) for _ in range(16)]

    def run(image):
        with torch.no_grad():
            return compiled(image)

    with ThreadPoolExecutor(4) as pool:
        for image, ours in zip(images, pool.map(run, images)):
            with torch.no_grad():
                torch.testing.assert_close(ours, net(image))


def test_autocast_and_inference_mode():
    net, x = Net().eval(), torch.rand(2, 3, 8, 8)
    with torch.inference_mode():
        same(torch.compile(net, backend="tessera")(x), net(x))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        ours, theirs = torch.compile(net, backend="tessera")(x), net(x)
    assert ours.dtype == theirs.dtype == torch.bfloat16
    torch.testing.assert_close(ours, theirs, rtol=0.03, atol=0.03)
