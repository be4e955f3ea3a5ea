"""When steps with one linearisation go on."""

import numpy as np
import pytest

from matreg.solvers.active_set.jacobian_reuse import ReusePolicy, ReuseSettings

OURS = ReuseSettings()


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.6])
def test_the_ratio_of_two_steps_is_expected_of_the_next(rate):
    length = 1e-3
    pace = ReusePolicy().after(length).after(rate * length)
    assert pace.rate == pytest.approx(rate)
    last = rate * length * rate ** (OURS.soon + 1)  # steps go on at this ratio
    assert pace.promises(1.01 * last**2) == (rate <= OURS.good)
    assert not pace.promises(0.99 * last**2)


def test_the_first_step_may_have_any_length_and_later_ones_have_to_halve():
    assert ReusePolicy().fresh and ReusePolicy().allows(1e3)
    pace = ReusePolicy().after(0.01)
    assert not pace.fresh
    assert pace.allows(0.005) and not pace.allows(0.0051)


def test_an_inherited_linearisation_is_tried_but_not_for_long_steps():
    pace = ReusePolicy.inheriting(OURS)
    assert pace.promises(1e-12) and not pace.fresh
    assert pace.allows(OURS.good * OURS.far) and not pace.allows(1.01 * OURS.good * OURS.far)
    assert not pace.after(0.1).promises(1e-12)


def test_a_step_that_leads_nowhere():
    assert not ReusePolicy().leads_away(1.0)  # nothing to compare it with
    pace = ReusePolicy().after(0.01)
    assert pace.leads_away(0.31) and not pace.leads_away(0.29)
    assert pace.leads_away(np.inf)
    assert pace.after(0.0).after(0.0).rate == 0.0


def test_even_good_steps_end_in_a_new_linearisation():
    pace = ReusePolicy()
    for k in range(OURS.often):
        assert k == 0 or pace.promises(1e-6)
        pace = pace.after(1e-3 * 0.1**k)
    assert not pace.promises(1e-6)
