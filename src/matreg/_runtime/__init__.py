"""Services around the computation: progress, Ctrl-C, atomic files, workers, warnings.

``progress`` is the line on a terminal, ``interruption`` decides what Ctrl-C keeps, ``files``
writes a file whole or not at all, ``parallel`` runs workers that end with their parent, ``warn``
points a warning at the user's line, ``text`` shows control characters, ``packages`` imports what
extras install.
"""
