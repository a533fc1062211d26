"""What the estimators share: checks of arguments and data, and linear scores."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any, Callable

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import fuseline as fl

#: What a pass over data takes at least: the unit is a multiplication in the product of a sparse matrix and a vector.
PASS_COST = 50_000.0


def check_number(
    estimator: BaseEstimator,
    name: str,
    minimum: float | None = None,
    *,
    integer: bool = False,
    positive: bool = False,
    maximum: float | None = None,
) -> None:
    """Refuses a parameter of another type or size; ``positive`` refuses the minimum, too."""
    check_scalar(
        getattr(estimator, name),
        name,
        Integral if integer else Real,
        min_val=minimum,
        max_val=maximum,
        include_boundaries="neither" if positive else "both",
    )


def check_flags(estimator: BaseEstimator, *names: str) -> None:
    """Refuses parameters that are not truth values."""
    for name in names:
        check_scalar(getattr(estimator, name), name, (bool, np.bool_))


def check_choice(estimator: BaseEstimator, name: str, *choices: Any) -> None:
    """Refuses a parameter that is none of some values."""
    value = getattr(estimator, name)
    if not any(value is choice or isinstance(value, str) and value == choice for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def progress(estimator: BaseEstimator, part: str = "") -> Callable[[int, str, float], None]:
    """What tells of an iteration, by a value that falls, on standard error where ``verbose`` asks for it.

    ``part`` says to which part of the fit the iteration belongs.
    """

    def report(iteration: int, name: str, value: float) -> None:
        if estimator.verbose:
            print(f"{type(estimator).__name__}{part}, iteration {iteration}: {name} {value:.6g}", file=sys.stderr)

    return report


def checked_data(estimator: BaseEstimator, X: Any, y: Any = "no_validation", *, reset: bool = False, **options: Any) -> Any:
    """The data as 64-bit numbers, rows of a sparse matrix in CSR; with a target also the target."""
    return validate_data(estimator, X, y, reset=reset, accept_sparse="csr", dtype=np.float64, **options)


def checked_weight(sample_weight: Any, X: Any) -> np.ndarray:
    """Weights of the samples, which are ones where there are none."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def classes_of(estimator: BaseEstimator, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of samples, and the number of each sample's class."""
    check_classification_targets(y)
    classes, code = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        name = type(estimator).__name__
        raise ValueError(f"{name} needs samples of at least 2 classes, but there is one class: {y[0]!r}")
    return classes, code


def class_factors(class_weight: Any, classes: np.ndarray, y: np.ndarray, code: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The factor of each class; ``code`` has the number of each sample's class."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(code, weights=weight)
        return weight.sum() / (len(classes) * np.where(totals > 0, totals, np.inf))
    return compute_class_weight(class_weight, classes=classes, y=y)


@fl.jit
def linear_scores(X, coef, intercept):
    return X @ coef + intercept


class LinearEstimator(BaseEstimator):
    """An estimator whose predictions come of ``X @ coef_.T + intercept_``."""

    coef_: np.ndarray
    intercept_: Any

    def _scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = checked_data(self, X)
        return linear_scores(X, np.ascontiguousarray(self.coef_.T), self.intercept_).numpy()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LinearClassifier(LinearEstimator):
    """A classifier with a linear score for each class, or one score where there are two classes."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Scores for each class; of two classes only that of ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Classes of the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the highest score.
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]
