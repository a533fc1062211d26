"""Generalised linear models of counts, durations and amounts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

import fuseline as fl

from ._base import LinearEstimator, check_choice, check_flags, check_number, checked_data, checked_weight, progress
from ._newton import Loss, Objective, curvature_diagonal, curvature_product, minimise


@fl.jit
def normal(X, y, weight, coef, intercept):
    residual = X @ coef + intercept - y
    return 0.5 * (weight * residual * residual).sum(), X.T @ (weight * residual), (weight * residual).sum(), weight


@fl.jit
def poisson(X, y, weight, coef, intercept):
    score = X @ coef + intercept
    mean = fl.exp(score)
    residual = weight * (mean - y)
    return (weight * (mean - y * score)).sum(), X.T @ residual, residual.sum(), weight * mean


@fl.jit
def gamma(X, y, weight, coef, intercept):
    score = X @ coef + intercept
    ratio = y * fl.exp(-score)
    residual = weight * (1.0 - ratio)
    return (weight * (score + ratio)).sum(), X.T @ residual, residual.sum(), weight * ratio


@fl.jit
def tweedie(X, y, weight, coef, intercept, power):
    score = X @ coef + intercept
    mean = fl.exp((2.0 - power) * score)
    ratio = y * fl.exp((1.0 - power) * score)
    residual = weight * (mean - ratio)
    loss = (weight * (mean / (2.0 - power) - ratio / (1.0 - power))).sum()
    # Outside of 1 <= power <= 2 the loss is not convex everywhere.
    curvature = weight * fl.maximum((2.0 - power) * mean - (1.0 - power) * ratio, 0.0)
    return loss, X.T @ residual, residual.sum(), curvature


@fl.jit
def tweedie_identity(X, y, weight, coef, intercept, power):
    mean = X @ coef + intercept
    # Only positive means have a loss.
    known = fl.where(mean > 0, mean, 1.0)
    residual = weight * (known - y) * known ** (-power)
    parts = known ** (2.0 - power) / (2.0 - power) - y * known ** (1.0 - power) / (1.0 - power)
    loss = (weight * fl.where(mean > 0, parts, float("inf"))).sum()
    curvature = weight * fl.maximum(power * y / known + (1.0 - power), 0.0) * known ** (-power)
    return loss, X.T @ residual, residual.sum(), curvature


@fl.jit
def poisson_identity(X, y, weight, coef, intercept):
    mean = X @ coef + intercept
    known = fl.where(mean > 0, mean, 1.0)
    residual = weight * (1.0 - y / known)
    loss = (weight * fl.where(mean > 0, known - y * fl.log(known), float("inf"))).sum()
    return loss, X.T @ residual, residual.sum(), weight * y / (known * known)


@fl.jit
def gamma_identity(X, y, weight, coef, intercept):
    mean = X @ coef + intercept
    known = fl.where(mean > 0, mean, 1.0)
    residual = weight * (known - y) / (known * known)
    loss = (weight * fl.where(mean > 0, fl.log(known) + y / known, float("inf"))).sum()
    curvature = weight * fl.maximum(2.0 * y / known - 1.0, 0.0) / (known * known)
    return loss, X.T @ residual, residual.sum(), curvature


class _GeneralisedLinearModel(RegressorMixin, LinearEstimator):
    """A model of the Tweedie family: the variance is a power of the mean."""

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose

    def _family(self) -> tuple[float, bool]:
        """The power, and whether the mean is the exponential of the score."""
        raise NotImplementedError

    def _loss(self) -> Loss:
        power, is_log = self._family()
        known = {
            (0, False): normal,
            (1, True): poisson,
            (1, False): poisson_identity,
            (2, True): gamma,
            (2, False): gamma_identity,
        }
        general = partial(tweedie if is_log else tweedie_identity, power=power)
        return Loss(known.get((power, is_log), general), curvature_product, curvature_diagonal)

    def _admits(self, y: np.ndarray) -> bool:
        power, _ = self._family()
        return bool(power <= 0 or (y.min() >= 0 if power < 2 else y.min() > 0))

    def fit(self, X: Any, y: Any, sample_weight: Any = None):
        """Fits the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_number(self, "alpha", 0)
        check_number(self, "tol", 0, positive=True)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "verbose", 0, integer=True)
        check_flags(self, "fit_intercept", "warm_start")
        loss = self._loss()
        X, y = checked_data(self, X, y, reset=True, y_numeric=True)
        y = y.astype(np.float64, copy=False)
        if not self._admits(y):
            raise ValueError(f"Some value(s) of y are out of the valid range of the loss of {type(self).__name__}.")
        weight = checked_weight(sample_weight, X)
        weight = weight / weight.sum()
        objective = Objective(loss, X, fl.matrix(y), weight, (float(self.alpha), 0.0), self.fit_intercept)
        parameters, self.n_iter_ = minimise(
            objective, self._start(X, y, weight), tol=self.tol, max_iter=self.max_iter, report=progress(self)
        )
        self.coef_, self.intercept_ = parameters[:-1], parameters[-1]
        return self

    def _start(self, X: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The parameters before, or those of a model that knows no features."""
        if self.warm_start and hasattr(self, "coef_"):
            return np.append(self.coef_, self.intercept_ if self.fit_intercept else 0.0)
        parameters = np.zeros(X.shape[1] + 1)
        _, is_log = self._family()
        mean = float(weight @ y)
        if self.fit_intercept and (mean > 0 or not is_log):
            parameters[-1] = np.log(mean) if is_log else mean
        return parameters

    def predict(self, X: Any) -> np.ndarray:
        """Means that the model predicts.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted means.
        """
        scores = self._scores(X)
        _, is_log = self._family()
        return np.exp(scores) if is_log else scores

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The part of the deviance that the model explains, D².

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            1 for a perfect model, 0 for one that predicts the mean.
        """
        power, _ = self._family()
        return d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        try:
            tags.target_tags.positive_only = not self._admits(np.array([-1.0]))
        except (TypeError, ValueError):
            # Parameters are checked when the model is fitted.
            pass
        return tags


_PARAMETERS = """
    Parameters
    ----------
    {own}alpha : float, default=1.0
        Factor of the penalty, half the sum of the squared coefficients.
    fit_intercept : bool, default=True
        Whether to add an intercept, which has no penalty.
    {link}max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-4
        The fit ends when no part of the gradient is larger.
    warm_start : bool, default=False
        Whether ``fit`` starts from the coefficients of the last one.
    verbose : int, default=0
        Whether each iteration writes a line to standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients.
    intercept_ : float
        Intercept.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
"""


class PoissonRegressor(_GeneralisedLinearModel):
    __doc__ = "A model of counts: Poisson distribution, with the logarithm as link.\n" + _PARAMETERS.format(own="", link="")

    def _family(self) -> tuple[float, bool]:
        return 1, True


class GammaRegressor(_GeneralisedLinearModel):
    __doc__ = "A model of amounts: gamma distribution, with the logarithm as link.\n" + _PARAMETERS.format(own="", link="")

    def _family(self) -> tuple[float, bool]:
        return 2, True


class TweedieRegressor(_GeneralisedLinearModel):
    __doc__ = "A model whose variance is a power of the mean.\n" + _PARAMETERS.format(
        own="""power : float, default=0.0
        The power: 0 for the normal distribution, 1 for Poisson's, between 1 and 2 for sums of random numbers of gamma
        distributed amounts, 2 for gamma, 3 for the inverse normal distribution. There is none between 0 and 1.
    """,
        link="""link : {'auto', 'identity', 'log'}, default='auto'
        The function of the mean that is linear; by default the identity for powers of at most 0, else the logarithm.
    """,
    )

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
    ):
        super().__init__(
            alpha=alpha, fit_intercept=fit_intercept, max_iter=max_iter, tol=tol, warm_start=warm_start, verbose=verbose
        )
        self.power = power
        self.link = link

    def _family(self) -> tuple[float, bool]:
        check_number(self, "power")
        check_choice(self, "link", "auto", "identity", "log")
        if 0 < self.power < 1:
            raise ValueError(f"no distribution has the power {self.power}, between 0 and 1")
        is_log = self.power > 0 if self.link == "auto" else self.link == "log"
        return float(self.power), is_log
