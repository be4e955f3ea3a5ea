"""Simulated and real data for regression on matrices.

synthetic     regressions with known truth, noisy labels and corrupted samples; shapes: true W
eem_cells  olive  sugar                       fluorescence
faces  mnist                                  images
air_quality  gas_sensors  istanbul            sensors and series
_fetch        where the file of a data set is; _archive: files inside archives
"""

from .air_quality import load_air_quality
from .eem_cells import load_eem_cells
from .faces import load_cmu_faces, load_fei_faces, load_qmul_faces
from .gas_sensors import load_gas_sensors
from .istanbul import load_istanbul
from .mnist import load_mnist
from .olive import load_olive
from .shapes import SHAPES, make_shape
from .sugar import load_sugar
from .synthetic import make_matrix_regression

__all__ = [
    "SHAPES",
    "load_air_quality",
    "load_cmu_faces",
    "load_eem_cells",
    "load_fei_faces",
    "load_gas_sensors",
    "load_istanbul",
    "load_mnist",
    "load_olive",
    "load_qmul_faces",
    "load_sugar",
    "make_matrix_regression",
    "make_shape",
]
