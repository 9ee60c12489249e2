"""The list of the games of a PGN text."""

from pathlib import Path

import chess.pgn
import pytest

from merino.formats.pgn_games import MAX_VALUE, GameHeader, list_games

FILE = Path(__file__).resolve().parent.parent / "games" / "selfplay.pgn"
GAMES = FILE.read_bytes()
FEN = "8/8/8/4k3/2P2pp1/P1K5/2B5/8 w - - 0 1"


def listed(text: str) -> list[GameHeader]:
    return list_games(text.encode())[0]


def own(text: str, game: GameHeader) -> str:
    return text.encode()[game.start : game.start + game.size].decode()


def test_games_are_listed_as_python_chess_reads_their_headers() -> None:
    games, after = list_games(GAMES)
    text = GAMES.decode()
    assert after == len(GAMES)
    with FILE.open(encoding="utf-8") as file:
        for game in games:
            headers = chess.pgn.read_headers(file)
            assert headers is not None
            assert (game.white, game.result, game.date) == (headers["White"], headers["Result"], headers["Date"])
            assert GAMES[game.start :].startswith(b"[Event") and f'[Round "{headers["Round"]}"]' in own(text, game)
        assert chess.pgn.read_headers(file) is None


@pytest.mark.parametrize("size", [1500, 5000, 100_000])
def test_pieces_of_a_text_give_the_games_of_the_whole(size: int) -> None:
    text, found, at = GAMES[:100_000], list[GameHeader](), 0
    while at < len(text):
        room = size
        while True:
            games, after = list_games(text[at : at + room], at, goes_on=at + room < len(text))
            if after > at:
                break
            room *= 2
        found, at = found + games, after
    assert found == list_games(text)[0]


def test_games_without_moves_are_listed_where_there_are_tags() -> None:
    position, forfeit, moves = f'[FEN "{FEN}"]\n\n*\n\n', '[White "A"]\n[Result "1-0"]\n\n1-0\n\n', "1. e4 e5 *\n\n"
    tags_alone = '[Event "a"]\n\n'
    text = position + forfeit + tags_alone + tags_alone + moves + position
    games = listed(text)
    assert [game.result for game in games] == ["*", "1-0", "*", "*", "*"]
    assert [own(text, game)[:8] for game in games] == ['[FEN "8/', '[White "', '[Event "', '[Event "', '[FEN "8/']
    assert listed("") == listed("no game here") == listed("*") == []


def test_values_are_read_in_either_encoding_without_escapes_and_cut() -> None:
    assert list_games('[White "J\u00f6rg"]\n\n1. e4 *'.encode("latin-1"))[0][0].white == "J\u00f6rg"
    (game,) = listed('[White "J\u00f6rg \\"the \\\\ rook\\""]\n[Black "' + "b" * 1000 + '"]\n\n1. e4 *')
    assert game.white == 'J\u00f6rg "the \\ rook"' and game.black == "b" * MAX_VALUE
