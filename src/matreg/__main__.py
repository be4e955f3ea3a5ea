"""``python -m matreg`` is the command ``matreg``, which is imported where Ctrl-C is handled."""

import sys


def run() -> int:
    """Import the command line and run it; the exit status, 130 if the imports are interrupted."""
    try:
        from .cli import main

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("matreg: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(run())
