"""Models of torchvision and transformers, imported from PyTorch and compared with it.

    python tests/frameworks/pytorch/torch_models.py [--form traced|exported] [--write docs/models_by_framework.md] [NAME ...]

A model goes in as a TorchScript trace ("traced") and as a program of torch.export ("exported"); PyTorch
itself does not export detectors, whose number of boxes decides what they do. torchvision's have their real architecture, on smaller images where it
takes them; those of transformers are configurations of two layers. `export.py` says how weights are seeded and batch norms get
their statistics. The error is the greatest difference over the greatest magnitude of an output, of its worst output.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

# ruff: noqa: E402
import export_any
from check import difference, is_detected, same_order
from export import (
    EAGER,
    SEED,
    Detected,
    Example,
    Segmented,
    answers,
    causal_mask,
    fill_zero_layers,
    padding_mask,
    settle_batch_norms,
)
from torch import nn

TOLERANCE = 1e-4
FORMS = ("traced", "exported")
MODELS: dict[str, Callable[[], Example]] = {}
#: Forms of those that PyTorch does not trace and export: it does not trace masks that transformers makes by vmap.
FORMS_OF: dict[str, tuple[str, ...]] = {}


# ---- torchvision -----------------------------------------------------------------------------------------------------


def varied(size: int, batch: int = 1) -> torch.Tensor:
    """Images that differ in brightness, colour, contrast and shapes: of noise alone the deep layers see one image, and batch
    norms with its statistics amplify rounding, in PyTorch's float32 against its float64 up to 5e-2."""
    coarse = nn.functional.interpolate(torch.randn(batch, 3, 8, 8), size=(size, size), mode="bilinear")
    contrast = torch.rand(2, batch, 1, 1, 1)
    return torch.randn(batch, 3, size, size) * contrast[0] + 2 * coarse * contrast[1] + torch.randn(batch, 3, 1, 1)


def settle(module: nn.Module, *inputs: Any) -> None:
    """Statistics of batch norms, with residual branches of ResNets that add little to what they are added to, as in trained ones:
    where they add as much, rounding grows from block to block."""
    from torchvision.models.resnet import Bottleneck

    settle_batch_norms(module, *inputs)
    blocks = [part for part in module.modules() if isinstance(part, Bottleneck)]
    norms = [part for part in module.modules() if blocks and isinstance(part, nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for block in blocks:
            block.bn3.weight *= 0.3
        for norm in norms:
            norm.train()
        if norms:
            module(*inputs)
    module.eval()


def classifier(name: str, size: int, **arguments: Any) -> Callable[[], Example]:
    def build() -> Example:
        import torchvision

        module = getattr(torchvision.models, name)(weights=None, **arguments).eval()
        settle(module, varied(size, batch=8))
        fill_zero_layers(module)
        return Example(module, {"input": varied(size)})

    return build


#: One or two of each family, and the side of the image.
CLASSIFIERS = {
    "alexnet": 96,
    "convnext_tiny": 64,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "efficientnet_v2_s": 64,
    "googlenet": 64,
    "inception_v3": 160,
    "maxvit_t": 224,
    "mnasnet0_5": 64,
    "mnasnet1_3": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_large": 64,
    "mobilenet_v3_small": 64,
    "regnet_x_400mf": 64,
    "regnet_y_400mf": 64,
    "resnet18": 64,
    "resnet50": 128,
    "resnext50_32x4d": 128,
    "shufflenet_v2_x0_5": 64,
    "shufflenet_v2_x1_0": 64,
    "squeezenet1_0": 64,
    "squeezenet1_1": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
    "vgg11": 64,
    "vgg16_bn": 64,
    "vit_b_16": 64,
    "vit_b_32": 64,
    "wide_resnet50_2": 128,
}
ARGUMENTS: dict[str, dict[str, Any]] = {  # of those whose architecture depends on the image, and to spare a warning
    "googlenet": {"init_weights": False},
    "inception_v3": {"init_weights": True},
    "vit_b_16": {"image_size": 64},
    "vit_b_32": {"image_size": 64},
}
for _name, _size in CLASSIFIERS.items():
    MODELS[_name] = classifier(_name, _size, **ARGUMENTS.get(_name, {}))


def segmenter(name: str, size: int = 128) -> Callable[[], Example]:
    def build() -> Example:
        import torchvision

        module = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None).eval()
        settle(module, varied(size, batch=8))
        return Example(Segmented(module), {"input": varied(size)})

    return build


def detector(name: str, size: int, spread: float, **arguments: Any) -> Callable[[], Example]:
    """`spread` scales the layers of scores, so that these are far enough apart to have one order."""

    def build() -> Example:
        from torchvision.models import detection

        module = getattr(detection, name)(weights=None, weights_backbone=None, **arguments).eval()
        settle_batch_norms(module, list(varied(size, batch=4)))
        with torch.no_grad():
            for path, part in module.named_modules():
                is_last = path.endswith(("cls_logits", "cls_score"))
                if (is_last or ".classification_head.module_list" in path) and isinstance(part, (nn.Conv2d, nn.Linear)):
                    part.weight *= spread
        fields = ("boxes", "scores", "labels")
        return Example(Detected(module, fields), {"input": varied(size)[0]}, fields)

    return build


for _name in ("fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large"):
    MODELS[_name] = segmenter(_name)
SMALL = {"min_size": 128, "max_size": 128}

DETECTORS = (
    "ssdlite320_mobilenet_v3_large",
    "retinanet_resnet50_fpn",
    "fcos_resnet50_fpn",
    "fasterrcnn_resnet50_fpn",
)
FORMS_OF |= dict.fromkeys(DETECTORS, ("traced",))
MODELS["ssdlite320_mobilenet_v3_large"] = detector("ssdlite320_mobilenet_v3_large", 320, 8.0)
MODELS["retinanet_resnet50_fpn"] = detector("retinanet_resnet50_fpn", 128, 40.0, **SMALL)
MODELS["fcos_resnet50_fpn"] = detector("fcos_resnet50_fpn", 128, 40.0, **SMALL)
MODELS["fasterrcnn_resnet50_fpn"] = detector(
    "fasterrcnn_resnet50_fpn", 128, 0.2, box_score_thresh=0.02, box_detections_per_img=20, **SMALL
)


# ---- transformers ----------------------------------------------------------------------------------------------------


def configured(name: str) -> Callable[[], Example]:
    """A model of transformers' list as `export_any.py` makes it: what it is called with is found from its parameters."""
    return lambda: export_any.transformers_example(name)


@torch.no_grad()
def llama_with_cache(length: int = 2, past: int = 6) -> Example:
    """Tokens and the keys and values of earlier ones give logits and the keys and values of all."""
    from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=256,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        **EAGER,
    )
    module = LlamaForCausalLM(config).eval()

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, ids: torch.Tensor, *cache: torch.Tensor) -> tuple[torch.Tensor, ...]:
            pairs = list(zip(cache[::2], cache[1::2], strict=True))
            found = self.module(ids, past_key_values=DynamicCache(pairs), use_cache=True)
            new = [part for layer in found.past_key_values.layers for part in (layer.keys, layer.values)]
            return (found.logits, *new)

    names = [f"{part}_{layer}" for layer in range(config.num_hidden_layers) for part in ("key", "value")]
    cache = {name: torch.randn(1, config.num_key_value_heads, past, 16) for name in names}
    return Example(Step(), {"ids": torch.randint(0, 256, (1, length)), **cache}, ("logits", *names))


def t5(length: int = 12) -> Example:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=256, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, use_cache=False)
    inputs = {
        "input_ids": torch.randint(0, 256, (1, length)),
        "attention_mask": padding_mask(length, 3),
        "decoder_input_ids": torch.randint(0, 256, (1, 5)),
    }
    return answers(T5ForConditionalGeneration(config), inputs, "logits", "encoder_last_hidden_state")


def whisper() -> Example:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=256,
        num_mel_bins=16,
        max_source_positions=32,
        max_target_positions=16,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        use_cache=False,
        **EAGER,
    )
    inputs = {"input_features": torch.randn(1, 16, 64), "decoder_input_ids": torch.randint(3, 256, (1, 6))}
    fixed = {"decoder_attention_mask": causal_mask(6)}
    return answers(WhisperForConditionalGeneration(config), inputs, "logits", "encoder_last_hidden_state", **fixed)


def gpt2() -> Example:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=256, n_positions=32, n_embd=64, n_layer=2, n_head=4, use_cache=False, **EAGER)
    inputs = {"input_ids": torch.randint(0, 256, (1, 12))}
    return answers(GPT2LMHeadModel(config), inputs, "logits", attention_mask=causal_mask(12))


def causal_language_model(name: str, **sizes: Any) -> Callable[[], Example]:
    def build() -> Example:
        from transformers import AutoConfig, AutoModelForCausalLM

        config = AutoConfig.for_model(name, **sizes)
        config.use_cache = False
        inputs = {"input_ids": torch.randint(0, config.vocab_size, (1, 12))}
        return answers(AutoModelForCausalLM.from_config(config), inputs, "logits")

    return build


MODELS["bert"] = configured("bert")
MODELS["gpt2 with its own mask"] = causal_language_model(
    "gpt2", vocab_size=256, n_positions=32, n_embd=64, n_layer=2, n_head=4
)
MODELS["gpt2"] = gpt2
MODELS["t5"] = t5
MODELS["llama with cache"] = llama_with_cache
MODELS["whisper"] = whisper
FORMS_OF |= dict.fromkeys(("gpt2 with its own mask",), ("exported",))
MODELS["clip"] = configured("clip")
MODELS["vit"] = configured("vit")
MODELS["deberta"] = configured("deberta")
MODELS["deberta-v2"] = configured("deberta-v2")
MODELS["wav2vec2"] = configured("wav2vec2")
MODELS["mamba"] = causal_language_model("mamba", vocab_size=256, hidden_size=64, num_hidden_layers=2, state_size=8)


# ---- comparison ------------------------------------------------------------------------------------------------------


def forms_of(name: str) -> tuple[str, ...]:
    return FORMS_OF.get(name, ("traced", "exported"))


def program_of(example: Example, form: str) -> Any:
    """What `from_pytorch` is given."""
    inputs = tuple(example.inputs.values())
    if form == "traced":
        return torch.jit.trace(example.module, inputs, strict=False, check_trace=False)
    return torch.export.export(example.module, inputs, strict=False)


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (tuple, list)):
        return [array for each in value for array in flat(each)]
    return [value.detach().numpy()]


def compare(name: str, form: str) -> float:
    """The error of a model that is imported in this form."""
    import tessera
    from tessera import relay

    torch.manual_seed(SEED)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        example = MODELS[name]()
        want = flat(example.module(*example.inputs.values()))
        program = program_of(example, form)
    infos = [(key, (tuple(x.shape), str(x.dtype).removeprefix("torch."))) for key, x in example.inputs.items()]
    mod, params = relay.frontend.from_pytorch(program, infos)
    with tessera.transform.PassContext(opt_level=3):
        model = tessera.Model(relay.build(mod, "llvm", params=params))
    got = [out.numpy() for out in model.run({key: value.numpy() for key, value in example.inputs.items()})]
    if is_detected(want) and [g.shape for g in got] == [w.shape for w in want]:
        got = same_order(got, want)
    return max(difference(g, w) for g, w in zip(got, want, strict=True))


HEAD = f"""# Models by framework

## PyTorch

Models imported by `relay.frontend.from_pytorch`, compiled for this CPU and compared with PyTorch {torch.__version__.split("+")[0]}:
`tests/frameworks/pytorch/torch_models.py --write` makes the table, `make test-frameworks FRAMEWORK=torch` holds each error to
{TOLERANCE:.0e} of the output's greatest magnitude. Weights are seeded, batch norms have the statistics of a batch of images,
and the last norm of each block of a ResNet with bottlenecks is scaled by 0.3, so that rounding does not grow from block to block.
An empty cell: PyTorch does not trace or export the model itself.

| model | traced | exported |
| --- | --- | --- |
"""


OTHERS = "\n## Other frameworks\n"  # stays as it is


def measured(name: str, forms: Sequence[str]) -> dict[str, str]:
    """Errors by form, or what was thrown; all are printed."""
    out: dict[str, str] = {}
    for form in forms:
        start = time.perf_counter()
        try:
            out[form] = f"{compare(name, form):.1e}"
        except Exception as problem:  # the next one may do better
            out[form] = f"{type(problem).__name__}: {str(problem).strip()[:1500]}"
        print(f"{name} {form} {out[form]} ({time.perf_counter() - start:.1f} s)", flush=True)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares models with PyTorch.")
    parser.add_argument("--form", choices=FORMS, help="both unless given")
    parser.add_argument("--write", type=Path, help="the table of all models")
    parser.add_argument("names", nargs="*", help="all unless given")
    args = parser.parse_args()
    table = {name: measured(name, [args.form] if args.form else forms_of(name)) for name in args.names or MODELS}
    if args.write:
        rows = [f"| {name} | {' | '.join(errors.get(form, '') for form in FORMS)} |" for name, errors in table.items()]
        _, mark, others = args.write.read_text().partition(OTHERS) if args.write.exists() else ("", "", "")
        args.write.write_text(HEAD + "\n".join(rows) + "\n" + mark + others)
    return 1 if any("Error" in error for errors in table.values() for error in errors.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
