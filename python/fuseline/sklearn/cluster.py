"""Clusters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import fuseline as fl

from ._base import check_number, checked_data, checked_weight


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


def _rows(X: Any, chosen: Any) -> np.ndarray:
    rows = X[chosen]
    return rows.toarray() if scipy.sparse.issparse(rows) else rows


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters by Lloyd's iterations from centers that k-means++ picks.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    init : {'k-means++', 'random'} or array-like of shape (n_clusters, n_features), default='k-means++'
        The first centers: samples far from each other, any samples, or these.
    n_init : 'auto' or int, default='auto'
        Number of runs, of which the best counts; by default 1, and 10 where ``init='random'``.
    max_iter : int, default=300
        Most iterations of a run.
    tol : float, default=1e-4
        A run ends when centers move by no more than this part of the mean variance of the features, in squares.
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
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
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
        X = checked_data(self, X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        weight = checked_weight(sample_weight, X)
        runs, first = self._runs(X)
        random = check_random_state(self.random_state)

        offset = np.zeros(X.shape[1])
        if not scipy.sparse.issparse(X):
            # Distances of samples far from the origin would lose digits.
            offset = X.mean(axis=0)
            X = X - offset
        data = fl.matrix(X)
        squares = row_squares(data)
        tolerance = self.tol * float(mean_variance(data))
        best = np.inf
        for _ in range(runs):
            centers = self._first_centers(X, data, squares, weight, random) if first is None else first - offset
            centers, iterations = self._run(X, data, squares, weight, centers, tolerance)
            labels, distance = nearest_centers(data, squares, centers)
            inertia = float((weight * distance).sum())
            if inertia < best or not np.isfinite(best):
                best = inertia
                self.cluster_centers_, self.labels_ = centers + offset, labels.numpy().astype(np.int32)
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

    def _runs(self, X: Any) -> tuple[int, np.ndarray | None]:
        """The number of runs, and the first centers where they are given."""
        first = None
        if not isinstance(self.init, str):
            first = np.array(self.init, dtype=np.float64)
            if first.shape != (self.n_clusters, X.shape[1]):
                raise ValueError(
                    f"The shape of the initial centers {first.shape} does not match the number of clusters {self.n_clusters} "
                    f"and of features {X.shape[1]}."
                )
        elif self.init not in ("k-means++", "random"):
            raise ValueError(f"init must be 'k-means++', 'random' or an array, not {self.init!r}")
        if isinstance(self.n_init, str):
            if self.n_init != "auto":
                raise ValueError(f"n_init must be 'auto' or a number, not {self.n_init!r}")
            return (10 if first is None and self.init == "random" else 1), first
        check_number(self, "n_init", 1, integer=True)
        return (self.n_init if first is None else 1), first

    def _first_centers(self, X: Any, data: fl.Array, squares: fl.Array, weight: np.ndarray, random: Any) -> np.ndarray:
        if self.init == "random":
            return _rows(X, random.choice(X.shape[0], self.n_clusters, replace=False, p=weight / weight.sum()))
        # Of some samples, drawn in proportion to their squared distance from all centers, the one that helps most
        # becomes the next center.
        trials = 2 + int(np.log(self.n_clusters))
        picked = [random.choice(X.shape[0], p=weight / weight.sum())]
        infinite = np.full(X.shape[0], np.inf)
        nearest = distances_with(data, squares, _rows(X, picked), infinite).numpy()[:, 0]
        while len(picked) < self.n_clusters:
            cumulated = np.cumsum(weight * nearest)
            drawn = np.searchsorted(cumulated, random.uniform(size=trials) * cumulated[-1], side="right")
            drawn = np.minimum(drawn, X.shape[0] - 1)
            candidates = distances_with(data, squares, _rows(X, drawn), nearest).numpy()
            best = int((weight @ candidates).argmin())
            picked.append(drawn[best])
            nearest = np.ascontiguousarray(candidates[:, best])
        return _rows(X, picked)

    def _run(
        self, X: Any, data: fl.Array, squares: fl.Array, weight: np.ndarray, centers: np.ndarray, tolerance: float
    ) -> tuple[np.ndarray, int]:
        for iteration in range(1, self.max_iter + 1):
            sums, sizes = (part.numpy() for part in lloyd_sums(data, weight, centers))
            moved = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1e-300)[:, None], centers)
            _, first = np.unique(centers, axis=0, return_index=True)
            is_idle = sizes == 0
            is_idle |= ~np.isin(np.arange(len(centers)), first)
            if is_idle.any():
                moved[is_idle] = self._distant_rows(X, data, squares, weight, centers, moved[is_idle])
            shift = ((moved - centers) ** 2).sum()
            centers = moved
            if shift <= tolerance:
                break
        return centers, iteration

    @staticmethod
    def _distant_rows(X: Any, data: fl.Array, squares: fl.Array, weight: np.ndarray, centers: np.ndarray, idle: np.ndarray) -> np.ndarray:
        """Samples that are far from all centers, in the place of centers that have no samples of their own."""
        _, distance = nearest_centers(data, squares, centers)
        cost = weight * distance.numpy()
        farthest = np.argsort(-cost, kind="stable")[: len(idle)]
        # What rounding leaves of a distance of 0 is none.
        is_distant = cost[farthest] > 1e-12 * cost.sum() if cost.sum() > 0 else np.zeros(len(farthest), bool)
        result = idle.copy()
        result[: len(farthest)][is_distant] = _rows(X, farthest[is_distant])
        return result

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
        labels, _ = self._nearest(X)
        return labels

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
        X, centers = self._near_origin(X)
        return distances(X, row_squares(X), centers).numpy()

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
        _, distance = self._nearest(X)
        return -float(checked_weight(sample_weight, distance) @ distance)

    def _nearest(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        X, centers = self._near_origin(X)
        labels, distance = nearest_centers(X, row_squares(X), centers)
        return labels.numpy().astype(np.int32), distance.numpy()

    def _near_origin(self, X: Any) -> tuple[Any, np.ndarray]:
        """Samples and centers, moved near the origin where that leaves samples dense."""
        check_is_fitted(self)
        X = checked_data(self, X)
        if scipy.sparse.issparse(X):
            return X, self.cluster_centers_
        offset = self.cluster_centers_.mean(axis=0)
        return X - offset, self.cluster_centers_ - offset

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
