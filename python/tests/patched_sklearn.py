"""A plugin of pytest by which scikit-learn's own tests meet the estimators of Fuseline in the place of scikit-learn's.

They take all parameters of scikit-learn's: those that choose or tune an algorithm say nothing here, and a test that asks for
another one that Fuseline does not have is skipped. Tests of other estimators are left out, and of tests that differ in an
algorithm alone all but one. What is known to fail has to fail.
"""

import importlib
import inspect
import re

import pytest
from patched_sklearn_differences import ALGORITHMS, DIFFERENCES, LONG, SAME
from sklearn.base import BaseEstimator

import fuseline.sklearn

#: Where scikit-learn's tests import the classes from.
MODULES = {
    "sklearn.cluster": ["KMeans"],
    "sklearn.decomposition": ["NMF", "PCA"],
    "sklearn.linear_model": [
        "GammaRegressor",
        "LinearRegression",
        "LogisticRegression",
        "PoissonRegressor",
        "Ridge",
        "TweedieRegressor",
    ],
    "sklearn.svm": ["LinearSVC"],
}


def with_all_parameters(ours, theirs):
    """A class of ours that takes the parameters of scikit-learn's."""
    parameters = inspect.signature(theirs).parameters
    missing = parameters.keys() - inspect.signature(ours).parameters.keys() - ALGORITHMS

    def __init__(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for name in parameters:
            setattr(self, name, bound.arguments[name])

    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = signature = inspect.Signature([receiver, *parameters.values()])

    def checked(name):
        def method(self, *args, **kwargs):
            for parameter in missing:
                value = getattr(self, parameter)
                if value not in SAME.get(parameter, [parameters[parameter].default]):
                    pytest.skip(f"a parameter that Fuseline does not have: {parameter}={value!r}")
            return getattr(ours, name)(self, *args, **kwargs)

        return method

    body = {name: checked(name) for name in ("fit", "fit_transform") if hasattr(ours, name)}
    if hasattr(theirs, "_get_loss"):
        # By scikit-learn's loss its tests compute what they expect.
        body |= {"_get_loss": theirs._get_loss, "_base_loss": property(theirs._get_loss)}
    if "solver" in parameters:
        body["solver_"] = property(lambda self: self.solver)
    return type(ours.__name__, (ours,), body | {"__init__": __init__, "__module__": __name__, "__doc__": ours.__doc__})


CLASSES = {}
for module_name, names in MODULES.items():
    module = importlib.import_module(module_name)
    for name in names:
        CLASSES[name] = with_all_parameters(getattr(fuseline.sklearn, name), getattr(module, name))
        setattr(module, name, CLASSES[name])
# Pickles find the classes here.
globals().update(CLASSES)

_ANY_NAME = re.compile(rf"\b({'|'.join(CLASSES)})\b")


def parameters_of(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def estimators_among(values):
    """The classes of estimators in values, and those of instances."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from estimators_among(value)
        elif isinstance(value, BaseEstimator):
            yield type(value)
        elif isinstance(value, type) and issubclass(value, BaseEstimator):
            yield value


def is_about_ours(item):
    """Whether a test is given one of the classes, or given none names one."""
    given = set(estimators_among(parameters_of(item).values()))
    return bool(given & set(CLASSES.values()) if given else _ANY_NAME.search(inspect.getsource(item.function)))


def but_for_algorithms(item):
    """What tells a test from others, but for the choice of an algorithm."""
    told = {name: repr(value) for name, value in parameters_of(item).items() if name not in ALGORITHMS}
    return item.nodeid.split("[")[0], *sorted(told.items())


def chosen(items):
    """The tests that run; of several algorithms the one that is most like Fuseline's."""
    wanted = [item for item in items if is_about_ours(item) and "array_api" not in item.name]
    newton_first = sorted(wanted, key=lambda item: "newton-cholesky" not in item.name)
    first = {}
    for item in newton_first:
        first.setdefault(but_for_algorithms(item), item)
    return set(first.values())


def is_called(item, module, name):
    return item.module.__name__ == module and re.fullmatch(name, item.name)


def known(names):
    """What is said of tests, by their modules and the patterns of their names."""
    return [(module, name) for module, of_module in names.items() for name in of_module]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    run = chosen(items)
    stale = [pair for pair in known(DIFFERENCES) + known(LONG) if not any(is_called(item, *pair) for item in run)]
    if stale:
        raise pytest.UsageError(f"no tests that could run are called like these: {stale}")
    if not config.getoption("--all-of-sklearn"):
        run = {item for item in run if not any(is_called(item, *pair) for pair in known(LONG))}
    for module, name in known(DIFFERENCES):
        for item in run:
            if is_called(item, module, name):
                item.add_marker(pytest.mark.xfail(reason=DIFFERENCES[module][name], strict=True))
    config.hook.pytest_deselected(items=[item for item in items if item not in run])
    items[:] = [item for item in items if item in run]


def pytest_addoption(parser):
    parser.addoption("--all-of-sklearn", action="store_true", help="also the tests that take long")
