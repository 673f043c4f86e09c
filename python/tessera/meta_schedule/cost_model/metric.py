"""How good a search was."""

from __future__ import annotations

import numpy as np

__all__ = ["max_curve"]


def max_curve(trial_scores: np.ndarray) -> np.ndarray:
    """The best score after each trial."""
    return np.maximum.accumulate(np.asarray(trial_scores)) if len(trial_scores) else np.empty(0)
