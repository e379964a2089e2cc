"""Exact sums and exact moments as objects, and covariances."""

from gred.exact.moments import ExactMoments, corrcoef, cov
from gred.exact.partials import ExactSums
from gred.exact.sums import COUNTS, WORDS, ExactSum

__all__ = ["COUNTS", "WORDS", "ExactMoments", "ExactSum", "ExactSums", "corrcoef", "cov"]
