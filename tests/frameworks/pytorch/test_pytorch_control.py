"""Scripted programs whose branches and loops a run decides, against PyTorch: what they change in place, lists, early returns."""

from __future__ import annotations

import pytest
import tessera
import torch
from tessera import relay
from torch import nn


def answers(script, args):
    """What the imported program gives for each of the lists of arguments."""
    infos = [(f"x{i}", (list(arg.shape), str(arg.dtype).removeprefix("torch."))) for i, arg in enumerate(args[0])]
    for i in range(len(infos)):
        if any(arg[i].shape != args[0][i].shape for arg in args):
            infos[i] = (infos[i][0], ([None, *args[0][i].shape[1:]], infos[i][1][1]))
    mod, params = relay.frontend.from_pytorch(script, infos)
    run = relay.create_executor("vm", mod).evaluate()
    return [run(*[tessera.nd.array(one.numpy()) for one in arg], **params) for arg in args]


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (int, float, bool)):
        return [torch.tensor(value)]
    items = value.values() if isinstance(value, dict) else value
    return [tensor for item in items for tensor in flat(item)]


def check(function, *args):
    """`args`: one list of arguments for each call."""
    torch.manual_seed(0)
    script = function if isinstance(function, torch.jit.ScriptModule) else torch.jit.script(function)
    for got, given in zip(answers(script, args), args):
        want = flat(script(*[arg.clone() for arg in given]))
        got = [got] if hasattr(got, "numpy") else list(got)
        assert len(got) == len(want)
        for ours, theirs in zip(got, want):
            torch.testing.assert_close(torch.from_numpy(ours.numpy()), theirs, rtol=1e-5, atol=1e-5)


def x(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


UP, DOWN = torch.full((3, 4), 0.5), torch.full((3, 4), -0.5)


def test_a_branch_changes_a_tensor_and_a_view_of_it():
    def program(x):
        y = x * 2
        row = y[0]
        if bool(x.sum() > 0):
            y.add_(1)
            row.mul_(3)
        else:
            row.sub_(1)
        return y, row + 1

    check(program, [UP], [DOWN])


def test_one_branch_returns_early():
    def program(x):
        if bool(x.sum() > 0):
            return x * 2
        y = x - 1
        if bool(y.max() < -1.0):
            return y * y
        return y

    check(program, [UP], [DOWN], [torch.full((3, 4), 0.0)])


def test_a_branch_fills_a_list_and_a_dictionary():
    def program(x):
        parts = [x, x]
        named = {"a": x, "b": x * 2}
        if bool(x.sum() > 0):
            parts[0] = x + 1
            named["a"] = x + 3
            parts.append(x * 5)
        else:
            parts.append(x * 7)
        return torch.stack(parts), named["a"], named["b"]

    check(program, [UP], [DOWN])


def test_a_branch_decides_how_long_a_list_is():
    def program(x):
        parts = [x]
        if bool(x.sum() > 0):
            parts.append(x + 1)
            parts.append(x + 2)
        return torch.cat(parts, 1), len(parts)

    check(program, [UP], [DOWN])


def test_a_loop_appends_to_a_list():
    def program(x):
        rows = []
        for i in range(x.shape[0]):
            rows.append(x[i] * i)
        return torch.stack(rows), len(rows), rows[-1]

    check(program, [x(3, 4)], [x(70, 4)])


def test_a_loop_appends_to_a_list_that_has_items():
    def program(x):
        rows = [x[0] * 0]
        state = x[0]
        while bool(state.sum() < 20.0):
            state = state * 1.5 + 0.1
            if bool(state[0] > 1.0):
                rows += [state, state * 2]
        return torch.cat(rows), state

    check(program, [torch.full((3, 4), 0.5)], [torch.full((3, 4), 9.0)])


def test_a_loop_changes_tensors_around_it():
    def program(x):
        out = torch.zeros_like(x)
        total = torch.zeros(4)
        for i in range(x.shape[0]):
            out[i] = x[i] + total
            total += x[i]
        return out, total

    check(program, [x(3, 4)], [x(70, 4)])


def test_a_loop_changes_its_state_in_place():
    def program(x):
        y = x.clone()
        n = 0
        while bool(y.abs().max() > 0.1):
            y *= 0.5
            n += 1
        return y, n

    check(program, [x(3, 4)], [x(3, 4) * 0.01])


def test_a_loop_ends_early_with_a_result():
    def program(x):
        for i in range(x.shape[0]):
            if bool(x[i].sum() > 3.0):
                return x[i] * 10
        return x[0]

    check(program, [x(5, 4)], [x(70, 4)], [torch.zeros(6, 4)])


def test_branches_in_loops_and_loops_in_branches():
    def program(x):
        total = torch.zeros(4)
        seen = []
        if bool(x.sum() > 0):
            for i in range(x.shape[0]):
                if i % 2 == 0:
                    total += x[i]
                else:
                    seen.append(total.clone())
            total[0] = 5.0
        else:
            seen.append(total - 1)
            total.sub_(1)
        return total, torch.stack(seen)

    check(program, [x(6, 4).abs()], [-x(6, 4).abs()], [x(40, 4).abs()])


def test_lists_of_numbers():
    def program(x):
        sizes = [1, 2]
        for i in range(x.shape[0]):
            sizes.append(i * 3)
        last = sizes.pop(0) if len(sizes) < 0 else sizes[2]
        return x * last

    check(program, [x(3, 4)])


def test_a_beam_that_grows():
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 6)
            self.cell = nn.GRUCell(6, 6)
            self.head = nn.Linear(6, 11)

        def forward(self, start):
            token = start
            state = torch.zeros(start.shape[0], 6)
            tokens = [token]
            scores = torch.jit.annotate(list[torch.Tensor], [])
            while len(tokens) < 90 and bool((token != 3).any()):
                state = self.cell(self.table(token), state)
                logits = self.head(state)
                scores.append(logits)
                token = logits.argmax(1)
                tokens.append(token)
            return torch.stack(tokens, 1), torch.stack(scores, 1)

    torch.manual_seed(1)
    check(torch.jit.script(Decoder().eval()), [torch.tensor([1, 5])], [torch.tensor([2, 2])])


def test_a_list_that_would_have_to_follow_a_tensor_is_rejected():
    def program(x):
        total = torch.zeros(4)
        seen = [total]
        for i in range(x.shape[0]):
            total += x[i]
            seen.append(total)
        return torch.stack(seen)

    with pytest.raises(NotImplementedError, match="append a clone"):
        answers(torch.jit.script(program), [[x(70, 4)]])


def test_what_cannot_be_a_value_is_told():
    def program(x):
        names = {"a": x}
        if bool(x.sum() > 0):
            names["b"] = x
        return names["a"]

    with pytest.raises(NotImplementedError, match="list of lists or texts|dictionary"):
        answers(torch.jit.script(program), [[UP]])
