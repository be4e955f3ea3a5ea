"""Callbacks of scikit-learn hear of folds and certificates, may stop them, and are always ended."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from matreg import GRMR, GRMRCV, RGLM, RMR, RMRCV, SMM
from matreg.datasets import make_matrix_regression
from matreg.estimators._search import rounds

pytest.importorskip("sklearn.callback")

DATA = make_matrix_regression(40, (4, 3), noise_scale=0.5, random_state=0)
SEARCH = {"taus": [0.1, 1.0, 3.0], "C": "scale", "cv": 3}


class Counter:
    """Writes down what it hears; wishes to stop after so many tasks."""

    def __init__(self, most=None):
        self.log, self.most = [], most

    def setup(self, estimator, context):
        self.log.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.log.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.log.append(("end", context.task_name))
        return self.most is not None and self.count(context.task_name) >= self.most

    def teardown(self, estimator, context):
        self.log.append("teardown")

    def count(self, task):
        return self.log.count(("end", task))

    @property
    def ended_once(self):
        return self.log.count("setup") == self.log.count("teardown") == 1


def test_every_fold_is_heard():
    counter = Counter()
    model = RMRCV(**SEARCH).set_callbacks(counter).fit(DATA.X, DATA.y)
    assert counter.ended_once and counter.count("fold") == 3
    silent = RMRCV(**SEARCH).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(model.coef_, silent.coef_)


def test_halving_is_one_fit():
    counter = Counter()
    model = GRMRCV([1.0, 20.0], gamma=[20.0, 60.0], limit=4.0, cv=3, halving=True)
    model.set_callbacks(counter).fit(DATA.X, DATA.y)
    # Two candidates in the first fold, the better one in the others.
    assert counter.ended_once and counter.count("fold") == 4


def test_a_search_stops_when_a_callback_wishes_so():
    counter = Counter(most=2)
    with pytest.warns(UserWarning, match="on the 2 of 3 folds"):
        model = RMRCV(**SEARCH).set_callbacks(counter).fit(DATA.X, DATA.y)
    assert counter.ended_once and "split2_test_score" not in model.cv_results_


def test_a_wish_to_stop_waits_for_the_first_complete_fold():
    counter = Counter(most=1)
    model = RMRCV(**SEARCH | {"C": ["0.1*scale", "scale", "10*scale"]})
    with pytest.warns(UserWarning, match="on the 1 of 3 folds"):
        model.set_callbacks(counter).fit(DATA.X, DATA.y)
    assert counter.count("fold") == 3  # all candidates of one fold


@pytest.mark.parametrize("model", [RMR(), RGLM(), GRMR(), SMM(), RMR(solver="admm")], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_certificate_of_a_single_fit_is_heard(model):
    y = DATA.y > 0.0 if isinstance(model, SMM) else DATA.y
    counter = Counter()
    model.set_callbacks(counter).fit(DATA.X, y)
    assert counter.ended_once and counter.count("iteration") >= 2
    coef = model.coef_
    np.testing.assert_array_equal(model.set_callbacks().fit(DATA.X, y).coef_, coef)


@pytest.mark.parametrize("model", [RMR(), RGLM(tau=0.1, family="binomial"), GRMR()], ids=str)
def test_a_single_fit_stops_when_a_callback_wishes_so(model):
    y = DATA.y > 0.0 if isinstance(model, RGLM) else DATA.y
    whole, stopped = Counter(), Counter(most=2)
    model.set_callbacks(whole).fit(DATA.X, y)
    with pytest.warns(ConvergenceWarning):
        model.set_callbacks(stopped).fit(DATA.X, y)
    assert stopped.ended_once and stopped.count("iteration") < whole.count("iteration")


def test_callbacks_are_ended_after_a_failure(monkeypatch):
    def fail(*args):
        raise RuntimeError("on purpose")

    monkeypatch.setattr(rounds, "solve_segment", fail)
    counter = Counter()
    model = RMRCV(**SEARCH).set_callbacks(counter)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(DATA.X, DATA.y)
    assert counter.ended_once and not hasattr(model, "_callback_fit_ctx")


def test_callbacks_reach_models_inside_of_a_search():
    class Propagated(Counter):
        max_propagation_depth = None

    counter = Propagated()
    search = GridSearchCV(RMR(), {"tau": ["scale", "10*scale"]}, cv=2, refit=False)
    search.set_callbacks(counter).fit(DATA.X, DATA.y)
    assert counter.ended_once and counter.count("iteration") > 8
