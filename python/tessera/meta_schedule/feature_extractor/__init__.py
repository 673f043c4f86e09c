"""Feature extractors: what cost models see of candidates."""

from .feature_extractor import FeatureExtractor, PyFeatureExtractor, RandomFeatureExtractor
from .per_store_feature import PerStoreFeature

__all__ = ["FeatureExtractor", "PerStoreFeature", "PyFeatureExtractor", "RandomFeatureExtractor"]
