"""Factors of matrices."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Callable

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_array, check_is_fitted, check_non_negative

import fuseline as fl

from ._base import PASS_COST, check_choice, check_flags, check_number, checked_data, progress

#: What all eigenvectors of a matrix take, divided by the cube of its rows, in the unit of passes.
_DIRECT_COST = 0.5

#: Lanczos iterations are not tried where all eigenvectors of the covariance matrix cost less than so many restarts.
_FEWEST_RESTARTS = 10


@fl.jit
def dense_covariance(X, mean, samples):
    centred = X - mean
    return centred.T @ centred / (samples - 1.0)


@fl.jit
def sparse_covariance(X, mean, samples):
    # What the means would add is subtracted afterwards, so that zeros stay zeros.
    return (X.T @ X - samples * (mean[:, None] * mean)) / (samples - 1.0)


@fl.jit
def covariance_product(X, mean, samples, direction):
    change = X @ direction - (mean * direction).sum()
    return (X.T @ change - mean * change.sum()) / (samples - 1.0)


@fl.jit
def product_of_samples(X, mean, samples, direction):
    change = X.T @ direction - mean * direction.sum()
    return (X @ change - (mean * change).sum()) / (samples - 1.0)


@fl.jit
def directions_of_samples(X, mean, left):
    return X.T @ left - mean[:, None] * left.sum(axis=0)


@fl.jit
def variances_of_features(X, mean, samples):
    return ((X**2).sum(axis=0) - samples * mean**2) / (samples - 1.0)


@fl.jit
def projected(X, directions, mean):
    return X @ directions - mean @ directions


@fl.jit
def squared_lengths(X, mean, precision):
    centred = X - mean
    return ((centred @ precision) * centred).sum(axis=1)


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Principal components: the directions of the largest variance.

    They are eigenvectors of the covariance matrix, which one pass over the data computes; of dense data with fewer samples
    than features they are singular vectors. Few components of sparse data with many features come from Lanczos
    iterations, each a pass over the data.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of components; as many as there are by default. A part of 1: enough for this part of the variance.
    whiten : bool, default=False
        Whether ``transform`` scales components to a variance of 1.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Directions, by falling variance. Of each the largest part is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along the components.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The parts of the variance that they are.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the components of the samples.
    mean_ : ndarray of shape (n_features,)
        Means of the features.
    n_components_ : int
        Number of components.
    n_samples_ : int
        Samples seen by ``fit``.
    noise_variance_ : float
        Mean variance along the directions that were left out.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(self, n_components: int | float | None = None, *, whiten: bool = False):
        self.n_components = n_components
        self.whiten = whiten

    def fit(self, X: Any, y: Any = None) -> PCA:
        """Finds the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_flags(self, "whiten")
        X = checked_data(self, X, reset=True, ensure_min_samples=2)
        samples, features = X.shape
        most = min(samples, features)
        self._check_components(most)
        self.n_samples_ = samples
        self.mean_ = fl.matrix(X).mean(axis=0).numpy()
        variances, directions, total = self._few_directions(X) or self._all_directions(X)
        ratios = variances / total if total > 0 else np.full(len(variances), np.nan)
        count = self._count(ratios, most)
        directions = directions[:count]
        largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1, keepdims=True), axis=1)
        self.n_components_ = count
        self.components_ = np.ascontiguousarray(np.where(largest < 0, -directions, directions))
        self.explained_variance_ = variances[:count].copy()
        self.explained_variance_ratio_ = ratios[:count].copy()
        self.singular_values_ = np.sqrt(self.explained_variance_ * (samples - 1))
        rest = max(total - self.explained_variance_.sum(), 0.0)
        self.noise_variance_ = float(rest / (most - count)) if count < most else 0.0
        return self

    def _all_directions(self, X: Any) -> tuple[np.ndarray, np.ndarray, float]:
        """Falling variances, their directions, and the sum of all variances."""
        samples, features = X.shape
        if samples < features and not scipy.sparse.issparse(X):
            _, values, directions = scipy.linalg.svd(X - self.mean_, full_matrices=False, overwrite_a=True, check_finite=False)
            variances = values**2 / (samples - 1)
        else:
            covariance = sparse_covariance if scipy.sparse.issparse(X) else dense_covariance
            variances, vectors = scipy.linalg.eigh(covariance(X, self.mean_, float(samples)).numpy(), check_finite=False)
            most = min(X.shape)
            variances, directions = np.maximum(variances[::-1], 0.0)[:most], vectors.T[::-1][:most]
        return variances, directions, variances.sum()

    def _few_directions(self, X: Any) -> tuple[np.ndarray, np.ndarray, float] | None:
        """The wanted number of directions, with their variances and the sum of all, by Lanczos iterations (ARPACK).

        Nothing of dense data, and where the covariance matrix costs less, be it only after iterations of as much work.
        """
        wanted = self.n_components
        if not (scipy.sparse.issparse(X) and isinstance(wanted, Integral) and 0 < wanted < min(X.shape)):
            return None
        samples, features = X.shape
        size = min(X.shape)
        basis = min(max(2 * int(wanted) + 1, 20), size)
        restarts = int(_DIRECT_COST * features**3 / (basis * (PASS_COST + 2 * X.nnz + 2 * basis * size)))
        if restarts < _FEWEST_RESTARTS:
            return None
        data = fl.matrix(X)
        # The products of samples have the same eigenvalues, and are the smaller matrix where samples are few.
        product = covariance_product if features <= samples else product_of_samples
        operator = scipy.sparse.linalg.LinearOperator(
            (size, size), lambda v: product(data, self.mean_, float(samples), v.ravel()).numpy(), dtype=np.float64
        )
        start = np.random.default_rng(0).uniform(-1.0, 1.0, size)
        try:
            variances, vectors = scipy.sparse.linalg.eigsh(operator, int(wanted), v0=start, ncv=basis, maxiter=restarts)
        except scipy.sparse.linalg.ArpackError:
            return None
        variances, vectors = variances[::-1], np.ascontiguousarray(vectors[:, ::-1])
        if features > samples:
            if variances[-1] <= size * np.finfo(np.float64).eps * variances[0]:
                return None
            vectors = directions_of_samples(data, self.mean_, vectors).numpy() / np.sqrt(variances * (samples - 1.0))
        total = float(variances_of_features(data, self.mean_, float(samples)).sum())
        return np.maximum(variances, 0.0), vectors.T, total

    def _check_components(self, most: int) -> None:
        wanted = self.n_components
        if wanted is None:
            return
        if isinstance(wanted, bool) or not isinstance(wanted, Real):
            raise TypeError(f"n_components must be a number or None, not {wanted!r}")
        if isinstance(wanted, Integral):
            if not 0 <= wanted <= most:
                raise ValueError(f"n_components={wanted} must be between 0 and min(n_samples, n_features)={most}")
        elif not 0 < wanted < 1:
            raise ValueError(f"n_components={wanted} must be between 0 and 1, or an integer")

    def _count(self, ratios: np.ndarray, most: int) -> int:
        if self.n_components is None:
            return most
        if isinstance(self.n_components, Integral):
            return int(self.n_components)
        return min(int(np.searchsorted(np.cumsum(ratios), self.n_components, side="right")) + 1, most)

    def transform(self, X: Any) -> np.ndarray:
        """The samples in the coordinates of the components.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Coordinates.
        """
        check_is_fitted(self)
        X = checked_data(self, X)
        return projected(X, np.ascontiguousarray(self.components_.T / self._deviations()), self.mean_).numpy()

    def inverse_transform(self, X: Any) -> np.ndarray:
        """What samples have these coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Samples.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float64)
        return (fl.matrix(X) @ (self._deviations()[:, None] * self.components_) + self.mean_).numpy()

    def get_covariance(self) -> np.ndarray:
        """The covariance of the features by the model: along the components their variances, elsewhere the noise.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Covariances.
        """
        check_is_fitted(self)
        return self._along_components(lambda variance: variance)

    def get_precision(self) -> np.ndarray:
        """The inverse of the covariance of the features by the model.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The inverse; where no variance is left for a direction, ``numpy.linalg.LinAlgError`` says so.
        """
        check_is_fitted(self)
        if not self._variances().all() or self.noise_variance_ == 0 and self.n_components_ < self.n_features_in_:
            raise np.linalg.LinAlgError("the covariance is singular: a direction has no variance")
        return self._along_components(lambda variance: 1.0 / variance)

    def _along_components(self, function: Callable[[Any], Any]) -> np.ndarray:
        """The matrix with these values of a function of the variances along the components, and of the noise elsewhere."""
        is_complete = self.n_components_ == self.n_features_in_
        elsewhere = 0.0 if is_complete else function(self.noise_variance_)
        matrix = (self.components_.T * (function(self._variances()) - elsewhere)) @ self.components_
        matrix[np.diag_indices_from(matrix)] += elsewhere
        return matrix

    def _variances(self) -> np.ndarray:
        return np.maximum(self.explained_variance_, self.noise_variance_)

    def score_samples(self, X: Any) -> np.ndarray:
        """The logarithm of the likelihood of each sample under the normal distribution of the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Logarithms of likelihoods.
        """
        check_is_fitted(self)
        X, precision = checked_data(self, X), self.get_precision()
        _, size = np.linalg.slogdet(precision)
        return 0.5 * (size - len(precision) * np.log(2.0 * np.pi) - squared_lengths(X, self.mean_, precision).numpy())

    def score(self, X: Any, y: Any = None) -> float:
        """The mean logarithm of the likelihood of the samples under the normal distribution of the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.

        Returns
        -------
        float
            The mean of what ``score_samples`` gives.
        """
        return float(self.score_samples(X).mean())

    def _deviations(self) -> np.ndarray:
        """What components are divided by."""
        if not self.whiten:
            return np.ones(self.n_components_)
        return np.maximum(np.sqrt(self.explained_variance_), np.finfo(np.float64).eps)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


#: What products and denominators are at least, as in scikit-learn.
_SMALLEST = float(np.finfo(np.float32).eps)


@fl.jit
def better_left(X, W, H, linear, quadratic):
    """Lee and Seung's multiplicative update of ``W``; ``W @ H`` is computed at the cells of ``X`` that are not 0."""
    numerator = (X / fl.maximum(W @ H, _SMALLEST)) @ H.T
    denominator = H.sum(axis=1) + linear + quadratic * W
    return W * numerator / fl.maximum(denominator, _SMALLEST)


@fl.jit
def better_right(X, W, H, linear, quadratic):
    """The same of ``H``."""
    numerator = W.T @ (X / fl.maximum(W @ H, _SMALLEST))
    denominator = W.sum(axis=0)[:, None] + linear + quadratic * H
    return H * numerator / fl.maximum(denominator, _SMALLEST)


@fl.jit
def entropy(X):
    """The part of the divergence that the factors do not change."""
    return (X * fl.log_nonzero(X)).sum() - X.sum()


@fl.jit
def cross_entropy(X, W, H):
    return (W.sum(axis=0) * H.sum(axis=1)).sum() - (X * fl.log(fl.maximum(W @ H, _SMALLEST))).sum()


class NMF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Non-negative factors of a non-negative matrix under Poisson's likelihood: ``X`` is about ``W @ components_``.

    It minimises the Kullback-Leibler divergence by multiplicative updates, as scikit-learn's class does with
    ``beta_loss='kullback-leibler', solver='mu'``.

    Parameters
    ----------
    n_components : int, 'auto' or None, default='auto'
        Number of components; by default that of the features, or of the factors given to ``fit_transform``.
    init : {'random', 'nndsvda', 'custom'} or None, default=None
        The first factors: random numbers, singular vectors with the mean in the place of zeros, or those given to
        ``fit_transform``. By default singular vectors, or random numbers where there are more components than these.
    tol : float, default=1e-4
        The fit ends when ten iterations lower the distance by less than this part of the first one.
    max_iter : int, default=200
        Most iterations.
    random_state : int, RandomState instance or None, default=None
        Seed of the first factors.
    alpha_W : float, default=0.0
        Factor of the penalty of ``W``, scaled by the number of features.
    alpha_H : float or 'same', default='same'
        Factor of the penalty of ``H``, scaled by the number of samples.
    l1_ratio : float, default=0.0
        The part of the penalties that is of absolute values, not of squares.
    verbose : int, default=0
        Whether every tenth iteration writes a line to standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The right factor, ``H``.
    n_components_ : int
        Number of components.
    reconstruction_err_ : float
        The square root of twice the divergence of the training data and the product of the factors.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        init: str | None = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: float | str = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
    ):
        self.n_components = n_components
        self.init = init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> NMF:
        """Finds the factors.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data.
        y : None
            Ignored.
        W : array-like of shape (n_samples, n_components), default=None
            The first left factor, with ``init='custom'``.
        H : array-like of shape (n_components, n_features), default=None
            The first right factor, with ``init='custom'``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self.fit_transform(X, W=W, H=H)
        return self

    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> np.ndarray:
        """Finds the factors, and gives the left one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data.
        y : None
            Ignored.
        W : array-like of shape (n_samples, n_components), default=None
            The first left factor, with ``init='custom'``.
        H : array-like of shape (n_components, n_features), default=None
            The first right factor, with ``init='custom'``.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The left factor.
        """
        self._check_parameters()
        X = checked_data(self, X, reset=True)
        check_non_negative(X, "NMF (input X)")
        W, H = self._first_factors(X, W, H)
        penalties = self._penalties(*X.shape)
        W, H, error, self.n_iter_ = self._improved(X, W, H, penalties, changes_right=True)
        if self.n_iter_ == self.max_iter and self.tol > 0:
            warnings.warn(
                f"Not converged after max_iter={self.max_iter} iterations: raise it, or tol.", ConvergenceWarning, stacklevel=2
            )
        self.components_, self.n_components_ = H, H.shape[0]
        self.reconstruction_err_ = error
        return W

    def transform(self, X: Any) -> np.ndarray:
        """The left factor of other data, by the same right one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Non-negative data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The left factor.
        """
        check_is_fitted(self)
        X = checked_data(self, X)
        check_non_negative(X, "NMF (input X)")
        W = np.full((X.shape[0], self.n_components_), np.sqrt(X.mean() / self.n_components_))
        return self._improved(X, W, self.components_, self._penalties(*X.shape), changes_right=False)[0]

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The data that a left factor stands for.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            The left factor.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            The product of both factors.
        """
        check_is_fitted(self)
        return (fl.matrix(check_array(X, dtype=np.float64)) @ self.components_).numpy()

    def _check_parameters(self) -> None:
        check_number(self, "tol", 0)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "alpha_W", 0)
        if not isinstance(self.alpha_H, str):
            check_number(self, "alpha_H", 0)
        else:
            check_choice(self, "alpha_H", "same")
        check_number(self, "l1_ratio", 0, maximum=1)
        check_number(self, "verbose", 0, integer=True)
        check_choice(self, "init", None, "random", "nndsvda", "custom")
        if self.n_components is not None and not isinstance(self.n_components, str):
            check_number(self, "n_components", 1, integer=True)
        else:
            check_choice(self, "n_components", None, "auto")

    def _penalties(self, samples: int, features: int) -> tuple[float, float, float, float]:
        """The factors of both penalties of both factors."""
        left = features * self.alpha_W
        right = samples * (self.alpha_W if isinstance(self.alpha_H, str) else self.alpha_H)
        return (
            float(left * self.l1_ratio),
            float(left * (1 - self.l1_ratio)),
            float(right * self.l1_ratio),
            float(right * (1 - self.l1_ratio)),
        )

    def _first_factors(self, X: Any, W: Any, H: Any) -> tuple[np.ndarray, np.ndarray]:
        samples, features = X.shape
        if self.init == "custom":
            W, H = (check_array(factor, dtype=np.float64, input_name=name) for name, factor in (("W", W), ("H", H)))
            components = H.shape[0] if self.n_components in (None, "auto") else self.n_components
            if W.shape != (samples, components) or H.shape != (components, features):
                raise ValueError(
                    f"W and H have the shapes {W.shape} and {H.shape}, not {(samples, components)} and {(components, features)}"
                )
            check_non_negative(W, "NMF (input W)")
            check_non_negative(H, "NMF (input H)")
            return W, H
        components = features if self.n_components in (None, "auto") else self.n_components
        random = check_random_state(self.random_state)
        mean = X.mean()
        if self.init == "random" or self.init is None and components > min(X.shape):
            size = np.sqrt(mean / components)
            H = np.abs(size * random.standard_normal((components, features)))
            W = np.abs(size * random.standard_normal((samples, components)))
            return W, H
        if components > min(X.shape):
            raise ValueError(f"init='nndsvda' needs n_components={components} <= min(n_samples, n_features)={min(X.shape)}")
        W, H = _singular_factors(X, components, random)
        return np.where(W > 0, W, mean), np.where(H > 0, H, mean)

    def _improved(
        self, X: Any, W: np.ndarray, H: np.ndarray, penalties: tuple[float, float, float, float], *, changes_right: bool
    ) -> tuple[np.ndarray, np.ndarray, float, int]:
        """The factors, the square root of twice their divergence, and the number of iterations."""
        data, left, right = fl.matrix(X), fl.matrix(W), fl.matrix(H)
        constant = float(entropy(data))

        def distance() -> float:
            return float(np.sqrt(2.0 * max(constant + float(cross_entropy(data, left, right)), 0.0)))

        report = progress(self)
        first = previous = distance()
        for iteration in range(1, self.max_iter + 1):
            left = better_left(data, left, right, *penalties[:2])
            if changes_right:
                right = better_right(data, left, right, *penalties[2:])
            if iteration % 10 == 0 and (self.tol > 0 or self.verbose):
                error = distance()
                report(iteration, "error", error)
                if self.tol > 0 and previous - error <= self.tol * first:
                    break
                previous = error
        return left.numpy(), right.numpy(), distance(), iteration

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags


def _singular_factors(X: Any, components: int, random: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each pair of singular vectors the larger of the positive and the negative parts (Boutsidis, Gallopoulos, 2008)."""
    left, values, right = randomized_svd(X, components, random_state=random)
    W, H = np.zeros((X.shape[0], components)), np.zeros((components, X.shape[1]))
    # The first singular vectors of a non-negative matrix have one sign.
    W[:, 0], H[0] = np.sqrt(values[0]) * np.abs(left[:, 0]), np.sqrt(values[0]) * np.abs(right[0])
    for i in range(1, components):
        parts = [(np.maximum(sign * left[:, i], 0.0), np.maximum(sign * right[i], 0.0)) for sign in (1.0, -1.0)]
        sizes = [(np.linalg.norm(one), np.linalg.norm(other)) for one, other in parts]
        (one, other), (one_size, other_size) = max(zip(parts, sizes), key=lambda pair: pair[1][0] * pair[1][1])
        if one_size > 0 and other_size > 0:
            scale = np.sqrt(values[i] * one_size * other_size)
            W[:, i], H[i] = scale * one / one_size, scale * other / other_size
    return W, H
