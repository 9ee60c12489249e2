"""The requests of the page, read from JSON: every field is checked before it is used."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from merino.app.explorer.evaluations import IN_USE, USUAL, Evaluations
from merino.core.board.game import Position
from merino.core.common.errors import MerinoError
from merino.core.common.json_text import parsed
from merino.eval.evaluation import Evaluation

MAX_MOVES = 2000  # plies of a game
MAX_TEXT = 2 << 20  # characters of a text
MAX_NUMBER = 1e300


class RequestError(MerinoError):
    """A request that cannot be understood; the message says what is wrong."""


class Fields:
    """The fields of a request. Each method raises RequestError if a field is missing or of the wrong type."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def read(cls, body: bytes | str) -> Fields:
        """The fields of a JSON object."""
        try:
            fields = parsed(body if isinstance(body, str) else body.decode())
        except ValueError as error:
            raise RequestError(f"the request is not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise RequestError("the request is not a JSON object")
        return cls(fields)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._fields.get(name) is not None

    def text(self, name: str, default: str | None = None, most: int = MAX_TEXT) -> str:
        """A text of at most this many characters."""
        value = self._fields.get(name, default)
        if not isinstance(value, str):
            raise RequestError(f"the request needs a text '{name}'")
        if len(value) > most:
            raise RequestError(f"'{name}' is longer than {most} characters")
        return value

    def number(self, name: str, low: int, high: int) -> int | None:
        """A whole number within bounds, None if it is missing."""
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise RequestError(f"'{name}' is not a whole number from {low} to {high}")
        return value

    def flag(self, name: str) -> bool:
        """Whether something is requested; false if it is missing."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise RequestError(f"'{name}' is neither true nor false")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty if it is missing."""
        value = self._fields.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise RequestError(f"'{name}' is not a list of texts")
        if len(value) > MAX_MOVES:
            raise RequestError(f"'{name}' holds more than {MAX_MOVES} entries")
        return value

    def numbers(self, name: str) -> dict[str, float]:
        """Numbers by name, none if it is missing."""
        value = self._fields.get(name) or {}
        if not isinstance(value, dict):
            raise RequestError(f"'{name}' is no object of numbers")
        for item in value.values():
            if isinstance(item, bool) or not isinstance(item, int | float) or not abs(item) <= MAX_NUMBER:
                raise RequestError(f"'{name}' is no object of numbers")
        return {key: float(item) for key, item in value.items()}

    def labels(self, name: str) -> dict[str, str]:
        """Texts by name, none if it is missing."""
        value = self._fields.get(name) or {}
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise RequestError(f"'{name}' is no object of texts")
        return value

    def whole_numbers(self, name: str, high: int) -> list[int]:
        """A list of whole numbers from 0 to `high`, empty if it is missing."""
        value = self._fields.get(name) or []
        if not isinstance(value, list) or not all(type(item) is int and 0 <= item <= high for item in value):
            raise RequestError(f"'{name}' is no list of whole numbers from 0 to {high}")
        return value

    def parts(self, name: str) -> list[Fields]:
        """A list of objects, empty if it is missing."""
        return _objects(name, self._fields.get(name) or [])

    def lists(self, name: str) -> list[list[Fields]]:
        """A list of lists of objects, empty if it is missing."""
        value = self._fields.get(name) or []
        if not isinstance(value, list):
            raise RequestError(f"'{name}' is not a list")
        return [_objects(name, item) for item in value]

    def part(self, name: str) -> Fields:
        """An object in the request, an empty one if it is missing."""
        value = self._fields.get(name) or {}
        if not isinstance(value, dict):
            raise RequestError(f"'{name}' is not an object")
        return Fields(value)

    def position(self) -> Position:
        """The position after `moves`, coordinates, from `fen`; raises FenError and IllegalMoveError too."""
        position = Position(self.text("fen"))
        position.push_all(self.texts("moves"))
        return position

    def beside(self, evaluations: Evaluations) -> Evaluation | None:
        """The evaluation `beside`, None if not requested; also raises the errors of Evaluations.

        USUAL asks for what suits the evaluation that the request names: see `Evaluations.usual_beside`.
        """
        if not self._fields.get("beside"):
            return None
        name = self.text("beside")
        return evaluations.usual_beside(self.evaluation(evaluations)) if name == USUAL else evaluations.find(name)

    def content(self, most: int = MAX_TEXT) -> bytes:
        """A file: `content` in base64, of at most this many characters, or else the characters of `text`."""
        if not self.has("content"):
            return self.text("text").encode()
        try:
            return base64.b64decode(self.text("content", most=most), validate=True)
        except ValueError as error:
            raise RequestError(f"'content' is not base64 ({error})") from error

    def evaluation(self, evaluations: Evaluations) -> Evaluation:
        """The evaluation `weights`, with its numbers in `changes`; also raises the errors of Evaluations.

        A number that it lacks, or one out of its bounds, raises EvaluationError.
        """
        found, changes = evaluations.find(self.weights()), self.numbers("changes")
        return found.with_numbers(changes) if changes else found

    def weights(self) -> str:
        """The id of the evaluation `weights`, by default of that in use."""
        return self.text("weights", IN_USE) or IN_USE


def _objects(name: str, value: Any) -> list[Fields]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RequestError(f"'{name}' is not a list of objects")
    return [Fields(item) for item in value]
