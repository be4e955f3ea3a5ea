"""Random fits of every estimator, search, path, loss, family, storage and solver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import matreg

KINDS = [
    ("RMR", "epsilon_insensitive"),
    ("RMR", "absolute"),
    ("RMR", "huber"),
    ("RMR", "quantile"),
    ("SMM", "hinge"),
    ("SMM", "squared_hinge"),
    ("RGLM", "normal"),
    ("RGLM", "binomial"),
    ("RGLM", "poisson"),
    ("GRMR", "epsilon_insensitive"),
    ("GRMR", "huber"),
    ("GSMM", "hinge"),
]
COMMON = ["covariates", "ridge on covariates", "bases", "adaptive", "search"]
# What a fit may have beside tau and C.
EXTRAS = {
    "RMR": [*COMMON, "l1", "labels", "joint", "path"],
    "SMM": [*COMMON, "l1", "classes", "path"],
    "RGLM": [*COMMON, "l1", "ridge", "labels", "joint", "multinomial", "path"],
    "GRMR": [*COMMON, "split"],
    "GSMM": [*COMMON, "split", "classes"],
}
# Extras with one problem, and no covariates or those of their own.
PLAIN = ["", "covariates", "ridge on covariates", "bases", "adaptive", "l1", "ridge", "search"]
SOLVERS = ["auto", "auto", "interior", "active-set", "augmented", "first-order", "admm"]
SAMPLES = ["normal", "tied", "duplicated", "constant", "one-hot", "heavy-tailed", "collinear"]
WEIGHTS = ["none", "uniform", "zeros", "huge"]
# What may be added to most extras.
TWISTS = ["covariates", "early", "loose", "units", "C", "again", "many weights", "dtype", "times"]
STORAGES = ["file", "dask", "zarr", "h5"]
DTYPES = ["float32", "float16", "int64", "int16", "uint8", "bool"]


@dataclass
class Case:
    """A random fit: estimator, loss or family, data, weights, storage and parameters."""

    name: str
    kind: str
    extra: str
    X: Any
    y: Any
    s: Any
    Z: Any
    storage: str
    parameters: dict[str, Any]
    twist: str = ""


def random_case(seed: int, many: float = 0.02) -> Case:
    """A fit of any kind; the share `many` of them has thousands of samples."""
    g = np.random.default_rng(seed)
    name, kind = KINDS[seed % len(KINDS)]
    extras = ["", "", *EXTRAS[name]]
    extra = extras[seed // len(KINDS) % len(extras)]
    n = int(g.choice([1, 2, 3, 5, 8, 13, 30] if extra != "search" else [8, 13, 30]))
    if g.random() < many and name not in ("GRMR", "GSMM") and extra != "l1":
        n = int(g.integers(2000, 4000))
    p, q = (1, 1) if g.random() < 0.2 else (int(g.integers(1, 4)), int(g.integers(1, 4)))
    X = random_samples(g, str(g.choice(SAMPLES)), n, p, q)
    y = random_labels(g, name, kind, X)
    s = random_weights(g, n, y, name, kind)
    parameters: dict[str, Any] = {"fit_intercept": bool(g.random() < 0.8)}
    # The third is tau_max, or more.
    largest = "50*scale" if name == "RGLM" else "200*scale"
    parameters["tau"] = [0.0, "scale", largest, 10.0 ** g.uniform(-4, 1)][int(g.integers(4))]
    if name == "RGLM":
        parameters["family"] = kind
    else:
        parameters["loss"] = kind
        parameters["C"] = ["scale", ".03*scale", 10.0 ** g.uniform(-3, 3)][int(g.integers(3))]
    if name == "RMR" and n <= 30 and extra not in ("search", "l1"):
        parameters["solver"] = str(g.choice(SOLVERS))
        if parameters["solver"] == "admm":  # slow, and honest about it
            parameters["max_iter"] = 100
    if kind == "quantile":
        parameters["quantile"] = float(g.uniform(0.1, 0.9))
    streams = kind in ("epsilon_insensitive", "absolute", "quantile", "hinge", "normal")
    storage = "array"
    if streams and name not in ("GRMR", "GSMM") and parameters.get("solver") != "admm":
        storage = str(g.choice(STORAGES)) if g.random() < 0.15 else "array"
    case = Case(name, kind, extra, X, y, s, None, storage, parameters)
    case = with_extra(g, case)
    return with_twist(g, case) if g.random() < 0.4 else case


def with_extra(g: np.random.Generator, case: Case) -> Case:
    """The case with what is beside tau and C."""
    n, p, q = case.X.shape
    own = case.parameters
    match case.extra:
        case "covariates" | "ridge on covariates":
            case.Z = g.standard_normal((n, int(g.integers(1, 3)))) * 10.0 ** g.integers(-1, 2)
            if g.random() < 0.3:  # constant, or the same twice
                case.Z[:, -1] = case.Z[:, 0] if g.random() < 0.5 else 1.0
            if case.extra.startswith("ridge"):
                own["covariate_ridge"] = 10.0 ** g.uniform(-2, 2)
        case "bases":
            own["row_basis"] = g.standard_normal((p, p)) + 2.0 * np.eye(p)
            if g.random() < 0.5:
                own["column_basis"] = np.diag(g.uniform(0.3, 2.0, q))
        case "adaptive":
            own["adaptive"] = 1
        case "l1":
            own["l1"], own["max_iter"] = float(g.uniform(0.1, 1.0)), 1000
        case "ridge":
            own["ridge"] = float(g.uniform(0.1, 0.9))
        case "labels" | "joint":
            more = random_labels(g, case.name, case.kind, case.X)
            case.y = np.column_stack([case.y, more])
            if case.kind == "binomial":
                case.extra, case.y = "", case.y[:, 0]
            elif n > 3 and g.random() < 0.5:
                case.y = case.y.astype(float)
                case.y[0, 1] = np.nan
            if case.extra == "joint":
                own["joint"] = str(g.choice(["rows", "columns"]))
        case "multinomial":
            case.kind, case.storage = "binomial", "array"  # that of two classes
            case.y = np.unique(g.integers(0, 3, n), return_inverse=True)[1]
            own |= {"family": "multinomial", "joint": [None, "rows", "columns"][g.integers(3)]}
            own["tau"] = own["tau"] or "scale"  # without tau it takes long and proves nothing
        case "classes":
            case.y = np.concatenate([np.arange(3), g.integers(0, 3, max(n - 3, 0))])[:n]
            own["multi_class"] = str(g.choice(["one_vs_one", "one_vs_rest"]))
            case.s = None if case.s is None else np.maximum(case.s, 0.1)
            if case.name == "GSMM" and n % 2:
                own["outliers"] = "split"
        case "split":
            own |= {"outliers": "split"} | ({"max_iter": 1} if n % 2 else {})
    return case


def with_twist(g: np.random.Generator, case: Case) -> Case:
    """The case with something that its extra is seldom seen with."""
    n, own = len(case.X), case.parameters
    warm = "warm_start" in getattr(matreg, case.name)().get_params()
    case.twist = str(g.choice(TWISTS))
    match case.twist:
        case "covariates" if case.extra in ("l1", "adaptive", "bases", "ridge", "search", "split"):
            case.Z = g.standard_normal((n, 1)) + (case.X[:, 0, :1] if g.random() < 0.5 else 0.0)
        case "early" if case.extra not in ("search", "path"):
            own["max_iter"] = int(g.integers(1, 6))
        case "loose":
            own["tol"] = 10.0 ** g.uniform(-4, -0.5)
        case "units":
            case.X = case.X * 10.0 ** g.integers(-12, 13)
            if case.name in ("RMR", "GRMR") or case.kind == "normal":
                case.y = case.y * 10.0 ** g.integers(-12, 13)
        case "C" if "C" in own:
            own["C"] = 10.0 ** g.uniform(-12, 12)
        case "again" if warm and case.extra not in ("search", "path", "adaptive"):
            own["warm_start"] = True
        case "many weights" if case.s is not None and case.storage == "array":
            case.s = case.s * 10.0 ** g.uniform(-12, 12)
        case "dtype" if case.name not in ("GRMR", "GSMM"):
            case.X = of_dtype(case.X, str(g.choice(DTYPES)))
        case "times" if own["fit_intercept"] and case.extra in PLAIN:  # far from zero
            Z = g.standard_normal((n, 1)) if case.Z is None else case.Z
            case.Z = Z + 10.0 ** g.integers(2, 12, Z.shape[1])
        case _:
            case.twist = ""
    return case


def random_samples(g: np.random.Generator, kind: str, n: int, p: int, q: int) -> Any:
    """Samples (n, p, q)."""
    X = g.standard_normal((n, p, q))
    match kind:
        case "tied":
            X = np.round(X)
        case "duplicated":
            X = X[g.integers(0, max(n // 2, 1), n)]
        case "constant":
            X[:] = X[:1]
        case "one-hot":
            X = np.eye(p * q)[g.integers(0, p * q, n)].reshape(n, p, q)
        case "heavy-tailed":
            X = X / np.maximum(g.random((n, 1, 1)), 1e-3) ** 2
        case "collinear":
            X = X[:, :1, :1] * np.ones((p, q)) + 1e-9 * X
    return X * 10.0 ** g.integers(-2, 3)


def of_dtype(X: Any, dtype: str) -> Any:
    """Samples of another type, in its range."""
    if dtype == "bool":
        return X > 0.0
    if dtype.startswith("float"):
        return X.astype(dtype) if np.abs(X).max() < 1e4 else X.astype("float32")
    size = min(float(np.iinfo(dtype).max), 1e6) / (np.abs(X).max() or 1.0)
    return np.round(np.abs(X) * size if dtype == "uint8" else X * size).astype(dtype)


def random_labels(g: np.random.Generator, name: str, kind: str, X: Any) -> Any:
    """Labels (n,) of the kind that the estimator takes."""
    n = len(X)
    f = X.reshape(n, -1) @ g.standard_normal(X[0].size)
    f = f / (np.abs(f).max() or 1.0)
    how = g.integers(3)  # separable, noisy, of no relation
    f = f + (0.0, 0.3, 10.0)[how] * g.standard_normal(n)
    if name in ("SMM", "GSMM") or kind == "binomial":
        y = (f > np.median(f)).astype(int)
        if len(np.unique(y)) == 1:
            y[0] = 1 - y[0]
        return y
    if kind == "poisson":
        y = g.poisson(np.exp(np.clip(f, -3, 3))).astype(float)
        y[0] += not y.any()
        return y
    how = g.integers(5)
    if how == 0:
        return np.round(f)
    return np.full(n, 2.5) if how == 1 else f * 10.0 ** g.integers(-3, 4)


def random_weights(g: np.random.Generator, n: int, y: Any, name: str, kind: str) -> Any:
    """Weights (n,) or None; some of every class are positive."""
    match str(g.choice(WEIGHTS)):
        case "none":
            return None
        case "uniform":
            return g.uniform(0.1, 3.0, n)
        case "huge":
            return 10.0 ** g.uniform(-6, 6, n)
    s = (g.random(n) < 0.5).astype(float)
    classes = name in ("SMM", "GSMM") or kind == "binomial"
    for label in np.unique(y) if classes else [y.max()]:
        s[np.argmax(y == label)] = 1.0
    return s


def fitted(case: Case, folder: str) -> Any:
    """The fitted model, search or path of a case."""
    X, memory = case.X, 1024.0
    if case.storage != "array":
        memory = 1e-9
        path = Path(folder) / "X.npy"
        np.save(path, X)
        X = np.load(path, mmap_mode="r")
    if case.storage in ("zarr", "h5"):
        X = in_chunks(case.storage, np.asarray(X), folder)
    if case.storage == "dask":
        import dask.array as da

        X = da.from_array(np.asarray(X), chunks=(max(len(X) // 3, 1), -1, -1))
    more = {"sample_weight": case.s} | ({} if case.Z is None else {"covariates": case.Z})
    with sklearn.config_context(working_memory=memory):
        if case.extra == "path":
            own = {key: one for key, one in case.parameters.items() if key != "tau"}
            model = getattr(matreg, case.name)(**own)
            return matreg.path(model, X, case.y, n_taus=4, **more)
        model = searching(case) if case.extra == "search" else plain(case)
        if case.twist == "again":  # from a solution that is far away
            first = {"C": 1e-3} if "C" in case.parameters else {"tau": 1e3}
            model.set_params(**first).fit(X, case.y, **more)
            model.set_params(**case.parameters)
        model.fit(X, case.y, **more)
        if "dual_coef_" not in vars(model) and not hasattr(model, "estimators_"):
            model.dual_coef_  # noqa: B018  (computed when asked for)
    return model


def in_chunks(storage: str, X: Any, folder: str) -> Any:
    """Samples in a file of chunks."""
    chunks = (max(len(X) // 3, 1), *X.shape[1:])
    path = f"{folder}/{len(list(Path(folder).iterdir()))}.{storage}"  # others may be open
    if storage == "zarr":
        import zarr

        found = zarr.create_array(path, shape=X.shape, dtype=X.dtype, chunks=chunks)
        found[...] = X
        return found
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=chunks)
    return h5py.File(path)["X"]


def plain(case: Case) -> Any:
    """A model with its parameters."""
    return getattr(matreg, case.name)(**case.parameters)


def searching(case: Case) -> Any:
    """A small search."""
    own = dict(case.parameters) | {"n_taus": 3, "cv": 2}
    own.pop("tau")
    if case.name in ("GRMR", "GSMM"):
        own["limit"] = 4.0
    return getattr(matreg, f"{case.name}CV")(**own)
