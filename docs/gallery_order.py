"""The gallery: its order, from what most readers need to what few do, and its colours."""

from __future__ import annotations

ORDER = [
    "plot_wrong_labels.py",
    "plot_report.py",
    "plot_eem_calibration.py",
    "plot_eem_scatter.py",
    "plot_olive.py",
    "plot_gas_sensors.py",
    "plot_covariates.py",
    "plot_air_quality.py",
    "plot_faces.py",
    "plot_eeg.py",
    "plot_stock_exchange.py",
    "plot_mnist.py",
    "plot_probabilities.py",
    "plot_intervals.py",
    "plot_from_disk.py",
    "plot_adaptive.py",
    "plot_smooth_axes.py",
    "plot_maps.py",
    "plot_sugar.py",
]


class ByList:
    """Sorts files as they are listed, and others behind them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        """Key of a file."""
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)


# Okabe and Ito's, which colour-blind readers can tell apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]


def set_colours(gallery_conf, fname):
    """Draw lines and points of an example in colours for all, unless it says otherwise."""
    import matplotlib as mpl

    mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=COLOURS)
