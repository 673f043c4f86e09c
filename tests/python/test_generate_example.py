"""The example of a language model with its tokenizer."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("onnx")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import generate


def test_tokens_are_the_bytes_of_a_text_and_pairs_of_them():
    tokenizer = generate.Tokenizer(generate.TEXT, merges=40)
    for text in (generate.TEXT, "unseen words, and é", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(generate.TEXT)) < 0.7 * len(generate.TEXT)
    assert tokenizer.size == tokenizer.end + 1 == 256 + 40 + 1


def test_the_trained_decoder_continues_its_text(capsys):
    tokenizer = generate.Tokenizer(generate.TEXT, merges=64)
    prompt = tokenizer.decode(tokenizer.encode(generate.TEXT)[:8])
    text = generate.main([prompt, "--tokens", "300"])
    assert text == generate.TEXT
    assert "tokens/s" in capsys.readouterr().out
