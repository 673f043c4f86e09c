"""Models of torchvision and transformers give what PyTorch gives: `make test-frameworks FRAMEWORK=torch`."""

import pytest

pytest.importorskip("torchvision")
pytest.importorskip("transformers")

from torch_models import MODELS, TOLERANCE, compare, forms_of  # beside this file


@pytest.mark.parametrize("name, form", [(name, form) for name in MODELS for form in forms_of(name)])
def test_a_model_answers_as_in_pytorch(name, form):
    assert compare(name, form) <= TOLERANCE
