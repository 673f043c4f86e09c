"""Random numbers from keys: the cipher against a plain one, and what the numbers look like."""

import numpy as np
import pytest
import tessera
from operator_check import run_function
from tessera import relay

ROTATIONS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]
MASK = (1 << 64) - 1


def threefry(counter, key):
    """Threefry-4x64 of 20 rounds, in Python's integers."""
    words = [*key, 0x1BD11BDAA9FC1A22]
    for word in key:
        words[4] ^= word
    x = [(c + k) & MASK for c, k in zip(counter, words)]
    for r in range(20):
        for a, b, turn in ((0, 3 if r % 2 else 1, 0), (2, 1 if r % 2 else 3, 1)):
            n = ROTATIONS[r % 8][turn]
            x[a] = (x[a] + x[b]) & MASK
            x[b] = (((x[b] << n) | (x[b] >> (64 - n))) & MASK) ^ x[a]
        if r % 4 == 3:
            s = r // 4 + 1
            x = [(v + words[(s + i) % 5] + (s if i == 3 else 0)) & MASK for i, v in enumerate(x)]
    return x


def run(body):
    body = body.astuple() if isinstance(body, relay.TupleWrapper) else body
    return run_function(relay.Function([], body), [])


def test_the_plain_cipher_gives_the_published_words():
    published = [0x09218EBDE6C85537, 0x55941F5266D86105, 0x4BD25E16282434DC, 0xEE29EC846BD2E40B]
    assert threefry([0] * 4, [0] * 4) == published


@pytest.mark.parametrize("seed", [0, 1, (1 << 200) + 12345])
def test_words_are_enciphered_counters(seed):
    key = relay.random.threefry_key(seed)
    words = [int(w) for w in key.data.numpy()]
    left, out = run(relay.random.threefry_generate(key, (3, 7)))
    want = [w for block in range(6) for w in threefry([0, 0, 0, block], words[:4])]
    assert out.shape == (3, 7)
    assert [int(w) for w in out.reshape(-1)] == want[:21]
    assert [int(w) for w in left] == words[:7] + [21] + words[8:]


def test_keys_split_apart():
    key = relay.random.threefry_key(7)
    left, right = run(relay.random.threefry_split(key))
    assert int(left[8]) == int(right[8]) == 1 << 62
    assert (int(left[4]), int(right[4])) == (0, 1 << 63)
    numbers = [run(relay.random.threefry_generate(relay.const(k), (64,)))[1] for k in (left, right)]
    assert not set(numbers[0].tolist()) & set(numbers[1].tolist())


def test_a_full_path_makes_new_keys():
    words = np.array([1, 2, 3, 4, 5, 6, 0, 0, 0, 0], "uint64")
    left, right = run(relay.random.threefry_split(relay.const(words)))
    fresh = threefry([5, 6, 0, 0], [1, 2, 3, 4])
    assert [int(w) for w in left[:4]] == [int(w) for w in right[:4]] == fresh
    words[7] = MASK - 2  # no room in the counter either
    key, _ = run(relay.random.threefry_generate(relay.const(words), (8,)))
    assert [int(w) for w in key[:4]] == threefry([MASK] * 4, [1, 2, 3, 4])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_are_spread_evenly(dtype):
    key, x = run(relay.random.uniform(relay.random.threefry_key(3), (100, 100), dtype, low=-2.0, high=4.0))
    assert x.dtype == dtype and x.min() >= -2 and x.max() < 4
    counts, _ = np.histogram(x, 10, (-2, 4))
    assert abs(counts - 1000).max() < 150
    _, again = run(relay.random.uniform(relay.const(key), (100, 100), dtype, low=-2.0, high=4.0))
    assert not np.array_equal(x, again)


def test_numbers_have_a_mean_and_a_deviation():
    _, x = run(relay.random.normal(relay.random.threefry_key(5), (200, 100), mean=3.0, scale=2.0))
    assert abs(x.mean() - 3) < 0.05 and abs(x.std() - 2) < 0.05
    assert abs(np.mean(abs(x - 3) < 2) - 0.6827) < 0.02


def test_outcomes_have_their_probabilities():
    probs = np.array([[0.2, 0.0, 0.5, 0.3], [0.0, 0.0, 0.0, 1.0]], "float32")
    _, x = run(relay.random.multinomial(relay.random.threefry_key(9), relay.const(probs), 4000))
    assert x.shape == (2, 4000) and x.dtype == "int32"
    for row, p in zip(x, probs):
        np.testing.assert_allclose(np.bincount(row, minlength=4) / 4000, p, atol=0.03)


def test_a_key_is_ten_words():
    x = relay.var("x", shape=(4,), dtype="uint64")
    with pytest.raises((TypeError, tessera.error.DiagnosticError), match="key must be ten uint64"):
        body = relay.random.threefry_split(x).astuple()
        relay.transform.InferType()(tessera.IRModule.from_expr(relay.Function([x], body)))
