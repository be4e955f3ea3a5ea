"""What is printed at the end of a notebook cell is one line that says what there is."""

import re

from matreg import RMR
from matreg.datasets import make_matrix_regression
from matreg.inspection import bootstrap_maps, components, permutation_map

DATA = make_matrix_regression(40, (9, 8), noise_scale=0.5, random_state=0)


def test_results_print_one_line():
    model = RMR(tau=2.0).fit(DATA.X, DATA.y)
    maps = bootstrap_maps(model, DATA.X, DATA.y, n_resamples=3, random_state=0)
    tested = permutation_map(model, DATA.X, DATA.y, n_permutations=3, cv=2, random_state=0)
    parts = components(model)
    for one in (maps, tested, parts):
        assert len(repr(one)) < 200 and "\n" not in repr(one)
        assert re.match(rf"{type(one).__name__}\(.*\(9, 8\)", repr(one))
    assert "n_resamples=3" in repr(maps) and "n_permutations=3" in repr(tested)
    assert f"rank={model.rank_}" in repr(parts)
