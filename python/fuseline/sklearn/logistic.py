"""Logistic regression."""

from __future__ import annotations

from typing import Any

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
def binomial(X, y, weight, coef, intercept):
    score = X @ coef + intercept
    probability = fl.sigmoid(score)
    # log(1 + exp(score)), without overflow
    partition = fl.maximum(score, 0.0) + fl.log1p(fl.exp(-abs(score)))
    residual = weight * (probability - y)
    # The product of both probabilities, without cancellation
    spread = probability * fl.sigmoid(-score)
    return (weight * (partition - y * score)).sum(), X.T @ residual, residual.sum(), weight * spread


@fl.jit
def multinomial(X, target, weight, coef, intercept):
    code, codes = target
    score = X @ coef + intercept
    score = score - score.max(axis=1, keepdims=True)
    size = fl.exp(score)
    partition = size.sum(axis=1, keepdims=True)
    chosen = code[:, None] == codes
    probability = size / partition
    residual = weight[:, None] * (probability - chosen)
    loss = (weight[:, None] * (fl.log(partition) - (chosen * score).sum(axis=1, keepdims=True))).sum()
    return loss, X.T @ residual, residual.sum(axis=0), (probability, weight)


@fl.jit
def multinomial_product(X, curvature, coef, intercept):
    probability, weight = curvature
    change = X @ coef + intercept
    change = weight[:, None] * probability * (change - (probability * change).sum(axis=1, keepdims=True))
    return X.T @ change, change.sum(axis=0)


@fl.jit
def multinomial_diagonal(X, curvature):
    probability, weight = curvature
    spread = weight[:, None] * probability * (1.0 - probability)
    return (X**2).T @ spread, spread.sum(axis=0)


class LogisticRegression(ClassifierMixin, LinearClassifier):
    """Logistic regression with a penalty of squared coefficients; multinomial where there are more than two classes.

    Parameters
    ----------
    C : float, default=1.0
        Factor of the loss; the penalty is half the sum of the squared coefficients. Infinity means no penalty.
    tol : float, default=1e-4
        The fit ends when no part of the gradient of the objective, divided by ``C`` and the sum of the weights, is larger.
    fit_intercept : bool, default=True
        Whether to add an intercept, which has no penalty.
    class_weight : dict or 'balanced', default=None
        Factors of the loss for each class.
    max_iter : int, default=100
        Most iterations.
    verbose : int, default=0
        Whether each iteration writes a line to standard error.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last one.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Classes.
    n_iter_ : ndarray of shape (1,)
        Iterations.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
    ):
        self.C = C
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
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
        check_number(self, "C", 0, positive=True)
        check_number(self, "tol", 0, positive=True)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "verbose", 0, integer=True)
        check_flags(self, "fit_intercept", "warm_start")
        X, y = checked_data(self, X, y, reset=True)
        self.classes_, code = classes_of(self, y)
        count = len(self.classes_)
        weight = checked_weight(sample_weight, X)
        weight = weight * class_factors(self.class_weight, self.classes_, y, code, weight)[code]
        total = weight.sum()

        code = code.astype(np.float64)
        if count == 2:
            loss = Loss(binomial, curvature_product, curvature_diagonal)
            target, shape = fl.matrix(code), (X.shape[1] + 1, 1)
        else:
            loss = Loss(multinomial, multinomial_product, multinomial_diagonal)
            target, shape = (fl.matrix(code), fl.matrix(np.arange(float(count)))), (X.shape[1] + 1, count)
        objective = Objective(loss, X, target, weight / total, (1.0 / (self.C * total), 0.0), self.fit_intercept)
        start = self._start(shape)
        parameters, iterations = minimise(
            objective,
            start[:, 0] if count == 2 else start,
            tol=self.tol,
            max_iter=self.max_iter,
            report=progress(self),
        )
        parameters = parameters.reshape(shape)
        if count > 2:
            # The loss stays the same where all classes change alike; the penalty asks for a mean of 0.
            parameters = parameters - parameters.mean(axis=1, keepdims=True)
        self.coef_, self.intercept_ = np.ascontiguousarray(parameters[:-1].T), parameters[-1].copy()
        self.n_iter_ = np.array([iterations])
        return self

    def _start(self, shape: tuple[int, int]) -> np.ndarray:
        """The parameters before, or zeros."""
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (shape[1], shape[0] - 1):
            return np.vstack([self.coef_.T, self.intercept_ * self.fit_intercept])
        return np.zeros(shape)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms of the probabilities, in the order of ``classes_``.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return -np.logaddexp(0.0, np.column_stack([scores, -scores]))
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
