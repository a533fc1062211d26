"""Minimisation of a loss of linear scores by a truncated Newton method.

A loss is written once, as a few lines of linear algebra that Fuseline fuses into a pass over the data: its value, gradient and
curvature at some coefficients, and the product of the curvature and a direction.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import fuseline as fl

#: What line searches accept: this part of the descent that the slope promises.
_SUFFICIENT = 1e-4

#: Differences of losses below this part of them are rounding.
_ROUNDING = 1e-14


class Loss(NamedTuple):
    """The functions that make a loss, in which ``weight`` are the weights of the samples.

    ``evaluate(X, target, weight, coef, intercept)`` gives the loss, its gradients by coefficients and intercept, and the
    curvature; ``product(X, curvature, coef, intercept)`` the change of the gradients in a direction;
    ``diagonal(X, curvature)`` the second derivatives by each coefficient and intercept.
    """

    evaluate: Callable[..., tuple]
    product: Callable[..., tuple]
    diagonal: Callable[..., tuple]


@fl.jit
def curvature_product(X, curvature, coef, intercept):
    change = curvature * (X @ coef + intercept)
    return X.T @ change, change.sum()


@fl.jit
def curvature_diagonal(X, curvature):
    return (X**2).T @ curvature, curvature.sum()


class Objective:
    """A loss with a penalty, as a function of parameters: coefficients, and below them intercepts.

    ``penalty`` has the factor of half the squared parameter for the coefficients and for the intercept; an intercept without
    freedom stays what it is.
    """

    def __init__(self, loss: Loss, X: Any, target: Any, weight: np.ndarray, penalty: tuple[float, float], has_intercept: bool):
        # What is captured once serves all passes.
        self.loss, self.X, self.target, self.weight = loss, fl.matrix(X), target, fl.matrix(weight)
        self.penalty, self.has_intercept = penalty, has_intercept

    def evaluate(self, parameters: np.ndarray) -> tuple[float, np.ndarray, Any]:
        """The value, the gradient, and the curvature for the methods below."""
        coef, intercept = parameters[:-1], parameters[-1]
        value, *gradient, curvature = self.loss.evaluate(self.X, self.target, self.weight, coef, intercept)
        penalised = self._penalised(parameters)
        return float(value) + 0.5 * float((parameters * penalised).sum()), self._joined(gradient) + penalised, curvature

    def product(self, curvature: Any, direction: np.ndarray) -> np.ndarray:
        """The second derivatives times a direction."""
        change = self.loss.product(self.X, curvature, direction[:-1], direction[-1])
        return self._joined(change) + self._penalised(direction)

    def diagonal(self, curvature: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The second derivative by each parameter; where it is 0, any other number."""
        diagonal = self._joined(self.loss.diagonal(self.X, curvature)) + self._penalised(np.ones(shape))
        return np.where(diagonal > 0, diagonal, 1.0)

    def _joined(self, parts: Any) -> np.ndarray:
        coef, intercept = (np.asarray(part) for part in parts)
        return np.concatenate([coef, intercept[None] * self.has_intercept])

    def _penalised(self, parameters: np.ndarray) -> np.ndarray:
        result = self.penalty[0] * parameters
        result[-1] = self.penalty[1] * parameters[-1]
        return result


def minimise(
    objective: Objective, parameters: np.ndarray, *, tol: float, max_iter: int, report: Callable[[int, str, float], None]
) -> tuple[np.ndarray, int]:
    """Parameters at which no part of the gradient is above ``tol``, and the number of iterations, each of which is reported.

    Each iteration solves for Newton's direction by preconditioned conjugate gradients, as exactly as the distance from the
    minimum deserves, and searches along it.
    """
    value, gradient, curvature = objective.evaluate(parameters)
    first = np.linalg.norm(gradient)
    for iteration in range(max_iter):
        if np.abs(gradient).max() <= tol:
            return parameters, max(iteration, 1)
        accuracy = min(0.5, np.sqrt(np.linalg.norm(gradient) / first))
        direction = _newton_direction(objective, curvature, gradient, accuracy)
        found = _line_search(objective, parameters, value, gradient, direction)
        if found is None:
            warnings.warn(
                f"The gradient stays at {np.abs(gradient).max():.1e}, above tol={tol:.1e}: the loss cannot be told from "
                "smaller ones. Scale the data, or raise tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
            return parameters, iteration + 1
        parameters, value, gradient, curvature = found
        report(iteration + 1, "objective", value)
    if np.abs(gradient).max() > tol:
        warnings.warn(
            f"Not converged after max_iter={max_iter} iterations: scale the data, or raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return parameters, max_iter


def _newton_direction(objective: Objective, curvature: Any, gradient: np.ndarray, accuracy: float) -> np.ndarray:
    """An approximate solution of ``second derivatives @ direction = -gradient``, which leads downwards."""
    scale = objective.diagonal(curvature, gradient.shape)
    direction = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / scale
    search = scaled
    size = first = (residual * scaled).sum()
    # In exact arithmetic as many steps are enough as there are parameters.
    for _ in range(min(10 * gradient.size, 10_000)):
        if size <= accuracy**2 * first:
            break
        product = objective.product(curvature, search)
        bend = (search * product).sum()
        if not bend > 0:
            break
        direction = direction + size / bend * search
        residual = residual - size / bend * product
        scaled = residual / scale
        before, size = size, (residual * scaled).sum()
        search = scaled + size / before * search
    return direction if direction.any() else -gradient / scale


def _line_search(
    objective: Objective, parameters: np.ndarray, value: float, gradient: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray, Any] | None:
    """The first of ever shorter steps that lowers the value enough."""
    slope = (gradient * direction).sum()
    step = 1.0
    for _ in range(50):
        candidate = parameters + step * direction
        new_value, new_gradient, curvature = objective.evaluate(candidate)
        # Where values differ only by rounding, gradients still tell which point is nearer to the minimum.
        is_nearer = abs(new_value - value) <= _ROUNDING * abs(value) and np.linalg.norm(new_gradient) < np.linalg.norm(gradient)
        if is_nearer or new_value <= value + _SUFFICIENT * step * slope and np.isfinite(new_gradient).all():
            if not np.array_equal(candidate, parameters):
                return candidate, new_value, new_gradient, curvature
        step *= 0.5
    return None
