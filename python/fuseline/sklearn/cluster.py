"""Clusters."""

from __future__ import annotations

import warnings
from typing import Any, Callable

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

import fuseline as fl

from ._base import check_choice, check_number, checked_data, checked_weight, progress


@fl.jit
def relative_distances(X, centers):
    """Squared distances, but for the squares of the samples, which all centers share."""
    return (centers * centers).sum(axis=1) - 2.0 * (X @ centers.T)


@fl.jit
def lloyd_sums(X, weight, centers):
    """For each center, the sum of the samples that are nearest to it, and of their weights."""
    distance = relative_distances(X, centers)
    member = distance <= distance.min(axis=1, keepdims=True)
    # A sample between several centers belongs to each in equal parts.
    part = member / member.sum(axis=1, keepdims=True) * weight[:, None]
    return part.T @ X, part.sum(axis=0)


@fl.jit
def nearest_centers(X, squares, centers):
    """The nearest center of each sample, and its squared distance."""
    distance = relative_distances(X, centers)
    return distance.argmin(axis=1), fl.maximum(squares + distance.min(axis=1), 0.0)


@fl.jit
def distances(X, squares, centers):
    return fl.sqrt(fl.maximum(squares[:, None] + relative_distances(X, centers), 0.0))


@fl.jit
def distances_with(X, squares, candidates, nearest):
    """The squared distances that samples would have, if each of the candidates were a center, too."""
    return fl.minimum(fl.maximum(squares[:, None] + relative_distances(X, candidates), 0.0), nearest[:, None])


@fl.jit
def row_squares(X):
    return (X * X).sum(axis=1)


@fl.jit
def mean_variance(X):
    mean = X.mean(axis=0)
    return fl.maximum((X * X).mean(axis=0) - mean * mean, 0.0).mean()


class _Samples:
    """Samples and their weights; dense ones moved to the origin, as distances far from it would lose digits."""

    def __init__(self, X: Any, weight: np.ndarray, middle: np.ndarray | None = None):
        self.offset = np.zeros(X.shape[1])
        if not scipy.sparse.issparse(X):
            self.offset = X.mean(axis=0) if middle is None else middle
            X = X - self.offset
        self.X, self.data, self.weight = X, fl.matrix(X), weight
        self.squares = row_squares(self.data)

    def rows(self, chosen: Any) -> np.ndarray:
        rows = self.X[chosen]
        return rows.toarray() if scipy.sparse.issparse(rows) else rows

    def nearest(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest center of each sample, and its squared distance."""
        labels, distance = nearest_centers(self.data, self.squares, centers)
        return labels.numpy().astype(np.int32), distance.numpy()

    def random_rows(self, count: int, random: np.random.RandomState) -> np.ndarray:
        """Different samples, drawn by weight."""
        return self.rows(random.choice(len(self.weight), count, replace=False, p=self.weight / self.weight.sum()))

    def distant_rows(self, count: int, random: np.random.RandomState) -> np.ndarray:
        """Samples far from each other, by k-means++ (Arthur, Vassilvitskii, SODA 2007).

        Of some samples, drawn in proportion to their squared distance from all that were picked, the one that helps most is
        picked next.
        """
        trials = 2 + int(np.log(count))
        picked = [random.choice(len(self.weight), p=self.weight / self.weight.sum())]
        infinite = np.full(len(self.weight), np.inf)
        nearest = distances_with(self.data, self.squares, self.rows(picked), infinite).numpy()[:, 0]
        while len(picked) < count:
            cumulated = np.cumsum(self.weight * nearest)
            drawn = np.searchsorted(cumulated, random.uniform(size=trials) * cumulated[-1], side="right")
            drawn = np.minimum(drawn, len(cumulated) - 1)
            candidates = distances_with(self.data, self.squares, self.rows(drawn), nearest).numpy()
            best = int((self.weight @ candidates).argmin())
            picked.append(drawn[best])
            nearest = np.ascontiguousarray(candidates[:, best])
        return self.rows(picked)

    def inertia(self, centers: np.ndarray) -> float:
        """The sum of squared distances from the nearest centers, by weight."""
        return float(self.weight @ self.nearest(centers)[1])

    def moved(
        self, centers: np.ndarray, max_iter: int, tolerance: float, report: Callable[[int, str, float], None] | None
    ) -> tuple[np.ndarray, int]:
        """The centers after Lloyd's iterations, and how many these were."""
        for iteration in range(1, max_iter + 1):
            sums, sizes = (part.numpy() for part in lloyd_sums(self.data, self.weight, centers))
            # Of equal centers all but one have no samples of their own.
            _, first = np.unique(centers, axis=0, return_index=True)
            is_idle = ~np.isin(np.arange(len(centers)), first) | (sizes == 0)
            means = np.where(is_idle[:, None], centers, sums / np.where(is_idle, 1.0, sizes)[:, None])
            if is_idle.any():
                self._use(np.flatnonzero(is_idle), means, centers)
            shift = ((means - centers) ** 2).sum()
            centers = means
            if report is not None:
                report(iteration, "inertia", self.inertia(centers))
            if shift <= tolerance:
                break
        return centers, iteration

    def _use(self, idle: np.ndarray, means: np.ndarray, centers: np.ndarray) -> None:
        """Moves idle centers to the samples that are farthest from all centers."""
        _, distance = self.nearest(centers)
        cost = self.weight * distance
        farthest = np.argsort(-cost, kind="stable")[: len(idle)]
        # What rounding leaves of a distance of 0 is none.
        farthest = farthest[cost[farthest] > 1e-12 * float(self.weight @ self.squares.numpy())]
        means[idle[: len(farthest)]] = self.rows(farthest)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters by Lloyd's iterations from centers that k-means++ picks.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {'k-means++', 'random'}, callable or array-like of shape (n_clusters, n_features), default='k-means++'
        The first centers: samples far from each other, any samples, what ``init(X, n_clusters, random_state=...)`` gives, or
        these.
    n_init : 'auto' or int, default='auto'
        Number of runs, of which the best counts; by default 1, and 10 where ``init`` is ``'random'`` or callable.
    max_iter : int, default=300
        Most iterations of a run.
    tol : float, default=1e-4
        A run ends when centers move by no more than this part of the mean variance of the features, in squares.
    verbose : int, default=0
        Whether each iteration writes a line to standard error, for which it makes another pass over the data.
    random_state : int, RandomState instance or None, default=None
        Seed of the first centers.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    inertia_ : float
        Sum of squared distances from the nearest centers, by weight.
    n_iter_ : int
        Iterations of the best run.
    n_features_in_ : int
        Features seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Finds clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_number(self, "n_clusters", 1, integer=True)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "tol", 0)
        check_number(self, "verbose", 0, integer=True)
        X = checked_data(self, X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        samples = _Samples(X, checked_weight(sample_weight, X))
        runs = self._runs()
        random = check_random_state(self.random_state)
        tolerance = self.tol * float(mean_variance(samples.data))
        best = np.inf
        for run in range(runs):
            first = self._first_centers(X, samples, random)
            report = progress(self, f", run {run + 1}" if runs > 1 else "") if self.verbose else None
            centers, iterations = samples.moved(first, self.max_iter, tolerance, report)
            labels, distance = samples.nearest(centers)
            inertia = float(samples.weight @ distance)
            if run == 0 or inertia < best:
                best = inertia
                self.cluster_centers_, self.labels_ = centers + samples.offset, labels
                self.inertia_, self.n_iter_ = inertia, iterations
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). Possibly due "
                "to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _runs(self) -> int:
        """The number of runs."""
        is_given = not isinstance(self.init, str) and not callable(self.init)
        if isinstance(self.n_init, str):
            check_choice(self, "n_init", "auto")
            return 1 if is_given or self.init == "k-means++" else 10
        check_number(self, "n_init", 1, integer=True)
        if is_given and self.n_init > 1:
            warnings.warn(
                "Explicit initial center position passed: performing only one init in KMeans instead of "
                f"n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
            return 1
        return self.n_init

    def _first_centers(self, X: Any, samples: _Samples, random: np.random.RandomState) -> np.ndarray:
        """The centers that a run starts from."""
        if isinstance(self.init, str):
            check_choice(self, "init", "k-means++", "random")
            rows = samples.random_rows if self.init == "random" else samples.distant_rows
            return rows(self.n_clusters, random)
        given = self.init(X, self.n_clusters, random_state=random) if callable(self.init) else self.init
        given = check_array(given, dtype=np.float64, input_name="init")
        for found, expected, what in zip(given.shape, (self.n_clusters, X.shape[1]), ("clusters", "features of the data")):
            if found != expected:
                raise ValueError(
                    f"The shape of the initial centers {given.shape} does not match the number of {what} {expected}."
                )
        return given - samples.offset

    def predict(self, X: Any) -> np.ndarray:
        """The nearest center of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of clusters.
        """
        samples = self._samples(X)
        return samples.nearest(self.cluster_centers_ - samples.offset)[0]

    def transform(self, X: Any) -> np.ndarray:
        """The distances of the samples from the centers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Distances.
        """
        samples = self._samples(X)
        return distances(samples.data, samples.squares, self.cluster_centers_ - samples.offset).numpy()

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The negative sum of squared distances from the nearest centers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
            0 where each sample is a center, else less.
        """
        samples = self._samples(X, sample_weight)
        return -samples.inertia(self.cluster_centers_ - samples.offset)

    def _samples(self, X: Any, sample_weight: Any = None) -> _Samples:
        check_is_fitted(self)
        X = checked_data(self, X)
        return _Samples(X, checked_weight(sample_weight, X), self.cluster_centers_.mean(axis=0))

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
