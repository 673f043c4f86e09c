"""Tokens from a compiled language model: `tessera.Generator("folder").generate([1, 2, 3], tokens=16)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ._ffi.registry import get_global_func
from ._ffi.runtime_ctypes import Device
from .model import Model

__all__ = ["Generated", "Generator"]


class Generated(NamedTuple):
    """What `Generator.generate` made."""

    ids: list[int]  # without the prompt, with the token that ended it
    is_ended: bool  # by a token of `eos`
    prefill_seconds: float  # from the prompt to the first token
    decode_seconds: float  # from the first token to the last


class Generator:
    """A language model that continues a list of tokens, one sequence at a time.

    `model` is a `tessera.Model` or what one is made of: the path of an ONNX file, a library or a package. A folder with
    model.onnx is taken too, with what its genai_config.json, generation_config.json or config.json say of the tokens
    that end a text and of the context. Inputs and outputs are known by their names: input_ids, attention_mask, position_ids,
    past_key_values.N.key, present.N.key, logits and the like.
    """

    def __init__(self, model: Any, device: Device | None = None):
        self.eos: list[int] = []
        self.vocabulary = self.context = -1
        if isinstance(model, (str, os.PathLike)):
            path, eos, self.vocabulary, self.context = get_global_func("runtime.language_model_files")(os.fspath(model))
            self.eos = [int(id) for id in eos]
            model = Model(str(path), device)
        self.model: Model = model if isinstance(model, Model) else Model(model, device)
        self._module = get_global_func("runtime.Generator")(self.model._built["runnable"], self.model.device)

    @property
    def cache_kind(self) -> str:
        """How keys and values of past tokens are kept: "none" or "growing"."""
        return str(self._module["cache_kind"]())

    def generate(
        self,
        prompt_ids: Sequence[int],
        tokens: int = 16,
        *,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        eos: int | Sequence[int] | None = None,
        on_token: Callable[[int], bool | None] | None = None,
    ) -> Generated:
        """At most `tokens` tokens that come after the prompt; fewer where one of `eos` comes, or `on_token` returns False.

        With a temperature of 0 each is the one of the highest score. Else they are drawn, by scores divided by the
        temperature, of the `top_k` highest (0: all) and of those the first until their probabilities add up to `top_p`.
        """
        ends = self.eos if eos is None else [eos] if isinstance(eos, int) else list(eos)
        options = {
            "tokens": int(tokens),
            "temperature": float(temperature),
            "top_k": int(top_k),
            "top_p": float(top_p),
            "seed": int(seed),
            "eos": tuple(int(id) for id in ends),
            "vocabulary": int(self.vocabulary),
            "context": int(self.context),
        }
        told = None if on_token is None else lambda id: on_token(int(id)) is not False
        ids, ended, prefill, decode = self._module["generate"](tuple(int(id) for id in prompt_ids), options, told)
        return Generated([int(id) for id in ids], bool(ended), float(prefill), float(decode))
