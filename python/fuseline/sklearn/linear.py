"""Least squares, with and without a penalty."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

import fuseline as fl

from ._base import PASS_COST, LinearEstimator, check_flags, check_number, checked_data, checked_weight

#: The most features for which normal equations, which are dense, are set up for sparse data: 128 MB.
_MOST_FEATURES = 4096

#: Normal equations whose condition is worse say nothing that steps of refinement could repair.
_WORST_CONDITION = 1e12

#: What a multiplication takes in a product of sparse matrices and in a dense factorisation, in the unit of passes.
_PRODUCT_COST, _FACTOR_COST = 3.0, 0.05

#: Conjugate gradients are not tried where normal equations cost less than this number of their steps.
_FEWEST_STEPS = 50

#: The part of the first gradient at which conjugate gradients end.
_PART_OF_GRADIENT = 1e-12


@fl.jit
def dense_products(X, Y, root, X_mean, Y_mean):
    centred = root[:, None] * (X - X_mean)
    return centred.T @ centred, centred.T @ (root[:, None] * (Y - Y_mean))


@fl.jit
def sparse_products(X, Y, root, X_mean, Y_mean):
    scaled = root[:, None] * X
    target = root[:, None] * (Y - Y_mean)
    # What the means would add is subtracted afterwards, so that zeros stay zeros.
    gram = scaled.T @ scaled - (root * root).sum() * (X_mean[:, None] * X_mean)
    return gram, scaled.T @ target - X_mean[:, None] * (root[:, None] * target).sum(axis=0)


@fl.jit
def means(X, Y, weight):
    return X.T @ weight / weight.sum(), Y.T @ weight / weight.sum()


@fl.jit
def slope(X, Y, weight, X_mean, coef, intercept):
    residual = weight[:, None] * (Y - (X @ coef + intercept))
    return X.T @ residual - X_mean[:, None] * residual.sum(axis=0)


@fl.jit
def normal_product(X, weight, X_mean, direction):
    change = weight[:, None] * (X @ direction - X_mean @ direction)
    return X.T @ change - X_mean[:, None] * change.sum(axis=0)


@fl.jit
def normal_diagonal(X, weight, X_mean):
    return (X**2).T @ weight - weight.sum() * X_mean**2


@fl.jit
def centred_product(X, root, X_mean, direction):
    return root * (X @ direction - (X_mean * direction).sum())


@fl.jit
def centred_transposed_product(X, root, X_mean, direction):
    scaled = root * direction
    return X.T @ scaled - X_mean * scaled.sum()


class _LeastSquares:
    """Sums of weighted squares for each column of a target, and half of a penalty: solved in the way that suits the data."""

    def __init__(self, X: Any, Y: np.ndarray, weight: np.ndarray, fit_intercept: bool):
        self.is_sparse = scipy.sparse.issparse(X)
        self.X, self.Y, self.weight, self.root = fl.matrix(X), fl.matrix(Y), fl.matrix(weight), np.sqrt(weight)
        self.total = weight.sum()
        self.row_ends = X.indptr if self.is_sparse else None
        self.samples, self.features = X.shape
        self.X_mean, self.Y_mean = np.zeros(self.features), np.zeros(Y.shape[1])
        if fit_intercept:
            self.X_mean, self.Y_mean = (mean.numpy() for mean in means(self.X, self.Y, self.weight))
        self.rank: int | None = None

    def solve(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, a column for each target, and intercepts."""
        coef = self._by_conjugate_gradients(alpha) if self.is_sparse else None
        most = min(self.samples, _MOST_FEATURES) if self.is_sparse else self.samples
        if coef is None and self.features <= most:
            coef = self._by_normal_equations(alpha)
        if coef is None:
            coef = self._by_iterations(alpha) if self.is_sparse else self._by_singular_values(alpha)
        return coef, self._intercept(coef)

    def _intercept(self, coef: np.ndarray) -> np.ndarray:
        return self.Y_mean - self.X_mean @ coef

    def _by_conjugate_gradients(self, alpha: np.ndarray) -> np.ndarray | None:
        """The solution by steps that cost no more than normal equations would; nothing where these are not enough.

        Each step is a pass over the data for all targets. Without a penalty the solution is that of least norm.
        """
        steps = self._affordable_steps()
        if steps < _FEWEST_STEPS:
            return None
        coef = np.zeros((self.features, len(alpha)))
        residual = slope(self.X, self.Y, self.weight, self.X_mean, coef, self.Y_mean).numpy()
        diagonal = normal_diagonal(self.X, self.weight, self.X_mean).numpy()[:, None] + alpha
        # A scale for each feature would make another norm the least.
        scale = np.where((alpha > 0) & (diagonal > 0), diagonal, 1.0)
        search = scaled = residual / scale
        size = (residual * scaled).sum(axis=0)
        enough = _PART_OF_GRADIENT**2 * size
        for _ in range(steps):
            if (size <= enough).all():
                return coef
            product = normal_product(self.X, self.weight, self.X_mean, search).numpy() + alpha * search
            length = _quotient(size, (search * product).sum(axis=0))
            coef = coef + length * search
            residual = residual - length * product
            scaled = residual / scale
            before, size = size, (residual * scaled).sum(axis=0)
            search = scaled + _quotient(size, before) * search
        return None

    def _affordable_steps(self) -> int:
        """The number of conjugate gradients' steps that take as long as normal equations."""
        lengths = np.diff(self.row_ends).astype(np.float64)
        direct = _PRODUCT_COST * (lengths @ lengths) + _FACTOR_COST * self.features**3 / 3
        return int(min(direct / (PASS_COST + 2.0 * lengths.sum() * self.Y.shape[1]), 10 * self.features))

    def _by_normal_equations(self, alpha: np.ndarray) -> np.ndarray | None:
        """One pass over the data, and the factor of Cholesky; nothing where features nearly depend on each other."""
        products = sparse_products if self.is_sparse else dense_products
        gram, right = (part.numpy() for part in products(self.X, self.Y, self.root, self.X_mean, self.Y_mean))
        coef = np.empty_like(right)
        # What is left of a constant feature without its mean is rounding.
        smallest = 1e-12 * (gram.diagonal() + self.total * self.X_mean**2)
        for penalty in np.unique(alpha):
            columns = np.flatnonzero(alpha == penalty)
            factor = _Factor.of(gram, penalty, smallest)
            if factor is None:
                return None
            coef[:, columns] = factor.solve(right[:, columns])
            # Errors of the products square the condition of the data; slopes of the data themselves remove them.
            for _ in range(2):
                part = coef[:, columns]
                intercept = self.Y_mean[columns] - self.X_mean @ part
                error = slope(self.X, self.Y[:, columns], self.weight, self.X_mean, part, intercept).numpy()
                coef[:, columns] = part + factor.solve(error - penalty * part)
        self.rank = self.features
        return coef

    def _by_singular_values(self, alpha: np.ndarray) -> np.ndarray:
        """The solution of least norm, of dense data."""
        root = self.root[:, None]
        left, values, right = scipy.linalg.svd(
            (root * (self.X - self.X_mean)).numpy(), full_matrices=False, overwrite_a=True, check_finite=False
        )
        target = left.T @ (root * (self.Y - self.Y_mean)).numpy()
        kept = values > max(self.samples, self.features) * np.finfo(float).eps * values.max(initial=0.0)
        self.rank = int(kept.sum())
        values = values[kept, None]
        return right[kept].T @ (values / (values**2 + alpha) * target[kept])

    def _by_iterations(self, alpha: np.ndarray) -> np.ndarray:
        """The solution of least norm, of sparse data: LSQR, which starts at 0 and stays in the span of the rows."""
        operator = scipy.sparse.linalg.LinearOperator(
            (self.samples, self.features),
            matvec=lambda v: centred_product(self.X, self.root, self.X_mean, v.ravel()).numpy(),
            rmatvec=lambda u: centred_transposed_product(self.X, self.root, self.X_mean, u.ravel()).numpy(),
            dtype=np.float64,
        )
        target = (self.root[:, None] * (self.Y - self.Y_mean)).numpy()
        most = 20 * max(1000, min(self.samples, self.features))
        coef = np.empty((self.features, target.shape[1]))
        for column, penalty in enumerate(alpha):
            coef[:, column], reason, *_ = scipy.sparse.linalg.lsqr(
                operator, target[:, column], damp=np.sqrt(penalty), atol=1e-14, btol=1e-14, conlim=0, iter_lim=most
            )
            if reason == 7:
                message = f"Not converged after {most} iterations of LSQR: scale the data."
                warnings.warn(message, ConvergenceWarning, stacklevel=5)
        return coef


def _quotient(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotients; 0 for targets that are done."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


class _Factor:
    """A factor of Cholesky of products, of which rows and columns are scaled to a diagonal of ones."""

    def __init__(self, factor: np.ndarray, scale: np.ndarray):
        self.factor, self.scale = factor, scale

    @staticmethod
    def of(gram: np.ndarray, penalty: float, smallest: np.ndarray) -> _Factor | None:
        """The factor of products and a penalty, unless their condition is too bad or a diagonal cell too small."""
        gram = gram + penalty * np.eye(len(gram))
        if not (gram.diagonal() > smallest).all():
            return None
        scale = np.sqrt(gram.diagonal())
        gram = gram / scale / scale[:, None]
        factor, failure = scipy.linalg.lapack.dpotrf(gram)
        if failure:
            return None
        reciprocal, _ = scipy.linalg.lapack.dpocon(factor, np.abs(gram).sum(axis=0).max())
        return _Factor(factor, scale[:, None]) if reciprocal * _WORST_CONDITION > 1 else None

    def solve(self, right: np.ndarray) -> np.ndarray:
        solution, _ = scipy.linalg.lapack.dpotrs(self.factor, right / self.scale)
        return solution / self.scale


class _LinearRegressor(MultiOutputMixin, RegressorMixin, LinearEstimator):
    fit_intercept: bool

    def _fit(self, X: Any, y: Any, sample_weight: Any, alpha: Any) -> _LeastSquares:
        check_flags(self, "fit_intercept")
        X, y = checked_data(self, X, y, reset=True, multi_output=True, y_numeric=True)
        y = y.astype(np.float64, copy=False)
        Y = y.reshape(len(y), -1)
        alpha = np.ravel(np.asarray(alpha, dtype=np.float64))
        if alpha.size not in (1, Y.shape[1]):
            raise ValueError(f"Number of targets and number of penalties do not correspond: {alpha.size} != {Y.shape[1]}")
        problem = _LeastSquares(X, Y, checked_weight(sample_weight, X), self.fit_intercept)
        coef, intercept = problem.solve(np.broadcast_to(alpha, Y.shape[1]))
        if y.ndim == 1:
            self.coef_, self.intercept_ = coef[:, 0].copy(), intercept[0]
        else:
            self.coef_, self.intercept_ = np.ascontiguousarray(coef.T), intercept if self.fit_intercept else 0.0
        return problem

    def predict(self, X: Any) -> np.ndarray:
        """Predictions of the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            Predicted values.
        """
        return self._scores(X)


class LinearRegression(_LinearRegressor):
    """Least squares.

    The normal equations are set up in one pass over the data and solved with steps of refinement. Where features depend on
    each other, or are more than samples, the solution of least norm comes from singular values, or for sparse data from LSQR.
    Sparse data with many features are solved by conjugate gradients, where these take less time than normal equations.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to add an intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    rank_ : int or None
        Rank of the centred data; None where the solution comes from iterations, which do not tell.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(self, *, fit_intercept: bool = True):
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegression:
        """Fits the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.rank_ = self._fit(X, y, sample_weight, 0.0).rank
        return self


class Ridge(_LinearRegressor):
    """Least squares with a penalty of squared coefficients.

    Parameters
    ----------
    alpha : float or ndarray of shape (n_targets,), default=1.0
        Factor of the sum of the squared coefficients; the intercept has no penalty.
    fit_intercept : bool, default=True
        Whether to add an intercept.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(self, alpha: float | np.ndarray = 1.0, *, fit_intercept: bool = True):
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Fits the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Target.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if np.ndim(self.alpha) == 0:
            check_number(self, "alpha", 0)
        elif np.min(self.alpha) < 0:
            raise ValueError(f"alpha must not be negative, but is {self.alpha}")
        self._fit(X, y, sample_weight, self.alpha)
        # One target in a column has a vector of coefficients, as in scikit-learn's Ridge and unlike its LinearRegression.
        self.coef_ = self.coef_[0] if len(self.coef_) == 1 and self.coef_.ndim == 2 else self.coef_
        return self
