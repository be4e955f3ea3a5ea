"""A report of a fitted model: one page of HTML that needs nothing else.

_report       gathers what is known about a model and puts it on a page
_facts        what a report says, as numbers
_outcomes     how the model and the baselines do on samples that were left out
_baselines    linear models of flat samples, and a constant; _measures: all side by side
_scoring      the score that the model was chosen by, in words and with a sign
_methods      the paragraph and the table of what was fitted; _text: all other sentences
_figures      the figures; _pictures: the colours of samples
_page         HTML and CSS
"""

from ._report import Report, make_report

__all__ = ["Report", "make_report"]
