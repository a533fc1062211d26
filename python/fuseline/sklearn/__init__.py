"""Estimators of scikit-learn's kind, whose passes over the data are expressions that Fuseline fuses and compiles.

They take the parameters, give the attributes and follow the rules of the estimators of the same name in scikit-learn, which
must be installed. Dense and sparse data are used as they are: a sparse matrix stays sparse. What chooses or tunes an
algorithm of scikit-learn (``solver``, ``dual``, ``n_jobs``, ``copy_X`` and the like) is no parameter here. All
is computed and given with 64 bits.

>>> from fuseline.sklearn import Ridge
>>> Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_
array([1.33333333])
"""

from __future__ import annotations

try:
    from sklearn.utils.validation import validate_data as _  # noqa: F401
except ImportError as error:
    raise ImportError("fuseline.sklearn needs scikit-learn 1.6 or later: pip install scikit-learn") from error

from .cluster import KMeans
from .decomposition import NMF, PCA
from .glm import GammaRegressor, PoissonRegressor, TweedieRegressor
from .linear import LinearRegression, Ridge
from .logistic import LogisticRegression
from .recommend import ALS
from .svm import LinearSVC

__all__ = [
    "ALS",
    "GammaRegressor",
    "KMeans",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "NMF",
    "PCA",
    "PoissonRegressor",
    "Ridge",
    "TweedieRegressor",
]
