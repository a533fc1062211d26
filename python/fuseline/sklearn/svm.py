"""Support vector machines."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
from sklearn.base import ClassifierMixin

import fuseline as fl

from ._base import (
    LinearClassifier,
    check_flags,
    check_number,
    checked_data,
    checked_weight,
    class_factors,
    classes_of,
    progress,
)
from ._newton import Loss, Objective, curvature_diagonal, curvature_product, minimise


@fl.jit
def squared_hinge(X, side, weight, coef, intercept):
    distance = fl.maximum(1.0 - side * (X @ coef + intercept), 0.0)
    residual = -2.0 * weight * side * distance
    return (weight * distance * distance).sum(), X.T @ residual, residual.sum(), 2.0 * weight * (distance > 0)


class LinearSVC(ClassifierMixin, LinearClassifier):
    """Linear support vector classifier with the squared hinge loss, one class against the rest.

    As in scikit-learn's, the penalty includes the intercept; a larger ``intercept_scaling`` lessens its part.

    Parameters
    ----------
    tol : float, default=1e-4
        The fit ends when no part of the gradient of the objective, divided by ``C`` and the sum of the weights, is larger.
    C : float, default=1.0
        Factor of the loss; the penalty is half the sum of the squared coefficients.
    fit_intercept : bool, default=True
        Whether to add an intercept.
    intercept_scaling : float, default=1.0
        The value of the constant feature whose coefficient makes the intercept.
    class_weight : dict or 'balanced', default=None
        Factors of ``C`` for each class; of more than two classes only where it is not part of the rest.
    verbose : int, default=0
        Whether each iteration writes a line to standard error.
    max_iter : int, default=1000
        Most iterations.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_iter_ : int
        Most iterations that a class took.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(
        self,
        *,
        tol: float = 1e-4,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        verbose: int = 0,
        max_iter: int = 1000,
    ):
        self.tol = tol
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVC:
        """Fits the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_number(self, "tol", 0, positive=True)
        check_number(self, "C", 0, positive=True)
        check_number(self, "intercept_scaling", 0, positive=True)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "verbose", 0, integer=True)
        check_flags(self, "fit_intercept")
        X, y = checked_data(self, X, y, reset=True)
        self.classes_, code = classes_of(self, y)
        weight = checked_weight(sample_weight, X)
        factors = class_factors(self.class_weight, self.classes_, y, code, weight)
        if len(self.classes_) == 2:
            found = [self._against_rest(X, code == 1, weight * factors[code], progress(self))]
        else:
            # The rest has the factor 1, as in scikit-learn.
            found = [
                self._against_rest(
                    X,
                    code == positive,
                    weight * np.where(code == positive, factor, 1.0),
                    progress(self, f", class {self.classes_[positive]}"),
                )
                for positive, factor in enumerate(factors)
            ]
        parameters = np.array([parameters for parameters, _ in found])
        self.coef_ = np.ascontiguousarray(parameters[:, :-1])
        self.intercept_ = parameters[:, -1].copy() if self.fit_intercept else 0.0
        self.n_iter_ = max(iterations for _, iterations in found)
        return self

    def _against_rest(
        self, X: Any, is_positive: np.ndarray, weight: np.ndarray, report: Callable[[int, str, float], None]
    ) -> tuple[np.ndarray, int]:
        """Coefficients and intercept for one class, and the number of iterations."""
        total = weight.sum()
        penalty = 1.0 / (self.C * total)
        objective = Objective(
            Loss(squared_hinge, curvature_product, curvature_diagonal),
            X,
            fl.matrix(np.where(is_positive, 1.0, -1.0)),
            weight / total,
            (penalty, penalty / self.intercept_scaling**2),
            self.fit_intercept,
        )
        return minimise(objective, np.zeros(X.shape[1] + 1), tol=self.tol, max_iter=self.max_iter, report=report)
