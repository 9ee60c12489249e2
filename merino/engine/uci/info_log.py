"""What Merino's log says of files, as information for the user of a GUI. Not loaded before `uciok` is answered."""

import logging

from merino.core.common import sealed
from merino.engine.uci.output import Output


def tell(output: Output) -> None:
    """Print what is said of files without a checksum."""
    sealed.log.addHandler(InfoLog(output))


class InfoLog(logging.Handler):
    """Lines of a log as information for the user."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line."""
        self._output.info(record.getMessage())
