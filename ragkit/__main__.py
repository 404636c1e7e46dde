"""``python -m ragkit PATH``: the lab over a folder of documents, in the browser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the app over the path that is given.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line without the program's name.

    Returns
    -------
    int
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ragkit",
        description="Explore your own documents: sliders for keyword search, vectors, fusion and diversity.",
    )
    parser.add_argument("path", help="a folder of text, Markdown, CSV, TSV or JSONL files, or one such file")
    parser.add_argument("--port", type=int, default=8866, help="port on this machine (default: 8866)")
    parser.add_argument(
        "--chunk-size", type=int, default=1000, help="most characters of a chunk; 0 keeps documents whole"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    options = parser.parse_args(arguments)
    from ragkit.widgets.app import serve

    try:
        return serve(
            options.path, port=options.port, chunk_size=options.chunk_size, browser=not options.no_browser
        )
    except (FileNotFoundError, ImportError) as error:
        parser.exit(2, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
