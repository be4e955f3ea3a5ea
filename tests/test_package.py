"""The names of the package, each loaded when it is first used."""

import subprocess
import sys

import pytest

import matreg


@pytest.mark.parametrize("name", matreg.__all__)
def test_public_names(name):
    assert getattr(matreg, name).__name__ == name
    assert name in dir(matreg)


def test_a_home_for_each_name():
    names = [name for home in matreg._HOMES.values() for name in home]
    assert sorted(names) == sorted(matreg.__all__)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="'matreg' has no attribute 'RMRR'"):
        _ = matreg.RMRR


def test_import_loads_no_solver_until_it_is_used():
    code = (
        "import sys, matreg; loaded = lambda: any('.solvers' in name for name in sys.modules);"
        "assert not loaded(); matreg.RMR; assert loaded()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
