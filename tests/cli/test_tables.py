"""CSV files as people have them."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from matreg import GRMR
from matreg.cli import main
from matreg.cli.model_files import load_model
from matreg.cli.tables import read_table

pytest.importorskip("skops.io", reason="skops is not installed")

ONCE = ["--tau", "1", "--cv", "0"]


@pytest.fixture
def table(arrays):
    """Cells of a table: a name, the label, a day, and the entries of 5 x 4 samples."""
    X = arrays["X"].reshape(40, -1)
    header = ["name", "cells", "day", *(f"e{k}" for k in range(20))]
    rows = [
        [f"flask {k}", f"{y:.12g}", f"day {k // 4}", *(f"{v:.12g}" for v in x)]
        for k, (x, y) in enumerate(zip(X, arrays["y"], strict=True))
    ]
    return [header, *rows]


def write(path, rows, separator=",", decimal=".", encoding="utf-8"):
    lines = [separator.join(rows[0])]
    lines += [separator.join(cell.replace(".", decimal) for cell in row) for row in rows[1:]]
    path.write_text("\n".join(lines), encoding=encoding)
    return str(path)


def fit(data, path, *options):
    out = str(path / "m.skops")
    options = ["--shape", "5,4", "--target", "cells", "--drop", "name", *ONCE, *options]
    return main(["fit", data, "--groups", "day", "-o", out, *options]), out


def predicted(path):
    with open(path, newline="") as stream:
        return np.array([float(row["predicted_cells"]) for row in csv.DictReader(stream)])


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", ".")]
)
def test_separators_and_decimal_commas(separator, decimal, table, arrays, tmp_path):
    data = write(tmp_path / "d.csv", table, separator, decimal, "utf-8-sig")
    status, path = fit(data, tmp_path)
    assert status == 0
    plain = fit(write(tmp_path / "p.csv", table), tmp_path / "..")[1]
    np.testing.assert_array_equal(load_model(path)[0].coef_, load_model(plain)[0].coef_)


def test_predict_takes_shape_label_and_columns_from_the_model(table, tmp_path):
    """Names left out, another order of the columns and a new one: no option is needed."""
    path = fit(write(tmp_path / "d.csv", table), tmp_path)[1]
    out = tmp_path / "p.csv"
    assert main(["predict", path, str(tmp_path / "d.csv"), "-o", str(out)]) == 0
    expected = predicted(out)
    mixed = [[*row[:2:-1], row[1], "new"] for row in table]
    assert main(["predict", path, write(tmp_path / "n.csv", mixed), "-o", str(out)]) == 0
    np.testing.assert_array_equal(predicted(out), expected)
    unlabelled = [row[3:] for row in table]
    assert main(["predict", path, write(tmp_path / "u.csv", unlabelled), "-o", str(out)]) == 0
    np.testing.assert_array_equal(predicted(out), expected)
    assert "predicted_cells\n" in out.read_text()


def test_flat_arrays_take_the_shape_of_the_model(npz, arrays, tmp_path):
    out = str(tmp_path / "m.skops")
    assert main(["fit", npz, *ONCE, "-o", out]) == 0
    np.save(tmp_path / "flat.npy", arrays["X"].reshape(40, -1))
    assert main(["predict", out, str(tmp_path / "flat.npy"), "-o", str(tmp_path / "p.csv")]) == 0


@pytest.mark.parametrize("empty", ["", "NA", "nan", "N/A"])
def test_empty_cells_are_gaps_for_grmr_alone(empty, table, arrays, tmp_path, capsys):
    table[3][5] = table[7][9] = empty
    data = write(tmp_path / "d.csv", table, ";", ",")
    assert fit(data, tmp_path)[0] == 1
    error = capsys.readouterr().err
    assert "2 empty cells among the samples, the first in line 4, column 'e2'" in error
    assert "--model grmr treats empty cells" in error
    status, path = fit(data, tmp_path, "--model", "grmr")
    assert status == 0
    X = arrays["X"].reshape(40, -1).copy()
    X[2, 2] = X[6, 6] = np.nan
    expected = GRMR(tau=1.0).fit(X.reshape(-1, 5, 4), arrays["y"])
    np.testing.assert_allclose(load_model(path)[0].coef_, expected.coef_, atol=1e-6)
    assert main(["predict", path, data, "-o", str(tmp_path / "p.csv")]) == 0


def test_a_column_without_a_name_is_left_out_and_said(table, tmp_path, capsys):
    """The index that pandas and R write."""
    table[0][0] = ""
    data = write(tmp_path / "d.csv", table)
    out = str(tmp_path / "m.skops")
    options = ["--shape", "5,4", "--target", "cells", "--groups", "day", *ONCE, "-o", out]
    assert main(["fit", data, *options]) == 0
    assert "has a column without a name, which is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[0].__setitem__(4, "e0"), "name each column once; 'e0' is there 2 times"),
        (lambda rows: rows[5].__setitem__(6, "1.5,2"), "column 'e3' has '1.5,2' in line 6"),
        (lambda rows: rows[5].__setitem__(6, "1_2"), "column 'e3' has '1_2' in line 6"),
        (lambda rows: rows[5].__setitem__(1, ""), "1 of 40 have none, the first is sample 4"),
        (
            lambda rows: rows[5].__setitem__(2, ""),
            "'day' has 1 empty cell, the first in sample 4, counted",
        ),
        (lambda rows: rows[5].pop(), "must have 23 cells in each line; line 6 has 22"),
        (lambda rows: rows[0].__setitem__(0, "label"), "has no column 'name': .* --drop"),
    ],
)
def test_bad_tables(change, message, table, tmp_path, capsys):
    change(table)
    status, _ = fit(write(tmp_path / "d.csv", table, ";"), tmp_path)
    assert status == 1
    assert re.search(message, capsys.readouterr().err)


def test_a_column_with_decimal_commas_and_points_is_not_guessed(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x;y\n1.234;1\n1,5;2\n")
    with pytest.raises(
        ValueError, match=r"has decimal commas and points in column 'x': 1.234 in line 2"
    ):
        read_table(path).samples(["x"])


def test_text_in_another_encoding_is_said(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes("größe;y\n1;2\n".encode("latin-1"))
    with pytest.raises(ValueError, match="must be text in UTF-8"):
        read_table(path)


def test_groups_of_no_use_are_said(table, tmp_path, capsys):
    assert fit(write(tmp_path / "d.csv", table), tmp_path)[0] == 0
    assert "--groups has no effect, because" in capsys.readouterr().err


def test_fewer_groups_than_folds_is_said(table, tmp_path, capsys):
    for k, row in enumerate(table[1:]):
        row[2] = f"day {k // 14}"
    options = ["--shape", "5,4", "--target", "cells", "--drop", "name", "--groups", "day"]
    options += ["--model", "rglm", "--n-taus", "3", "--cv", "10", "-o", str(tmp_path / "m.skops")]
    assert main(["fit", write(tmp_path / "d.csv", table), *options]) == 0
    said = capsys.readouterr()
    assert "groups holds 3 groups, fewer than the 10 folds of cv" in said.err
    assert "in 3 folds" in said.out


def test_columns_of_the_training_that_are_not_there(table, tmp_path, capsys):
    path = fit(write(tmp_path / "d.csv", table), tmp_path)[1]
    fewer = write(tmp_path / "n.csv", [row[:-2] for row in table])
    assert main(["predict", path, fewer, "-o", str(tmp_path / "p.csv")]) == 1
    error = capsys.readouterr().err
    assert (
        "must have the 20 columns that were in fit; 2 of them are missing, the first is 'e18'"
        in error
    )


def test_cells_between_spaces_are_named(table, tmp_path, capsys):
    """The message does not repeat the whole header line."""
    path = write(
        tmp_path / "spaces.csv", [[cell.replace(" ", "") for cell in row] for row in table], " "
    )
    assert main(["fit", path, "--target", "cells", "--shape", "5,4"]) == 1
    said = capsys.readouterr().err
    assert "separate the cells by commas, semicolons or tabs" in said and len(said) < 300
