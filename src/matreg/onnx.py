"""Fitted models as ONNX graphs, for programs without Python.

The graph is a linear map, followed by further functions: the exponential for counts, the
probabilities and the class of a classifier, and the votes of several two-class problems.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._runtime.packages import optional
from ._typing import Array
from .estimators._fit.classifier import one_vs_rest
from .estimators._linear_part import linear_part
from .losses import LossFamily, Multinomial, PoissonCounts

__all__ = ["to_onnx"]

OPSET = 17  # onnxruntime 1.13 and later read it


def to_onnx(model: Any) -> Any:
    """Export a fitted model as an ONNX graph.

    The input `X` has the shape (n, p, q) and the dtype float64. The output `prediction` (n,) holds
    numbers or classes; with k labels it has the shape (n, k). A classifier has a second output
    `decision`, of shape (n,) or (n, n_classes), and, if the model has ``predict_proba``, a third
    one `probability`, of shape (n, n_classes).

    Parameters
    ----------
    model : fitted model
        `RMR`, `RGLM`, `SMM`, or one of their versions that choose by cross-validation; `GRMR`
        with ``clean_predict=False``.

    Returns
    -------
    onnx.ModelProto
        The graph; ``onnx.save(graph, "model.onnx")`` writes it to a file.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.onnx import to_onnx
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> graph = to_onnx(RMR(tau=1.0).fit(data.X, data.y))
    >>> [one.name for one in graph.graph.output]
    ['prediction']
    """
    onnx = _onnx()
    part = linear_part(model, 0)
    if part.steps or part.target_steps:
        raise ValueError(
            "model must not be a pipeline: its steps are not exported. Pass the last step, and "
            "transform the samples before the graph."
        )
    if getattr(part.model, "clean_predict", False):
        raise ValueError(
            f"{type(part.model).__name__} cleans new samples before it predicts, which is no "
            "linear map: set clean_predict=False, and pass samples that are clean."
        )
    if hasattr(part.model, "covariate_coef_"):
        raise ValueError(
            "model must be fitted without covariates: the matrices are the only input of the graph."
        )
    graph = _Graph(onnx)
    p, q = part.model.matrix_shape_
    outputs = _outputs(graph, part.model)
    body = onnx.helper.make_graph(
        graph.nodes,
        type(part.model).__name__,
        [onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, ["n", p, q])],
        outputs,
        graph.constants,
    )
    opset = onnx.helper.make_opsetid("", OPSET)
    made = onnx.helper.make_model(body, opset_imports=[opset], producer_name="matreg", ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made


class _Graph:
    """Nodes and constants of a graph, which refer to each other by the names of their results."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operation: str, inputs: list[str], result: str, **settings: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operation, inputs, [result], **settings))
        return result

    def output(self, name: str, kind: str, columns: int | None = None) -> Any:
        shape: list[Any] = ["n"] if columns is None else ["n", columns]
        number = getattr(self.onnx.TensorProto, kind)
        return self.onnx.helper.make_tensor_value_info(name, number, shape)


def _outputs(graph: _Graph, model: Any) -> list[Any]:
    """Add the nodes of a model, and return its outputs."""
    classes = getattr(model, "classes_", None)
    W = np.asarray(model.coef_, dtype=float).reshape(-1, np.prod(model.matrix_shape_))
    if classes is None:
        counts = _is_exponential(model._loss())
        f = _decisions(graph, W, model.intercept_, "linear" if counts else "prediction")
        if counts:
            graph.add("Exp", [f], "prediction")
        return [graph.output("prediction", "DOUBLE", len(W) if len(W) > 1 else None)]
    several = len(W) > 1
    if several:
        decision = _votes(graph, W, model)
        index = graph.add("ArgMax", [decision], "index", axis=1, keepdims=0)
    else:
        decision = _decisions(graph, W, model.intercept_, "decision")
        zero = graph.constant("zero", np.array(0.0))
        positive = graph.add("Greater", [decision, zero], "positive")
        index = graph.add("Cast", [positive], "index", to=graph.onnx.TensorProto.INT64)
    kind = _class_names(graph, classes)
    graph.add("Gather", ["classes", index], "prediction", axis=0)
    outputs = [
        graph.output("prediction", kind),
        graph.output("decision", "DOUBLE", len(classes) if several else None),
    ]
    if hasattr(model, "predict_proba"):
        _probabilities(graph, decision, several, isinstance(model._loss(), Multinomial))
        outputs.append(graph.output("probability", "DOUBLE", len(classes)))
    return outputs


def _decisions(graph: _Graph, W: Array, b: Any, result: str) -> str:
    """``<W, X_i> + b``, of shape (n,) for one W and (n, m) for m of them."""
    flat = graph.add("Flatten", ["X"], "flat", axis=1)
    coef = graph.constant("coef", W[0] if len(W) == 1 else np.ascontiguousarray(W.T))
    intercept = graph.constant("intercept", np.asarray(b, dtype=float))
    product = graph.add("MatMul", [flat, coef], "product")
    return graph.add("Add", [product, intercept], result)


def _votes(graph: _Graph, W: Array, model: Any) -> str:
    """Decisions on several classes, combined from the problems as in `decision_function`."""
    if one_vs_rest(model):
        return _decisions(graph, W, model.intercept_, "decision")
    f = _decisions(graph, W, model.intercept_, "pairs")
    signs = _signs_of_pairs(len(model.classes_))
    wins = graph.constant("wins", np.maximum(signs, 0.0))
    losses = graph.constant("losses", np.maximum(-signs, 0.0))
    zero, one = graph.constant("zero", np.array(0.0)), graph.constant("one", np.array(1.0))
    double = graph.onnx.TensorProto.DOUBLE
    second = graph.add("Cast", [graph.add("Greater", [f, zero], "positive")], "second", to=double)
    first = graph.add("Sub", [one, second], "first")
    won, held = graph.add("MatMul", [second, wins], "a"), graph.add("MatMul", [first, losses], "b")
    votes = graph.add("Add", [won, held], "votes")
    confidence = graph.add("MatMul", [f, graph.constant("signs", signs)], "confidence")
    size = graph.add("Add", [graph.add("Abs", [confidence], "size"), one], "larger")
    three = graph.constant("three", np.array(3.0))
    share = graph.add("Div", [confidence, graph.add("Mul", [size, three], "bound")], "share")
    return graph.add("Add", [votes, share], "decision")


def _signs_of_pairs(k: int) -> Array:
    """Array of shape (pairs, k): -1 for the first class of a pair, 1 for the second."""
    pairs = list(combinations(range(k), 2))
    signs = np.zeros((len(pairs), k))
    for row, (first, second) in enumerate(pairs):
        signs[row, first], signs[row, second] = -1.0, 1.0
    return signs


def _is_exponential(loss: LossFamily) -> bool:
    """Whether predictions are the exponential of the decisions; if not, they are the decisions."""
    if isinstance(loss, PoissonCounts):
        return True
    if type(loss).mean is not LossFamily.mean:
        raise ValueError(
            f"the loss family {type(loss).__name__} defines its own mean, which cannot be exported "
            "to ONNX. Store the model with skops or joblib."
        )
    return False


def _probabilities(graph: _Graph, log_odds: str, several: bool, multinomial: bool) -> None:
    """Probabilities of the classes, of shape (n, 2) or (n, n_classes)."""
    if several and multinomial:
        graph.add("Softmax", [log_odds], "probability", axis=1)
        return
    last = graph.constant("last", np.array([1]))
    if several:  # of each class against the rest, divided by their sum
        each = graph.add("Sigmoid", [log_odds], "each")
        graph.add("Div", [each, graph.add("ReduceSum", [each, last], "sum")], "probability")
        return
    f = graph.add("Unsqueeze", [log_odds, last], "column")
    both = graph.add("Concat", [graph.add("Neg", [f], "minus"), f], "both", axis=1)
    graph.add("Sigmoid", [both], "probability")


def _class_names(graph: _Graph, classes: NDArray[Any]) -> str:
    """Store the classes, and return their type in the graph."""
    types: dict[str, tuple[str, Any]] = dict.fromkeys("biu", ("INT64", np.int64))
    types["f"] = ("DOUBLE", np.float64)
    kind, stored = types.get(classes.dtype.kind, ("STRING", object))
    graph.constant("classes", classes.astype(stored))
    return kind


def _onnx() -> Any:
    """The package onnx, with the modules that are used here."""
    for module in ("checker", "helper", "numpy_helper"):
        optional(f"onnx.{module}", "onnx")
    return optional("onnx", "onnx")
