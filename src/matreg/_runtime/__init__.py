"""Services around the computation: progress, Ctrl-C, atomic files, workers, warnings.

``progress`` draws the progress line on a terminal, ``interruption`` decides what Ctrl-C keeps,
``files`` writes a file completely or not at all, ``parallel`` runs workers that end with their
parent, ``warn`` makes warnings point at the user's line, ``text`` escapes control characters,
``packages`` imports optional packages.
"""
