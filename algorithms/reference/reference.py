"""Independent solutions of the problems that the drivers in this folder solve with Fuseline.

    pip install -r requirements.txt
    python reference.py

writes reference.json. The solutions come from scikit-learn, statsmodels, SciPy and NumPy, never from the formulas of
the scripts: where a library solves the problem it is used, else a general optimiser of SciPy minimises the stated
objective. Nothing is random but what has a fixed seed.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.decomposition import NMF, PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import LinearSVC
from statsmodels.tools.sm_exceptions import DomainWarning

# Some links allow impossible means; the fitted means are possible all the same.
warnings.simplefilter("ignore", DomainWarning)

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "examples" / "data"


def load(name):
    table = np.loadtxt(DATA / name, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def standard(x):
    deviation = x.std(axis=0, ddof=1)
    return (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def with_ones(x):
    return np.column_stack([x, np.ones(len(x))])


def rows(matrix):
    return [[float(value) for value in row] for row in np.atleast_2d(matrix)]


def svm(x, sign, reg):
    """Weights of the squared hinge loss plus reg / 2 times their squares: LinearSVC, then Newton's method."""
    model = LinearSVC(C=0.5 / reg, dual=False, fit_intercept=False, tol=1e-10, max_iter=100000).fit(x, sign)
    weights = model.coef_[0]
    for _ in range(50):
        slack = np.maximum(1 - sign * (x @ weights), 0)
        active = x[slack > 0]
        gradient = reg * weights - x.T @ (slack * sign)
        weights = weights - np.linalg.solve(active.T @ active + reg * np.eye(x.shape[1]), gradient)
    slack = np.maximum(1 - sign * (x @ weights), 0)
    return weights, 0.5 * slack @ slack + 0.5 * reg * weights @ weights


def l2svm():
    x, benign = load("breast_cancer.csv")
    x, sign = with_ones(standard(x)), 2 * benign - 1
    weights, objective = svm(x, sign, 1.0)
    return {"model": rows(weights)[0], "objective": objective, "accuracy": np.mean(x @ weights * sign > 0)}


def msvm():
    x, digit = load("digits.csv")
    x = with_ones(x / 16)
    solutions = [svm(x, np.where(digit == c, 1.0, -1.0), 1.0) for c in range(10)]
    model = np.column_stack([weights for weights, _ in solutions])
    objectives = [objective for _, objective in solutions]
    return {"model": rows(model), "objectives": objectives, "accuracy": np.mean((x @ model).argmax(axis=1) == digit)}


def multinomial(x, label, classes, penalty):
    """Coefficients of all classes but the last, for the negative log-likelihood plus penalised squares."""
    m, k = x.shape[1], classes - 1
    chosen = np.eye(classes)[label]
    penalty = penalty[:, None]

    def scores(b):
        return np.column_stack([x @ b, np.zeros(len(x))])

    def value(flat):
        b = flat.reshape(m, k)
        s = scores(b)
        return np.sum(logsumexp(s, axis=1)) - np.sum(chosen * s) + 0.5 * np.sum(penalty * b**2)

    def gradient(flat):
        b = flat.reshape(m, k)
        s = scores(b)
        p = np.exp(s - logsumexp(s, axis=1, keepdims=True))
        return (x.T @ (p - chosen)[:, :k] + penalty * b).ravel()

    def product(flat, direction):
        b, v = flat.reshape(m, k), direction.reshape(m, k)
        s = scores(b)
        p = np.exp(s - logsumexp(s, axis=1, keepdims=True))[:, :k]
        q = p * (x @ v)
        return (x.T @ (q - p * q.sum(axis=1, keepdims=True)) + penalty * v).ravel()

    options = {"gtol": 1e-9, "maxiter": 1000}
    result = minimize(value, np.zeros(m * k), jac=gradient, hessp=product, method="trust-krylov", options=options)
    b = result.x.reshape(m, k)
    right = np.mean(scores(b).argmax(axis=1) == label)
    assert np.linalg.norm(gradient(result.x)) < 1e-6, np.linalg.norm(gradient(result.x))
    return {"betas": rows(b), "objective": result.fun, "accuracy": right}


def logistic_two_classes():
    """Label 0 becomes class 2, the baseline. Coefficients of scaled columns are penalised, the intercept is free."""
    x, benign = load("breast_cancer.csv")
    z = standard(x)
    model = LogisticRegression(C=1.0, tol=1e-12, max_iter=100000, solver="newton-cholesky").fit(z, benign)
    slopes = model.coef_[0] / x.std(axis=0, ddof=1)
    constant = model.intercept_[0] - slopes @ x.mean(axis=0)
    s = z @ model.coef_[0] + model.intercept_[0]
    objective = np.sum(np.logaddexp(0, s)) - np.sum(benign * s) + 0.5 * np.sum(model.coef_**2)
    return {
        "betas": [[float(b)] for b in [*slopes, constant]],
        "objective": objective,
        "accuracy": np.mean((s > 0) == (benign == 1)),
    }


def logistic_ten_classes():
    """Digit 0 becomes class 10, the baseline."""
    x, digit = load("digits.csv")
    label = np.where(digit == 0, 9, digit - 1).astype(int)
    return multinomial(x / 16, label, 10, np.ones(64))


def regressors():
    """Four standardised features of the breast cancer data, which do not separate the classes, and a column of ones."""
    x, benign = load("breast_cancer.csv")
    return with_ones(standard(x[:, [1, 4, 8, 9]])), benign, x[:, 0]


POWER_LINKS = {
    "identity": sm.families.links.Identity(),
    "log": sm.families.links.Log(),
    "inverse": sm.families.links.InversePower(),
    "sqrt": sm.families.links.Sqrt(),
    "inverse_squared": sm.families.links.InverseSquared(),
}
BINOMIAL_LINKS = {
    "logit": sm.families.links.Logit(),
    "probit": sm.families.links.Probit(),
    "cloglog": sm.families.links.CLogLog(),
    "cauchit": sm.families.links.Cauchy(),
}
FAMILIES = {
    "gaussian": (sm.families.Gaussian, ["identity", "log", "inverse"]),
    "poisson": (sm.families.Poisson, ["log", "sqrt", "identity"]),
    "gamma": (sm.families.Gamma, ["inverse", "log", "identity"]),
    "inverse_gaussian": (sm.families.InverseGaussian, ["inverse_squared", "inverse", "log", "identity"]),
}


def glm():
    x, benign, radius = regressors()
    counts = np.floor(radius)
    results = {}
    for family, (make, links) in FAMILIES.items():
        y = counts if family == "poisson" else radius
        for link in links:
            results[f"{family}_{link}"] = fitted(y, x, make(link=POWER_LINKS[link], check_link=False))
    for link, function in BINOMIAL_LINKS.items():
        results[f"binomial_{link}"] = fitted(benign, x, sm.families.Binomial(link=function))
    return results


def fitted(y, x, family):
    start = np.zeros(x.shape[1])
    start[-1] = family.link(np.mean(y))
    result = sm.GLM(y, x, family=family).fit(start_params=start, maxiter=1000, tol=1e-15)
    # The last iterations of least squares may stop early; the score must vanish.
    scale = np.abs(x * result.resid_working[:, None]).sum() + 1
    score = np.linalg.norm(result.model.score(result.params)) / scale
    assert score < 1e-8, (family, score)
    return {"betas": [float(b) for b in result.params], "deviance": result.deviance, "pearson": result.pearson_chi2}


def kmeans():
    """The least sums of squared distances that many runs find."""
    x, _ = load("digits.csv")
    z, _ = load("breast_cancer.csv")
    fits = {"digits_10": (x, 10), "breast_cancer_5": (standard(z), 5)}
    return {
        name: {"cost": float(KMeans(k, n_init=100, tol=0, max_iter=1000, random_state=1).fit(data).inertia_)}
        for name, (data, k) in fits.items()
    }


def als():
    """Losses of exact alternating least squares on the digits, whose cells of 0 count as unknown, from five starts."""
    x, _ = load("digits.csv")
    known = x != 0
    losses = {}
    for kind in ("L2", "wL2"):
        a, b = (known.sum(axis=1), known.sum(axis=0)) if kind == "wL2" else (np.ones(len(x)), np.ones(x.shape[1]))
        losses[kind] = [als_loss(x, known, 0.001 * a, 0.001 * b, seed) for seed in range(5)]
    return losses


def als_loss(x, known, a, b, seed, rank=10, iterations=20):
    random = np.random.default_rng(seed)
    u, v = random.uniform(-0.5, 0.5, (len(x), rank)), random.uniform(-0.5, 0.5, (x.shape[1], rank))
    for _ in range(iterations):
        u = ridge_rows(x, known, v, a)
        v = ridge_rows(x.T, known.T, u, b)
    loss = 0.5 * np.sum(known * (u @ v.T - x) ** 2)
    return loss + 0.5 * (a @ np.sum(u**2, axis=1) + b @ np.sum(v**2, axis=1))


def ridge_rows(x, known, v, penalty):
    solved = np.zeros((len(x), v.shape[1]))
    for i in range(len(x)):
        w = v[known[i]]
        # Rows without a known cell stay at 0, whatever the penalty.
        gram = w.T @ w + max(penalty[i], 1e-12) * np.eye(v.shape[1])
        solved[i] = np.linalg.solve(gram, w.T @ x[i, known[i]])
    return solved


def lm():
    x, y = load("breast_cancer.csv")
    z = standard(x)
    plain = LinearRegression(fit_intercept=False).fit(z, y).coef_
    one = Ridge(alpha=1.0, solver="cholesky", tol=1e-15).fit(z, y)
    slopes = one.coef_ / x.std(axis=0, ddof=1)
    return {
        "without_intercept": [float(b) for b in plain],
        "with_intercept": [float(b) for b in [*one.coef_, one.intercept_]],
        # Scaled columns, in terms of the given ones
        "scaled": [float(b) for b in [*slopes, one.intercept_ - slopes @ x.mean(axis=0)]],
    }


def pca():
    x, _ = load("digits.csv")
    centered = PCA(3, svd_solver="full").fit(x)
    scaled = PCA(3, svd_solver="full").fit(standard(x))
    # Signs are arbitrary.
    return {
        name: {"variances": [float(v) for v in fit.explained_variance_], "components": rows(np.abs(fit.components_.T))}
        for name, fit in (("centered", centered), ("scaled", scaled))
    }


def pnmf():
    """Objectives sum(W H) - sum(X log(W H)) of multiplicative updates on the digits from five starts."""
    x, _ = load("digits.csv")
    objectives = []
    for seed in range(5):
        options = {"solver": "mu", "beta_loss": "kullback-leibler", "tol": 0, "max_iter": 200}
        model = NMF(10, init="random", random_state=seed, **options)
        w = model.fit_transform(x)
        product = w @ model.components_
        objectives.append(float(product.sum() - np.sum(x * np.log(product + 1e-8))))
    return {"objectives": objectives}


def page_rank():
    """A graph of 1000 pages, each with links to three others by arithmetic, and the stationary ranks."""
    n, alpha = 1000, 0.85
    page = np.arange(1, n + 1)
    links = np.zeros((n, n))
    for target in (page**2 % n, 3 * page % n, (7 * page + 5) % n):
        np.add.at(links, (target, page - 1), 1)
    links /= links.sum(axis=0)
    ranks = np.linalg.solve(np.eye(n) - alpha * links, np.full(n, (1 - alpha) / n))
    return {"ranks": [float(r) for r in ranks]}


def autoencoder():
    """Objectives before the first and after each of five passes over the digits, with weights and order by sines."""
    x, _ = load("digits.csv")
    n, m, h1, h2 = len(x), x.shape[1], 20, 5

    def sines(rows, columns, frequency):
        return np.sin(frequency * np.arange(1, rows * columns + 1)).reshape(rows, columns)

    x = standard(x[np.argsort(sines(n, 1, 1.0)[:, 0], kind="stable")])
    shapes = [(h1, m), (h2, h1), (h1, h2), (m, h1)]
    weights = [np.sqrt(6 / sum(shape)) * sines(*shape, k + 1.0) for k, shape in enumerate(shapes)]
    biases = [np.zeros(shape[0]) for shape in shapes]

    def layers(batch):
        outputs = [batch]
        for w, b in zip(weights, biases, strict=True):
            outputs.append(np.tanh(outputs[-1] @ w.T + b))
        return outputs

    def objective():
        return 0.5 * float(np.sum((layers(x)[-1] - x) ** 2))

    step, decay, momentum, size = 0.02, 0.95, 0.9, 256
    moves = [np.zeros_like(p) for p in weights + biases]
    objectives = [objective()]
    for _ in range(5):
        for start in range(0, n, size):
            batch = x[start : start + size]
            outputs = layers(batch)
            error = outputs[-1] - batch
            gradients = [None] * 8
            for layer in (3, 2, 1, 0):
                delta = error * (1 - outputs[layer + 1] ** 2)
                gradients[layer], gradients[layer + 4] = delta.T @ outputs[layer], delta.sum(axis=0)
                error = delta @ weights[layer]
            for k, parameter in enumerate(weights + biases):
                moves[k] = momentum * moves[k] - step / len(batch) * gradients[k]
                parameter += moves[k]
        step *= decay
        objectives.append(objective())
    return {"objectives": objectives}


CASES = {
    "l2svm": l2svm,
    "msvm": msvm,
    "multiLogReg_2": logistic_two_classes,
    "multiLogReg_10": logistic_ten_classes,
    "glm": glm,
    "kmeans": kmeans,
    "alsCG": als,
    "autoencoder_2layer": autoencoder,
    "lm": lm,
    "pca": pca,
    "pnmf": pnmf,
    "pageRank": page_rank,
}


def rounded(value):
    """Twelve digits and no traces of rounding: more than a comparison uses, less than another machine may change."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.12g}") if abs(value) > 1e-15 else 0.0


def main():
    results = {}
    for name, solve in CASES.items():
        print(name, flush=True)
        results[name] = rounded(solve())
    (HERE / "reference.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
