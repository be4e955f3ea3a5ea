"""Covariates as columns of numbers."""

import numpy as np
import pytest

from matreg.preprocessing import CovariateEncoder

TABLE = {"age": [31, 45, 28, 60], "site": ["B", "A", "B", "C"], "smokes": [True, False, True, True]}


def frame(table):
    return pytest.importorskip("pandas").DataFrame(table)


@pytest.mark.parametrize("kind", ["dict", "pandas"])
def test_numbers_and_booleans_stay_and_categories_are_one_hot_but_one(kind):
    table = TABLE if kind == "dict" else frame(TABLE)
    encoder = CovariateEncoder()
    Z = encoder.fit_transform(table)
    assert encoder.get_feature_names_out().tolist() == ["age", "site_B", "site_C", "smokes"]
    expected = [[31, 1, 0, 1], [45, 0, 0, 0], [28, 1, 0, 1], [60, 0, 1, 1]]
    np.testing.assert_array_equal(Z, expected)
    assert Z.dtype == np.float64


def test_numbers_of_a_categorical_type_are_categories_in_a_dict_too():
    """They were taken as numbers there, and as categories in a table."""
    pandas = pytest.importorskip("pandas")
    table = {"age": [31, 45, 28], "site": pandas.Categorical([7, 3, 7])}
    one, other = (CovariateEncoder().fit(kind(table)) for kind in (dict, pandas.DataFrame))
    assert one.get_feature_names_out().tolist() == ["age", "site_7"]
    np.testing.assert_array_equal(one.transform(table), other.transform(pandas.DataFrame(table)))


def test_columns_are_found_by_name_in_any_order():
    encoder = CovariateEncoder().fit(TABLE)
    turned = {name: TABLE[name] for name in ("smokes", "age", "site")}
    np.testing.assert_array_equal(encoder.transform(turned), encoder.transform(TABLE))
    np.testing.assert_array_equal(encoder.transform(frame(turned)), encoder.transform(TABLE))


@pytest.mark.parametrize("other", [{"age": [1]}, {**TABLE, "more": [1, 2, 3, 4]}, {"Age": [1]}])
def test_other_names_are_refused(other):
    with pytest.raises(ValueError, match="must have the columns age, site, smokes as in fit; got"):
        CovariateEncoder().fit(TABLE).transform(other)


def test_arrays_and_tables_are_not_taken_for_each_other():
    numbers = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="a table with the columns age, site, smokes as in fit"):
        CovariateEncoder().fit(TABLE).transform(numbers)
    with pytest.raises(ValueError, match="an array with 2 columns as in fit; got a table of a, b"):
        CovariateEncoder().fit(numbers).transform({"a": [1], "b": [2]})


def test_unseen_categories():
    new = {"age": [50], "site": ["D"], "smokes": [False]}
    with pytest.raises(
        ValueError, match="in 'site' categories that were in fit; got 'D', which was not, in 1 of 1"
    ):
        CovariateEncoder().fit(TABLE).transform(new)
    zero = CovariateEncoder(unknown="zero").fit(TABLE).transform(new)
    np.testing.assert_array_equal(zero, [[50, 0, 0, 0]])
    mean = CovariateEncoder(unknown="mean").fit(TABLE).transform(new)
    np.testing.assert_array_equal(mean, [[50, 0.5, 0.25, 0]])
    with pytest.raises(ValueError, match="unknown"):
        CovariateEncoder(unknown="drop").fit(TABLE)


@pytest.mark.parametrize(
    "column", [[1.0, None, 2.0, 3.0], [1.0, np.nan, 2.0, 3.0], ["a", None, "b", "a"]]
)
@pytest.mark.parametrize("kind", ["dict", "pandas"])
def test_missing_values_are_refused_with_their_place(column, kind):
    table = {"age": [1, 2, 3, 4], "dose": column}
    with pytest.raises(ValueError, match="'dose' has 1, the first in sample 1"):
        CovariateEncoder().fit(table if kind == "dict" else frame(table))


def test_missing_values_in_new_samples_are_refused():
    encoder = CovariateEncoder(unknown="zero").fit(TABLE)
    with pytest.raises(ValueError, match="'site' has 1, the first in sample 0"):
        encoder.transform({"age": [1], "site": [None], "smokes": [True]})


def test_columns_of_pandas_with_types_of_their_own():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {
            "site": pandas.Categorical([3, 1, 3]),
            "dose": pandas.array([1, 2, 3], dtype="Int64"),
            "word": pandas.array(["x", "y", "x"], dtype="string"),
        }
    )
    encoder = CovariateEncoder()
    np.testing.assert_array_equal(encoder.fit_transform(table), [[1, 1, 0], [0, 2, 1], [1, 3, 0]])
    assert encoder.get_feature_names_out().tolist() == ["site_3", "dose", "word_y"]
    one = CovariateEncoder().fit(table["dose"])
    assert one.get_feature_names_out().tolist() == ["dose"]
    table.loc[1, "dose"] = pandas.NA
    with pytest.raises(ValueError, match="'dose' has 1, the first in sample 1"):
        encoder.transform(table)


def test_names_go_to_a_table_where_that_is_asked_for():
    pytest.importorskip("pandas")
    encoder = CovariateEncoder().set_output(transform="pandas")
    found = encoder.fit_transform(frame(TABLE))
    assert list(found.columns) == ["age", "site_B", "site_C", "smokes"]


def test_names_must_differ():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(ValueError, match="must have different names; got 'a' twice"):
        CovariateEncoder().fit(table)


def test_categories_where_there_were_numbers_are_refused():
    with pytest.raises(ValueError, match="must hold numbers in 'age' as in fit; got categories"):
        CovariateEncoder().fit({"age": [1, 2]}).transform({"age": ["old", "young"]})
