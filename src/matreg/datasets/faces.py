"""Gray images of faces, labelled by the direction of the head."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from numbers import Integral
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_scalar

from .._runtime.packages import optional
from ._archive import read_members
from ._fetch import Arrays, Source, load

YAW = {"left": 0.0, "straight": 90.0, "right": 180.0}
_CMU_NAME = r"[a-z0-9]+_(left|straight|right|up)_[a-z]+_(open|sunglasses)_4\.pgm"
_GAP = rb"\s+(?:#.*\n\s*)*"
_PGM_HEADER = re.compile(rb"P([25])" + 3 * (_GAP + rb"(\d+)") + rb"\s")


def read_pgm(content: bytes) -> NDArray[np.float64]:
    """Decode a portable graymap, plain (P2) or binary (P5) with one byte per pixel, to [0, 1]."""
    header = _PGM_HEADER.match(content)
    if header is None:
        raise ValueError("this is not a PGM image")
    kind, width, height, white = map(int, header.groups())
    if white > 255:
        raise ValueError(f"a pixel must have one byte, but white is {white}")
    if kind == 5:
        pixels = np.frombuffer(content, np.uint8, width * height, header.end())
    else:
        pixels = np.array(content[header.end() :].split(), dtype=np.uint8)
    return pixels.reshape(height, width) / white


def _parse_cmu(path: Path) -> Arrays:
    images = read_members(path.read_bytes(), _CMU_NAME)
    names = sorted(images)
    fields = np.array([name.split("_") for name in names])
    return {
        "X": np.array([read_pgm(images[name]) for name in names]),
        **dict(zip(("person", "direction", "expression", "eyes"), fields.T[:4], strict=True)),
    }


CMU = Source(
    title="CMU face images",
    url="https://archive.ics.uci.edu/static/public/124/cmu+face+images.zip",
    files=("cmu+face+images.zip", "cmu_faces.zip", "faces_4.tar.gz", "faces.tar.gz"),
    parse=_parse_cmu,
    fingerprints={"X": 53.309102},
)


def load_cmu_faces(data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Load the CMU face images with the direction of the head as the label.

    Twenty people look left, straight ahead or right with four expressions, with and without
    sunglasses; images of people who look up, and images that the collectors marked as bad, are
    dropped. Split by `person`; otherwise the same face is in training and test.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder with ``cmu+face+images.zip``, ``cmu_faces.zip``, ``faces_4.tar.gz`` or
        ``faces.tar.gz``. By default ``$MATREG_DATA``, then the user's cache folder, into which data
        set 124 of the UCI Machine Learning Repository is downloaded if necessary.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (468, 30, 32) with gray levels in [0, 1], `y` the yaw of 0, 90 or 180 degrees for left,
        straight and right, and the arrays `person` (use it as groups), `expression` and `eyes`.

    References
    ----------
    T. Mitchell, "Machine Learning", McGraw-Hill, 1997.

    Examples
    --------
    >>> from matreg.datasets import load_cmu_faces
    >>> load_cmu_faces().X.shape  # doctest: +SKIP
    (468, 30, 32)
    """
    arrays = load(CMU, data_home)
    direction = arrays.pop("direction")
    keep = direction != "up"
    yaw = np.array([YAW[word] for word in direction[keep]])
    return Bunch(y=yaw, **{key: array[keep] for key, array in arrays.items()})


def _find_qmul(folder: Path, tilt: int) -> dict[tuple[str, str], Path]:
    """Files sorted by person and yaw; if an image exists in both formats, the JPEG is taken."""
    found: dict[tuple[str, str], Path] = {}
    for suffix in ("jpg", "ras"):
        for path in folder.glob(f"*Grey/*_{tilt:03d}_[0-9][0-9][0-9].{suffix}"):
            person, yaw = path.parent.name.removesuffix("Grey"), path.stem[-3:]
            found.setdefault((person, yaw), path)
    return dict(sorted(found.items()))


def load_qmul_faces(folder: str | os.PathLike[str], *, size: int = 32, tilt: int = 90) -> Bunch:
    """Load the QMUL multiview faces from a folder, labelled by yaw.

    These images may not be passed on, so there is no download: ask Queen Mary, University of
    London, for them. Files are ``<Name>Grey/<Name>_<tilt>_<yaw>`` with the ending ``.jpg`` or
    ``.ras``, and angles in three digits.

    Parameters
    ----------
    folder : path-like
        Folder that contains the folders of the people.
    size : int, default=32
        Images are resized to this number of rows and columns.
    tilt : int, default=90
        Take the images with this tilt of the head, in degrees; 90 is level.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (n, size, size) with gray levels in [0, 1], `y` the yaw in degrees, 0 to 180, and
        `person` (n,), to be used as groups.

    References
    ----------
    S. Gong, S. McKenna and J. J. Collins, "An investigation into face pose distributions",
    International Conference on Automatic Face and Gesture Recognition, 1996.

    Examples
    --------
    >>> from matreg.datasets import load_qmul_faces
    >>> faces = load_qmul_faces("~/QMUL")  # doctest: +SKIP
    """
    check_scalar(size, "size", Integral, min_val=1)
    check_scalar(tilt, "tilt", Integral, min_val=0, max_val=180)
    root = Path(folder).expanduser()
    files = _find_qmul(root, tilt)
    if not files:
        raise FileNotFoundError(
            f"folder={str(root)!r} has no image <Name>Grey/<Name>_{tilt:03d}_<yaw>.jpg or .ras."
        )
    person, yaw = np.array(list(files)).T
    return Bunch(X=_read_gray(files.values(), size), y=yaw.astype(float), person=person)


FEI_YAW = dict(zip(range(1, 15), [*range(0, 181, 20), 90, 90, 90, 90], strict=True))
_FEI_NAME = re.compile(r"(\d{1,3})-(\d{2})\.jpg", re.IGNORECASE)


def find_fei(folder: Path) -> dict[tuple[int, int], Path]:
    """Files sorted by person and view."""
    found: dict[tuple[int, int], Path] = {}
    for path in folder.rglob("*-*.jpg"):
        name = _FEI_NAME.fullmatch(path.name)
        if name and int(name[2]) in FEI_YAW:
            found[int(name[1]), int(name[2])] = path
    return dict(sorted(found.items()))


def load_fei_faces(folder: str | os.PathLike[str], *, size: int = 32) -> Bunch:
    """Load the FEI faces from a folder, labelled by yaw.

    Two hundred people in fourteen views, ``1-01.jpg`` to ``200-14.jpg``: views 1 to 10 turn from
    profile to profile in steps of 20 degrees, 11 to 14 are frontal. The Centro Universitario da FEI
    in Sao Paulo provides the images for research; they may not be passed on, so there is no
    download.

    Parameters
    ----------
    folder : path-like
        Folder with the images, directly or in subfolders. Some images may be missing.
    size : int, default=32
        Images are resized to this number of rows and columns.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (n, size, size) with gray levels in [0, 1], `y` the yaw in degrees, 0 to 180 with 90 for
        the frontal views, `person` (n,), to be used as groups, and `view` (n,), 1 to 14.

    References
    ----------
    C. E. Thomaz and G. A. Giraldi, "A new ranking method for principal components analysis and its
    application to face image analysis", Image and Vision Computing 28 (2010) 902-913.

    Examples
    --------
    >>> from matreg.datasets import load_fei_faces
    >>> faces = load_fei_faces("~/FEI")  # doctest: +SKIP
    """
    check_scalar(size, "size", Integral, min_val=1)
    root = Path(folder).expanduser()
    files = find_fei(root)
    if not files:
        raise FileNotFoundError(
            f"folder={str(root)!r} has no image <person>-<view>.jpg such as 1-01.jpg."
        )
    person, view = np.array(list(files)).T
    yaw = np.array([float(FEI_YAW[number]) for number in view])
    return Bunch(X=_read_gray(files.values(), size), y=yaw, person=person, view=view)


def _read_gray(paths: Collection[Path], size: int) -> NDArray[np.float64]:
    """Images (n, size, size) with gray levels in [0, 1]."""
    image = optional("PIL.Image", "data")
    X = np.empty((len(paths), size, size))
    for row, path in enumerate(paths):
        with image.open(path) as picture:
            X[row] = picture.convert("L").resize((size, size), image.Resampling.BILINEAR)
    return X / 255.0
