"""A report of a fitted model: one self-contained page of HTML.

_report       gathers what is known about a model and puts it on a page
_facts        the numbers of a report
_outcomes     predictions and scores of the model and the baselines on left-out samples
_baselines    linear models of flat samples, and a constant; _measures: the table of scores
_scoring      the score that the model was chosen by, in words and with a sign
_methods      paragraph and table for a methods section; _text: all other sentences
_figures      the figures; _pictures: the colours of samples
_page         HTML and CSS
"""

from ._report import Report, make_report

__all__ = ["Report", "make_report"]
