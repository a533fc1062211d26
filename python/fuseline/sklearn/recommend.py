"""Recommendations of ratings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

import fuseline as fl

from ._base import check_flags, check_number, checked_data, progress


@fl.jit
def half_loss(X, U, V, user_penalty, item_penalty):
    error = ((X != 0) * (U @ V.T - X) ** 2).sum()
    return 0.5 * (error + (user_penalty[:, None] * U * U).sum() + (item_penalty[:, None] * V * V).sum())


@fl.jit
def residuals(X, U, V, penalty):
    """Negative slopes of the loss by ``U``; the product of factors is computed at the cells of ``X`` that are not 0."""
    return ((X != 0) * (X - U @ V.T)) @ V - penalty[:, None] * U


@fl.jit
def curvatures(X, S, V, penalty):
    return ((X != 0) * (S @ V.T)) @ V + penalty[:, None] * S


@fl.jit
def conjugate_step(U, R, S, product, size):
    """One step of conjugate gradients in each row, of its own length."""
    bend = (S * product).sum(axis=1)
    # Rows that are done make no step.
    length = fl.where(bend > 0, size / fl.maximum(bend, 1e-300), 0.0)
    U, R = U + length[:, None] * S, R - length[:, None] * product
    new_size = (R * R).sum(axis=1)
    turn = fl.where(size > 0, new_size / fl.maximum(size, 1e-300), 0.0)
    return U, R, R + turn[:, None] * S, new_size


def _solved_rows(X: fl.Array, U: fl.Array, V: fl.Array, penalty: np.ndarray, components: int) -> fl.Array:
    """The rows of ``U`` that minimise the loss with ``V`` as it is, all at once by conjugate gradients."""
    R = residuals(X, U, V, penalty)
    S, size = R, (R * R).sum(axis=1)
    enough = 1e-24 * float(size.max())
    # As many steps as unknowns solve a system; a few more make up for rounding.
    for _ in range(2 * components + 2):
        if float(size.max()) <= enough:
            break
        U, R, S, size = conjugate_step(U, R, S, curvatures(X, S, V, penalty), size)
    return U


class ALS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Factors of a matrix of ratings, of which only the cells that are not 0 are known, by alternating least squares.

    It minimises, over the known cells, half the squared errors of ``user_factors_ @ item_factors_.T``, plus ``alpha / 2`` times
    the squared factors. Each half of an iteration solves for one factor with the other as it is.

    Parameters
    ----------
    n_components : int, default=10
        Number of factors of each user and item.
    alpha : float, default=0.1
        Factor of the penalty.
    weighted : bool, default=False
        Whether the penalty of each user and item counts once for each of the ratings.
    max_iter : int, default=50
        Most iterations.
    tol : float, default=1e-4
        The fit ends when an iteration lowers the loss by no more than this part of it.
    verbose : int, default=0
        Whether each iteration writes a line to standard error.
    random_state : int, RandomState instance or None, default=None
        Seed of the first factors.

    Attributes
    ----------
    user_factors_ : ndarray of shape (n_samples, n_components)
        Factors of the rows.
    item_factors_ : ndarray of shape (n_features, n_components)
        Factors of the columns.
    loss_ : float
        The loss at the end.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Columns seen by ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are strings.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        alpha: float = 0.1,
        weighted: bool = False,
        max_iter: int = 50,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.weighted = weighted
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ALS:
        """Finds the factors.

        Parameters
        ----------
        X : {sparse matrix, array-like} of shape (n_samples, n_features)
            Ratings by users, in rows, of items, in columns; 0 where unknown.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_number(self, "n_components", 1, integer=True)
        check_number(self, "alpha", 0, positive=True)
        check_number(self, "max_iter", 1, integer=True)
        check_number(self, "tol", 0)
        check_number(self, "verbose", 0, integer=True)
        check_flags(self, "weighted")
        X = checked_data(self, X, reset=True)
        random = check_random_state(self.random_state)
        by_user, by_item = fl.matrix(X), fl.matrix(_transposed(X))
        user_penalty, item_penalty = self._penalty(X), self._penalty(_transposed(X))
        V = fl.matrix(random.uniform(-0.5, 0.5, (X.shape[1], self.n_components)))
        # At the end users are solved for, so that they are what transform gives for their ratings.
        U = _solved_rows(by_user, fl.zeros((X.shape[0], self.n_components)), V, user_penalty, self.n_components)
        loss, report = np.inf, progress(self)
        for self.n_iter_ in range(1, self.max_iter + 1):
            V = _solved_rows(by_item, V, U, item_penalty, self.n_components)
            U = _solved_rows(by_user, U, V, user_penalty, self.n_components)
            previous, loss = loss, float(half_loss(by_user, U, V, user_penalty, item_penalty))
            report(self.n_iter_, "loss", loss)
            if previous - loss <= self.tol * loss:
                break
        else:
            warnings.warn(
                f"Not converged after max_iter={self.max_iter} iterations: raise it, or tol.", ConvergenceWarning, stacklevel=2
            )
        self.user_factors_, self.item_factors_, self.loss_ = U.numpy(), V.numpy(), loss
        return self

    def _penalty(self, X: Any) -> np.ndarray:
        """The factor of the penalty of each row."""
        if not self.weighted:
            return np.full(X.shape[0], float(self.alpha))
        # Rows without ratings still need one.
        return self.alpha * np.maximum((fl.matrix(X) != 0).sum(axis=1).numpy(), 1.0)

    def transform(self, X: Any) -> np.ndarray:
        """The factors of users by their ratings, with the items as they are.

        Parameters
        ----------
        X : {sparse matrix, array-like} of shape (n_samples, n_features)
            Ratings; 0 where unknown.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Factors of the users.
        """
        check_is_fitted(self)
        X = checked_data(self, X)
        U = fl.zeros((X.shape[0], self.item_factors_.shape[1]))
        V = fl.matrix(self.item_factors_)
        return _solved_rows(fl.matrix(X), U, V, self._penalty(X), self.item_factors_.shape[1]).numpy()

    def predict(self, rows: Any, cols: Any = None) -> np.ndarray:
        """Ratings that the factors stand for.

        Parameters
        ----------
        rows : array-like of int, or {sparse matrix, array-like} of shape (n_samples, n_features)
            Numbers of users; without ``cols`` known ratings of users, whose factors are computed as by ``transform``.
        cols : array-like of int, default=None
            Numbers of items, one for each user.

        Returns
        -------
        ndarray of shape (n_pairs,) or (n_samples, n_features)
            A rating for each pair; without ``cols`` of all items.
        """
        check_is_fitted(self)
        if cols is None:
            return (fl.matrix(self.transform(rows)) @ self.item_factors_.T).numpy()
        users, items = self.user_factors_[np.asarray(rows)], self.item_factors_[np.asarray(cols)]
        return (users * items).sum(axis=-1)

    @property
    def _n_features_out(self) -> int:
        return self.item_factors_.shape[1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _transposed(X: Any) -> Any:
    return X.T.tocsr() if scipy.sparse.issparse(X) else np.ascontiguousarray(X.T)
