"""The server of the explorer: its answers, its refusals, and what may be asked of it."""

import asyncio
import base64
import errno
import gzip
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock
from urllib.parse import quote

import chess
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from merino.app.explorer import channel, games, guard, routes, tasks
from merino.app.explorer.app import FOLDER, create_app, version_of
from merino.app.explorer.channel import MAX_UNREAD, Channel, Stop
from merino.app.explorer.serving import listen
from merino.app.explorer.state import (
    FIRST_PIECE,
    MAX_LEVELS,
    Evaluations,
    Fields,
    GamesFile,
    NamedJudge,
    RequestError,
    Searchers,
    ServerState,
)
from merino.app.explorer.tasks import learn
from merino.app.explorer.tree import MAX_TREES
from merino.app.shell.commands import explorer as run_explorer
from merino.core.board.game import Position
from merino.core.common.errors import MerinoError
from merino.engine.report.schema import PositionReport
from merino.engine.search import limits, strength
from merino.eval.families import DEFAULT_FILE, default, load, load_evaluation
from merino.eval.linear.registry import TERMS
from merino.formats import pgn_games
from merino.lab.people import drill, panel
from merino.lab.people.panel import PRACTICES, review_exercise
from merino.study import judge
from merino.study.reporting import report_position
from tests.fake_tables import FakeTables
from tests.rows import few_games
from tests.test_judge import FAKE

PORT = 8765
ADDRESS = f"http://127.0.0.1:{PORT}"
ROOT = Path(__file__).resolve().parent.parent
MIDDLEGAME = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2NBPN2/PP3PPP/R1BQ1RK1 w - - 0 9"
ENDGAME = "8/8/8/4k3/2P2pp1/P1K5/2B5/8 w - - 0 1"
PGN = """[Event "a <script>alert(1)</script>"]
[White "Anna"]
[Black "Bert"]
[Result "1-0"]

1. e4 e5 2. Qh5 {early} Nc6 3. Bc4 Nf6 4. Qxf7# 1-0
"""
MATCH = {"new": {"weights": "default"}, "old": {"weights": "default"}, "games": 2}


@pytest.fixture(scope="module")
def state() -> ServerState:
    return ServerState()


@pytest.fixture(scope="module")
def page(state: ServerState) -> Iterator[TestClient]:
    with client_of(state) as client:
        yield client


def client_of(state: ServerState, **more: Any) -> TestClient:
    """A client that has the token."""
    return TestClient(create_app(state, PORT), ADDRESS, headers={"authorization": f"Bearer {state.token}"}, **more)


def explained(page: TestClient, fen: str, **more: str) -> Any:
    answer = page.get("/api/explain", params={"fen": fen, "weights": "default", **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def refused(answer: Any, status: int = 400) -> str:
    assert answer.status_code == status, answer.text
    (key, reason), *rest = answer.json().items()
    assert key == "error" and not rest
    return str(reason)


def connect(page: TestClient, path: str, **more: Any) -> Any:
    return page.websocket_connect(f"ws://127.0.0.1:{PORT}{path}", **more)


def heard(socket: Any, kind: str) -> list[Any]:
    """The messages of a WebSocket up to one of this kind."""
    found: list[Any] = []
    while not found or found[-1]["type"] not in (kind, "error"):
        found += socket.receive_json()
        assert len(found) < 10_000
    return found


def post(page: TestClient, path: str, **body: Any) -> Any:
    """The answer to a request."""
    return page.post(f"/api/{path}", json=body)


def answer_to(page: TestClient, path: str, **body: Any) -> Any:
    answer = post(page, path, **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def run_explorer_error(*arguments: str) -> str:
    with pytest.raises(MerinoError) as raised:
        run_explorer([*arguments, "--no-browser"])
    return str(raised.value)


def values_of(page: TestClient, weights: str = "in-use") -> Any:
    """The values of weights by name."""
    return page.get("/api/weights", params={"weights": weights}).json()["values"]


def done(page: TestClient, work: str, **body: Any) -> list[Any]:
    """All messages of some work, to its end."""
    with connect(page, f"/ws/{work}") as socket:
        socket.send_json(body)
        return heard(socket, "done")


@pytest.mark.parametrize("fen", [MIDDLEGAME, ENDGAME, Position().fen()])
def test_explain_answers_with_the_report_of_the_library(page: TestClient, fen: str) -> None:
    answer = explained(page, fen)
    report: PositionReport = report_position(Position(fen), default())
    whole = json.loads(json.dumps({"score_cp": report.static.score_cp, **report.to_dict()}))
    assert whole.pop("threat") is None and answer == whole | {"opening": None}
    engine = int(default().scores(Position(fen).record)[0])
    assert answer["score_cp"] == (engine if answer["to_move"] == "white" else -engine)


AGAINST_THE_RULES = [
    ("8/8/8/8/8/8/8/8 w - - 0 1", "White has 0 kings"),
    ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "could take the king"),
    ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "a pawn cannot stand on h8"),
    ("4k3/8/8/8/8/QQQQQQQQ/QQQ5/4K3 w - - 0 1", "more queens than its pawns could become"),
    ("k6k/8/8/8/8/8/8/4K3 b - - 0 1", "Black has 2 kings"),
]


@pytest.mark.parametrize(("fen", "reason"), AGAINST_THE_RULES)
def test_a_position_against_the_rules_is_valued_in_free_mode_alone(page: TestClient, fen: str, reason: str) -> None:
    assert reason in refused(page.get("/api/explain", params={"fen": fen}))
    answer = explained(page, fen, free="1")
    assert reason in answer["fault"] and answer["moves"] == [] and answer["ending"] is None
    whole = sum(piece["attributed_cp"] for piece in answer["pieces"]) + answer["shared_cp"]
    assert whole == pytest.approx(answer["static"]["sum_cp"])


def test_a_missing_king_is_reported_and_put_where_it_disturbs_least(page: TestClient) -> None:
    answer = explained(page, "rnbq1bnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1", free="1")
    assert "valued as if Black's king stood on e8" in answer["fault"]
    assert [piece["square"] for piece in answer["pieces"] if piece["piece"] == "k"] == ["e8"]
    assert abs(answer["score_cp"]) < 50, "both sides are alike but for the castling"


def test_a_net_refuses_more_pieces_than_it_has_room_for(page: TestClient) -> None:
    fen = "rnbqkbnr/pppppppp/8/8/8/7Q/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    for path in ("explain", "shapley"):
        asked = {"fen": fen, "free": True, "weights": "gen1.net"}
        assert "32 men at most, and here are 33" in refused(post(page, path, **asked))
    assert explained(page, fen, free="1")["score_cp"] > 500


@pytest.mark.parametrize("fen", ["", "hello", "8/8 w - - 0 1", "9/8/8/8/8/8/8/8 w - - 0 1", f"{'8/' * 7}x w - - 0 1"])
def test_a_text_that_is_no_fen_is_refused_even_in_free_mode(page: TestClient, fen: str) -> None:
    assert refused(page.get("/api/explain", params={"fen": fen, "free": "1"}))


def test_errors_come_in_the_words_of_the_console(page: TestClient) -> None:
    start = Position().fen()
    assert refused(page.get("/api/explain", params={"fen": "8/8/8/8/8/8/8/K7 w - - 0 1"})) == "Black has 0 kings, not 1"
    illegal = refused(post(page, "read", fen=start, text="Nf4"))
    assert illegal.startswith("Nf4: no knight of White's can reach f4; legal moves: Na3")
    assert refused(post(page, "read", fen=start, moves=["e2e5"], text="e4")).startswith("e2e5 is not")
    assert "without a file of games" in refused(page.get("/api/games"))
    assert refused(post(page, "game", text=" ")) == "the text is not a game"
    for content, fault in (
        (PGN.encode("utf-16"), "is UTF-16 text: save it"),
        (b"<HTML>1. e4 *", "is a web page: save"),
    ):
        assert refused(post(page, "games", content=of_bytes(content), at=0)).startswith(f"the file {fault}")
    assert "e2e5" in refused(post(page, "line", fen=start, line=["e2e5"]))
    assert "breaks the rules" in refused(post(page, "read", text="Bg6", free=True))
    moves: list[Any] = [{"uci": "e2e4"}]
    for _ in range(30):
        moves = [{"uci": "e2e4", "variations": [moves]}]
    assert "deep" in refused(post(page, "pgn/text", fen=start, moves=moves))
    assert "there are no weights 'x'" in refused(page.get("/api/explain", params={"fen": start, "weights": "x"}))
    assert "line 4: " in refused(post(page, "read", text='\n[White "A"]\n\n1. e4 e5 2. Ke3 *'))
    assert refused(post(page, "read", text="[no game]")) == "the PGN has no game with a move"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"fen": 5}', b'{"fen": "x", "moves": "e4"}', b"[" * 100_000])
def test_a_request_that_cannot_be_understood_is_refused(page: TestClient, body: bytes) -> None:
    assert refused(page.post("/api/read", content=body))


PASTED = [
    (MIDDLEGAME, "fen", []),
    (f'{" ".join(ENDGAME.split()[:4])} bm Bd1; id "x";', "fen", []),
    ("1. e4 e5 2. Nf3", "moves", ["e4", "e5", "Nf3"]),
    ("c5 e4", "moves", ["d4", "c5", "e4"]),
    ("c7c5 e2e4", "moves", ["d4", "c5", "e4"]),
    ("knight to f6", "moves", ["d4", "Nf6"]),
    (PGN, "pgn", ["e4", "e5", "Qh5", "Nc6", "Bc4", "Nf6", "Qxf7#"]),
    ("1. e4 {best by test} e5", "pgn", ["e4", "e5"]),
    (f"position fen {ENDGAME} moves c2d1 f4f3", "moves", ["Bd1", "f3"]),
    ("position startpos moves e2e4 e7e5", "moves", ["e4", "e5"]),
    ("position startpos moves e2e4 e5 Nf3", "moves", ["e4", "e5", "Nf3"]),
    ("position startpos", "fen", []),
    ("1.e4 e5 2.\u2658f3 \u265ec6", "moves", ["e4", "e5", "Nf3", "Nc6"]),
    ("1 e4 e5 2 Nf3 Nc6 \u00bd\u2013\u00bd", "moves", ["e4", "e5", "Nf3", "Nc6"]),
    ("1) e4\u00b1 e5 $2 2) Nf3 +=", "moves", ["e4", "e5", "Nf3"]),
    ("1. e2-e4 e7-e5 2. Ng1\u2013f3 *", "moves", ["e4", "e5", "Nf3"]),
    ("https://lichess.org/analysis/pgn/e4_e5_Nf3", "moves", ["e4", "e5", "Nf3"]),
    ("https://www.chess.com/analysis?pgn=1.%20e4+e5+2.Nf3+*&flip=false", "moves", ["e4", "e5", "Nf3"]),
    (f"http://127.0.0.1:8642/#fen={quote(ENDGAME)}&moves=c2d1%20f4f3", "moves", ["Bd1", "f3"]),
]


@pytest.mark.parametrize(("text", "kind", "moves"), PASTED)
def test_one_box_reads_all_that_people_paste(page: TestClient, text: str, kind: str, moves: list[str]) -> None:
    answer = answer_to(page, "read", text=text, fen=Position().fen(), moves=["d2d4"])
    assert answer["kind"] == kind and [move["san"] for move in answer["games"][0]["moves"]] == moves


NOT_READ = [
    ("https://lichess.org/AbCdEfGh/black#23", "paste the FEN or the PGN that is shown there, on lichess under 'Share"),
    ("www.chess.com/game/live/123456789?tab=review", "on chess.com under 'Share'"),
    ('<iframe src="https://lichess.org/embed/game/AbCdEfGh"></iframe>', "'<iframe' is none of what is read here"),
    ("data:image/png;base64,iVBORw0KGgo=", "'data:image/png;base64,iVBORw0KGgo=' is none of what is read here"),
    ("hello world", "'hello' is none of what is read here: a move (Nf3), moves (1. e4 e5), a FEN"),
    ("e4 world", "move 2 of 2, 'world' is not a move"),
    ("1. P-K4 P-K4", "'P-K4' is none of what is read here"),
    ("1.", "'1.' is none of what is read here"),
    ("1-0", "'1-0' is none of what is read here"),
    ("9/8/8/8/8/8/8/R3K3", "no piece"),
]


@pytest.mark.parametrize(("text", "hint"), NOT_READ)
def test_a_text_that_is_not_read_is_refused_with_what_to_paste_instead(page: TestClient, text: str, hint: str) -> None:
    assert hint in refused(post(page, "read", text=text, fen=Position().fen()))


REMARKS = [
    (f'{" ".join(ENDGAME.split()[:4])} bm Bd1; id "x";', ENDGAME, 'bm Bd1; id "x";'),
    (f"{ENDGAME.replace('0 1', '98 120')} bm Bd1;", ENDGAME.replace("0 1", "98 120"), "bm Bd1;"),
    (f"# from my book\n{ENDGAME}\n# black\n0 {MIDDLEGAME}\n", ENDGAME, "the first of 2 lines"),
    (f"1 {ENDGAME}\n# black\n0 {MIDDLEGAME}\n", ENDGAME, "the first of 2 lines"),
    (f"# two\n= {ENDGAME}\n# black\n0 {MIDDLEGAME}\n", ENDGAME, "the first of 2 lines"),
    ("4k2r/8/8/8/8/8/8/R3K3", "4k2r/8/8/8/8/8/8/R3K3 w Qk - 0 1", "White to move"),
    ("4k2r/8/8/8/8/8/8/R3K3 b k", "4k2r/8/8/8/8/8/8/R3K3 b k - 0 1", "not in the text: no en passant"),  # lila#136
    (f"https://lichess.org/analysis/standard/{ENDGAME.replace(' ', '_')}#3", ENDGAME, ""),
    (f"https://lichess.org/editor/{ENDGAME.replace(' ', '%20')}?color=black", ENDGAME, ""),
    (f"lichess.org/?fen={ENDGAME.replace(' ', '_')}#friend", ENDGAME, ""),
    (f"https://www.chess.com/analysis?fen={quote(ENDGAME, safe='').replace('%20', '+')}&flip=true", ENDGAME, ""),
    (f"https://www.chess.com/practice/custom?tab=a&fen={ENDGAME}&flip=true", ENDGAME, ""),
    (f"https://www.chessdb.cn/queryc_en/?{ENDGAME.replace(' ', '_')}", ENDGAME, ""),
    (f'FEN: "{ENDGAME}"', ENDGAME, ""),
    (json.dumps({"id": 7, "fen": ENDGAME}).replace("/", "\\/"), ENDGAME, ""),
    (f'<iframe src="https://lichess.org/embed/{ENDGAME.replace(" ", "_")}"></iframe>', ENDGAME, ""),
]


@pytest.mark.parametrize(("text", "fen", "remark"), REMARKS)
def test_the_operations_of_an_epd_are_a_remark(page: TestClient, text: str, fen: str, remark: str) -> None:
    answer = answer_to(page, "read", text=text)
    found = answer["remark"] or ""
    assert answer["games"][0]["fen"] == fen and (remark in found if remark else not found)


def of_bytes(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_a_pgn_of_many_games_is_listed_and_each_read_on_request(page: TestClient) -> None:
    text = (ROOT / "games" / "selfplay.pgn").read_text(encoding="utf-8")
    answer = answer_to(page, "read", text=text)
    assert len(answer["listed"]) == 710 and len(answer["games"]) == 1 and answer["games"][0]["number"] == 1
    for number in (1, 350, 710):
        entry = answer["listed"][number - 1]
        own = text[entry["start"] : entry["start"] + entry["size"]]
        game = answer_to(page, "game", text=own, number=number)
        assert game == answer_to(page, "read", text=own)["games"][0] | {"number": number}
        assert game["tags"]["Round"] == str(number) and game["moves"]


def test_offsets_in_the_list_are_bytes_of_the_text_as_sent(page: TestClient) -> None:
    text = "\ufeff\n\n" + PGN.replace("Anna", "Zo\u00eb") + "\n" + PGN.replace("Anna", "\u0416\u0430\u043d\u043d\u0430")
    answer = answer_to(page, "read", text=text)
    assert [game["white"] for game in answer["listed"]] == ["Zo\u00eb", "\u0416\u0430\u043d\u043d\u0430"]
    last = answer["listed"][1]
    own = text.encode()[last["start"] : last["start"] + last["size"]]
    assert answer_to(page, "game", content=of_bytes(own))["label"] == "\u0416\u0430\u043d\u043d\u0430 - Bert"


@pytest.mark.parametrize("size", [100, 300, 4096])
def test_a_file_is_listed_piece_by_piece(page: TestClient, size: int) -> None:
    content = "".join(PGN.replace("Anna", f"Anna {number}") + "\n" for number in range(40)).encode("latin-1")
    found: list[Any] = []
    at, room = 0, size
    while at is not None:
        piece = content[at : at + room]
        answer = answer_to(page, "games", content=of_bytes(piece), at=at, more=at + room < len(content))
        found += answer["games"]
        at, room = answer["next"], 2 * room if answer["next"] == at else size
    assert [game["white"] for game in found] == [f"Anna {number}" for number in range(40)]
    assert all(content[game["start"] :].startswith(b"[Event") for game in found)


@pytest.mark.parametrize("name", ["games.pgn", "games.pgn.gz"])
def test_the_file_of_the_command_line_is_read_as_it_is_listed(tmp_path: Path, name: str) -> None:
    content = "".join(PGN.replace("Anna", f"J\u00f6rg {number}") + "\n" for number in range(1500)).encode("latin-1")
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with GamesFile(path) as games, client_of(ServerState(games=games)) as page:
        assert page.get("/api/start").json()["file"] == name
        first = page.get("/api/games").json()
        assert 0 < len(first["games"]) < 1500 and 0 < first["done"] <= 1
        found, at = [*first["games"]], first["next"]
        while at is not None:
            answer = page.get("/api/games", params={"at": at}).json()
            found, at = found + answer["games"], answer["next"]
        assert [game["white"] for game in found] == [f"J\u00f6rg {number}" for number in range(1500)]
        place = {name: found[700][name] for name in ("start", "size")}
        assert page.get("/api/game", params={**place, "number": 701}).json()["label"] == "J\u00f6rg 700 - Bert"
        assert "'at' is not a whole number" in refused(page.get("/api/games", params={"at": "x"}))
        if name == "games.pgn":
            path.write_bytes(content[:-1])
            assert "has changed" in refused(page.get("/api/games"))


def test_a_file_without_lines_is_read_no_farther_than_a_game_may_reach(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pgn_games, "MAX_GAME_BYTES", 4 * FIRST_PIECE)
    (path := tmp_path / "line.pgn").write_bytes(b"e4 " * 4 * FIRST_PIECE)
    with GamesFile(path) as games:
        piece = games.piece(0)
    assert len(piece.text) == piece.next == 4 * FIRST_PIECE


def test_two_weights_files_are_compared(page: TestClient) -> None:
    both = {"first": {"weights": "default"}, "second": {"weights": "greko2015-before-training"}}
    answer = answer_to(page, "compare", fen=MIDDLEGAME, **both)
    other = load(DEFAULT_FILE.with_name("greko2015-before-training.txt"))
    assert answer["second"]["score_cp"] == int(other.scores(Position(MIDDLEGAME).record)[0])
    assert answer["change"]["change_cp"] == answer["second"]["score_cp"] - answer["first"]["score_cp"]
    assert len(answer["moves"]) == len(Position(MIDDLEGAME).legal_moves) and answer["summary"]


def test_the_second_evaluation_depends_on_the_kind_of_the_first(page: TestClient) -> None:
    assert explained(page, ENDGAME)["beside"] is None
    answer = explained(page, ENDGAME, beside="usual")["beside"]
    assert "pieces1" in answer["evaluation"] and answer["shared_cp"] is not None
    own = {piece["square"]: piece["attributed_cp"] for piece in answer["pieces"]}
    same = explained(page, ENDGAME, weights="pieces1.net")
    assert own == {piece["square"]: piece["attributed_cp"] for piece in same["pieces"]}
    by_terms = explained(page, ENDGAME, weights="gen1.net", beside="usual")["beside"]
    assert by_terms["score_cp"] == explained(page, ENDGAME, weights="in-use")["score_cp"]
    assert "there are no weights 'x'" in refused(post(page, "explain", fen=ENDGAME, beside="x"))


def test_a_net_is_listed_opened_and_has_no_weights_to_save(page: TestClient) -> None:
    answer = page.get("/api/weights", params={"weights": "gen1.net"}).json()
    assert answer["values"] == {} and answer["has_terms"] is False and "ALL -> 64 -> 1" in answer["about"]
    kinds = {entry["id"]: (entry["has_terms"], entry["values_pieces"]) for entry in answer["weights"]}
    assert (kinds["gen1.net"], kinds["pieces1.net"], kinds["default"][0]) == ((False, False), (False, True), True)
    content = base64.b64encode(DEFAULT_FILE.with_name("gen1.net").read_bytes()).decode()
    entry = answer_to(page, "weights", name="mine.net", content=content)
    assert entry["has_terms"] is False
    score = explained(page, MIDDLEGAME, weights=entry["id"])["score_cp"]
    assert score == explained(page, MIDDLEGAME, weights="gen1.net")["score_cp"]
    wrong = refused(post(page, "weights", name="mine.net", content=content[:400]))
    assert wrong.startswith("'mine.net' is not a usable net") and "/" not in wrong.split(":")[0]
    assert "base64" in refused(post(page, "weights", name="mine.net", content="?"))
    assert "no weights that could be saved" in refused(post(page, "weights/text", weights="gen1.net"))


def test_two_moves_are_compared(page: TestClient) -> None:
    body = {"fen": MIDDLEGAME, "first_move": "e4", "second_move": "Ne5", "weights": "default"}
    answer = answer_to(page, "compare", **body)
    first, second = (move["change"]["after_cp"] for move in answer["moves"])
    assert answer["change"]["change_cp"] == second - first
    assert answer["summary"][0].startswith("Ne5 instead of e4")


def test_weights_are_listed_read_changed_and_written_out(page: TestClient) -> None:
    listed = page.get("/api/weights", params={"weights": "tuned"}).json()
    assert {"in-use", "default", "greko2015-before-training"} <= {entry["id"] for entry in listed["weights"]}
    assert [term["name"] for term in listed["terms"]] == list(listed["values"])
    assert all(term["sentence"] for term in listed["terms"])
    text = answer_to(page, "weights/text", weights="tuned", changes={"RookOpen": 44})["text"]
    entry = answer_to(page, "weights", name="mine.txt", text=text)
    assert values_of(page, entry["id"])["RookOpen"] == 44
    assert "RookOpen = 444" in refused(post(page, "explain", fen=ENDGAME, weights="tuned", changes={"RookOpen": 444}))
    wrong = refused(post(page, "weights", name="mine.txt", text="Nonsense 4"))
    assert wrong == "mine.txt:1: no term is called 'Nonsense'"


def test_weights_of_two_phases_are_listed_by_phase(page: TestClient) -> None:
    entry = answer_to(page, "weights", name="two.txt", text="KnightOutpost 30 18\nVAL_P 100\n")
    values = values_of(page, entry["id"])
    assert (values["KnightOutpost_mg"], values["KnightOutpost_eg"]) == (30, 18)
    assert "KnightOutpost" not in values and "VAL_P" in values and "VAL_P_mg" not in values
    answer = post(page, "explain", fen=ENDGAME, weights=entry["id"], changes={"KnightOutpost_eg": 5})
    term = next(term for term in answer.json()["terms"] if term["name"] == "KnightOutpost")
    assert (term["weight_mg"], term["weight_eg"]) == (30, 5)


def test_weights_of_the_user_are_listed_and_read_again_when_changed(page: TestClient, data_folder: Path) -> None:
    own = data_folder / "weights.txt"

    def listed() -> dict[str, Any]:
        return {entry["id"]: entry for entry in page.get("/api/weights").json()["weights"]}

    own.write_text("RookOpen 33\n")
    before = listed()
    assert values_of(page)["RookOpen"] == 33
    own.write_text("RookOpen 34\n")
    os.utime(own, (1.5, 1.5))
    after = listed()
    assert values_of(page)["RookOpen"] == 34 and values_of(page, "yours/weights.txt")["RookOpen"] == 34
    assert after["yours/weights.txt"]["changed"] == 1.5 != before["yours/weights.txt"]["changed"]
    assert after["default"] == before["default"] and listed() == after
    of_another_server = Evaluations().add("mine", default()).id
    for name in (str(own), "../default", "../../pyproject.toml", "yours/../weights.txt", of_another_server):
        assert "there are no weights" in refused(page.get("/api/explain", params={"fen": ENDGAME, "weights": name}))


NO_FILES = [
    "/../pyproject.toml",
    "/%2e%2e/app.py",
    "/..%2fapp.py",
    "/app.py",
    "/page/1/app.py",
    "/page/1/%2e%2e/app.py",
    "/page/1/board",
    "/pieces/wX.svg",
]


@pytest.mark.parametrize("path", NO_FILES)
def test_no_file_but_those_of_the_page_is_sent(page: TestClient, path: str) -> None:
    assert refused(page.get(path), 404)


def test_a_browser_keeps_the_files_of_the_page_until_one_has_changed(page: TestClient, tmp_path: Path) -> None:
    home = page.get("/")
    assert home.headers["cache-control"] == "no-cache"
    addresses = re.findall(r'"(/page/[^"]+)"', home.text)
    begin = next(each for each in addresses if each.endswith("/main.js")).removesuffix("main.js")
    for address in (*addresses, *(f"{begin}{path.relative_to(FOLDER).as_posix()}" for path in FOLDER.rglob("*.*"))):
        found = page.get(address)
        assert found.status_code == 200 and "immutable" in found.headers["cache-control"], address
    assert page.get(f"{begin}main.js").headers["content-type"].startswith("text/javascript")
    file = tmp_path / "main.js"
    versions = set()
    for seconds in (1, 2, 2):
        file.touch()
        os.utime(file, (seconds, seconds))
        versions.add(version_of(tmp_path))
    assert len(versions) == 2


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", "localhost.:8765"]
)
def test_a_foreign_host_is_refused(page: TestClient, host: str) -> None:
    for path in ("/", "/api/start", "/pieces/wK.svg"):
        assert refused(page.get(path, headers={"host": host}), 403)
    with pytest.raises(WebSocketDisconnect), connect(page, "/ws/search", headers={"host": host}):
        pass


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        *(({"origin": origin}, 403) for origin in ("http://evil.example", "null", f"https://127.0.0.1:{PORT}")),
        *(({"origin": origin}, 403) for origin in ("http://127.0.0.1:1", "http://[", f"http://localhost:{PORT}")),
        *(({"sec-fetch-site": site}, 403) for site in ("cross-site", "same-site", "", "SAME-ORIGIN", "none, none")),
        ({"origin": ADDRESS, "sec-fetch-site": "cross-site"}, 403),
        *(({"sec-fetch-site": site}, 200) for site in ("same-origin", "none")),
        ({"origin": ADDRESS, "sec-fetch-site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_only_the_page_itself_is_answered(page: TestClient, headers: dict[str, str], status: int) -> None:
    fen = {"fen": Position().fen()}
    for answer in (page.get("/api/start", headers=headers), page.post("/api/explain", json=fen, headers=headers)):
        assert answer.status_code == status and "access-control-allow-origin" not in answer.headers
    if status == 403:
        with pytest.raises(WebSocketDisconnect), connect(page, "/ws/learn", headers=headers):
            pass
        return
    with connect(page, "/ws/learn", headers=headers) as socket:
        socket.send_json({"stop": True})
    for name, foreign in (("origin", "null"), ("sec-fetch-site", "cross-site")):  # a second one
        pairs = [*headers.items(), (name, headers.get(name, "none")), (name, foreign)]
        assert page.get("/api/start", headers=pairs).status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "mode", "status"),
    [
        ("GET", "/", "navigate", 200),
        ("GET", "/", "no-cors", 403),
        ("GET", "/", "", 403),
        ("POST", "/", "navigate", 403),
        ("GET", "/api/start", "navigate", 403),
    ],
)
def test_a_link_on_another_page_leads_to_ours_and_to_nothing_else(page: TestClient, method, path, mode, status) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode}
    assert page.request(method, path, headers=headers).status_code == status


def test_nothing_is_answered_without_the_token(state: ServerState) -> None:
    plain, token = TestClient(create_app(state, PORT), ADDRESS), state.token
    ways: dict[str, Any] = {
        "address": {"params": {"token": token}},
        "header": {"headers": {"authorization": f"Bearer {token}"}},
        "cookie": {"headers": {"cookie": f"a=b; merino-{PORT}={token}"}},
    }
    wrong: tuple[Any, ...] = (
        {},
        {"params": {"token": token[:-1]}},
        {"params": {"token": ""}},
        {"headers": {"authorization": f"Bearer {token}x"}},
        {"headers": {"authorization": "Bearer "}},
        {"headers": {"cookie": f"merino-{PORT + 1}={token}"}},
    )
    for path in ("/", "/api/start", "/pieces/wK.svg", "/page/0/main.js", "/nothing"):
        for more in wrong:
            answer = plain.get(path, **more)
            assert "open the link that 'merino explorer' has printed" in refused(answer, 403)
            assert "set-cookie" not in answer.headers
    for more in wrong:
        with pytest.raises(WebSocketDisconnect), connect(plain, "/ws/learn", **more):
            pass
    for way, more in ways.items():
        answer = TestClient(create_app(state, PORT), ADDRESS).post("/api/read", json={"text": "e4"}, **more)
        assert answer.status_code == 200
        cookie = f"merino-{PORT}={token}; Path=/; HttpOnly; SameSite=Strict"
        assert answer.headers.get("set-cookie") == (cookie if way == "address" else None)
    assert ServerState().token != token and len(token) > 30


def test_every_answer_carries_the_policy(page: TestClient) -> None:
    for answer in (page.get("/"), page.get("/nothing"), page.get("/api/explain"), page.get("/", headers={"host": "x"})):
        assert answer.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_oversized_body_is_refused_whatever_its_headers_say_but_not_a_net(page: TestClient) -> None:
    assert "larger than 4 MiB" in refused(page.post("/api/read", content=b"x" * (guard.MAX_BYTES + 1)), 413)
    assert refused(page.get("/api/explain", params={"fen": "x" * 20_000}), 414)
    content = of_bytes((DEFAULT_FILE.parent / "gen13.net").read_bytes())
    assert len(content) > guard.MAX_BYTES
    entry = answer_to(page, "weights", name="mine.net", content=content)
    assert entry["name"] == "mine.net" and not entry["has_terms"]
    assert "longer than" in refused(post(page, "games", content=content[: guard.MAX_BYTES // 2 + 4]))
    last = done(page, "profile", text=" " * (5 << 20))[-1]  # games may be longer
    assert last["error"] == "the request needs a text 'player'"


@pytest.mark.parametrize("number", ["1" + "0" * 400, "1e308", "-1e400", "NaN"])
def test_a_number_beyond_all_bounds_is_refused(page: TestClient, number: str) -> None:
    body = f'{{"fen": "{MIDDLEGAME}", "weights": "default", "changes": {{"VAL_P": {number}}}}}'
    assert "'changes' is not an object of numbers" in refused(page.post("/api/explain", content=body))


def test_a_lone_surrogate_is_refused_and_a_pair_of_them_taken(page: TestClient) -> None:
    for half in ("\\ud83d", "x\\uDE00", "\\ude00\\ud83d"):
        for body in (f'{{"name": "{half}", "text": "VAL_P 99"}}', f'{{"{half}": 1}}'):
            assert "half of a character" in refused(page.post("/api/weights", content=body))
    assert "not JSON" in refused(page.post("/api/weights", content=b'{"name": "\xed\xa0\xbd", "text": "VAL_P 99"}'))
    entry = page.post("/api/weights", content='{"name": "\\ud83d\\ude00.txt", "text": "VAL_P 99"}').json()
    assert entry["name"] == "\U0001f600.txt" and page.get("/api/weights").status_code == 200


def test_only_so_many_websockets_are_open_at_once(page: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("merino.app.explorer.channel.MAX_SOCKETS", 2)
    with connect(page, "/ws/search"):
        with connect(page, "/ws/play"), pytest.raises(WebSocketDisconnect), connect(page, "/ws/search"):
            pass
        with connect(page, "/ws/search") as socket:
            socket.send_text("{")
            assert heard(socket, "error")


class UnreadSocket:
    """A WebSocket of a tab that sends one message, reads nothing, and is closed when `leaves` is set."""

    def __init__(self, text: str) -> None:
        self.text, self.leaves, self.is_read = text, asyncio.Event(), False

    async def accept(self) -> None:
        pass

    async def receive_text(self) -> str:
        if self.is_read:
            await self.leaves.wait()
            raise WebSocketDisconnect
        self.is_read = True
        return self.text

    async def send_json(self, _: object) -> None:
        await asyncio.Event().wait()


async def serve(socket: UnreadSocket, talk: Any) -> None:
    await Channel(socket, ServerState(), talk, 100).serve()  # type: ignore[arg-type]


def test_work_waits_where_its_tab_does_not_read() -> None:
    said: list[int] = []
    ended = threading.Event()

    def talk(_: object, __: object, say: Any, stop: Any) -> Any:
        while not stop.is_set and len(said) < 10 * MAX_UNREAD:
            say({"type": "line"})
            said.append(1)
        ended.set()
        return {"type": "done"}

    async def watch() -> None:
        socket = UnreadSocket("{}")
        serving = asyncio.create_task(serve(socket, talk))
        await asyncio.sleep(0.4)
        assert len(said) == MAX_UNREAD and not ended.is_set()
        socket.leaves.set()
        await serving

    asyncio.run(watch())
    assert ended.wait(5)


NO_ROOM = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("fault", "said"), [(NO_ROOM, NO_ROOM.strerror), (MemoryError, "there is not enough memory")])
def test_work_and_requests_without_room_say_so_and_end(page: TestClient, monkeypatch, fault, said: str) -> None:
    monkeypatch.setattr(routes, "use_weights", Mock(side_effect=fault))
    assert refused(post(page, "weights/use", weights="default")) == said
    monkeypatch.setattr(tasks.prove, "prove", Mock(side_effect=fault))
    assert done(page, "match", **MATCH)[-1]["error"] == said
    assert not page.get("/api/match").json()["match"]["running"]
    monkeypatch.setattr(games.tempfile, "TemporaryDirectory", Mock(side_effect=fault))
    assert done(page, "drill", text=PGN, name="mine.pgn", player="Anna")[-1]["error"] == said


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_the_server_keeps_no_tab_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, function in ((routes, "shapley_values"), (tasks.prove, "prove"), (panel, "games_of_player")):
        monkeypatch.setattr(module, function, Mock(side_effect=RuntimeError("broken")))
    with client_of(ServerState(), raise_server_exceptions=False) as page:
        assert "internal error" in refused(post(page, "shapley", fen=ENDGAME), 500)
        assert "internal error" in done(page, "match", **MATCH)[-1]["error"]
        assert "internal error" in done(page, "profile", text=PGN, player="Anna")[-1]["error"]


def test_what_is_said_together_is_sent_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "BREATH_SECONDS", 0.3)  # for a busy machine
    lists: list[list[Any]] = []

    class ReadingSocket(UnreadSocket):
        async def send_json(self, messages: Any) -> None:
            lists.append(messages)
            self.leaves.set()

    def talk(_: object, __: object, say: Any, ___: object) -> Any:
        for number in range(40):
            say({"type": "line", "number": number})
            time.sleep(0 if number else 0.05)
        return {"type": "done"}

    asyncio.run(serve(ReadingSocket("{}"), talk))
    assert [len(messages) for messages in lists] == [41]


class ClosedSocket(UnreadSocket):
    """A WebSocket of a tab that has been closed, which shows when something is sent."""

    is_gone = False

    async def receive_text(self) -> str:
        if self.is_gone:
            raise RuntimeError("WebSocket is not connected")
        await asyncio.sleep(0.1)
        return self.text

    async def send_json(self, _: object) -> None:
        self.is_gone = True
        raise WebSocketDisconnect


def test_a_tab_that_is_closed_during_a_message_causes_no_error() -> None:
    socket = ClosedSocket("{")
    asyncio.run(serve(socket, learn))
    assert socket.is_gone


def test_a_searcher_given_back_is_not_stopped_by_the_work_before() -> None:
    stop, called = Stop(), list[int]()
    with stop.calling(lambda: called.append(1)):
        stop.set()
    stop.set()
    assert called == [1]
    with stop.calling(lambda: called.append(2)):
        assert called == [1, 2], "at once, as it is to end already"


def test_a_searcher_is_used_again_and_as_if_it_were_new() -> None:
    searchers, position = Searchers(), Position(MIDDLEGAME)
    first, second = load_evaluation("default"), load_evaluation("gen1")
    with searchers.borrowed(first) as one:
        one.is_analysing, one.multipv, one.strength = True, 5, strength.at_level(3)
        fresh = one.search(position, limits.Limits(depth=5)).line
        with searchers.borrowed(first) as other:
            assert other is not one
    with searchers.borrowed(second) as again, searchers.borrowed(first) as more:
        assert {again, more} == {one, other}
        assert (again.is_analysing, again.multipv, again.strength) == (False, 1, None)
        assert again.search(position, limits.Limits(depth=4)).line != more.search(position, limits.Limits(depth=4)).line
    with searchers.borrowed(first) as one:
        one.is_analysing, one.multipv, one.strength = True, 5, strength.at_level(3)
        last = one.search(position, limits.Limits(depth=5)).line
        assert fresh and last and (last.nodes, last.score, last.pv) == (fresh.nodes, fresh.score, fresh.pv)


TREE = """[Event "E"]
[Site "?"]
[Date "2024.??.??"]
[Round "1"]
[White "A"]
[Black "B \\"C\\""]
[Result "1-0"]
[Own_Tag "back\\\\slash"]
[Annotator "me"]

{ both young } 1. e4 SIGNS e5 $1 $300 { [%clk 0:01] good } ( { sharper } 1... c5 2. Nf3 $14 ( 2. c3 ) )
( 1... e5 $3 { the same move } 2. f4 ) 2. Nf3 { SAID } 1-0

"""
GIVEN = TREE.replace("SIGNS", "+= \u00b1 $140").replace("{ SAID }", "{one} D ; two\n xy+")
WRITTEN = TREE.replace("SIGNS", "$14 $16 $140").replace("SAID", "one D two xy+")


def test_a_game_keeps_tags_comments_signs_and_variations_there_and_back(page: TestClient) -> None:
    (game,) = answer_to(page, "read", text=GIVEN)["games"]
    assert [move["san"] for move in game["moves"][1]["variations"][0]] == ["c5", "Nf3"]
    assert (game["moves"][1]["commands"], game["moves"][1]["comment"]) == ({"clk": "0:01"}, "good")
    same = {name: game[name] for name in ("fen", "tags", "comment", "moves")}
    assert answer_to(page, "pgn/text", **same)["text"].split() == WRITTEN.split()
    assert page.get("/api/start").json()["signs"]["16"] == "\u00b1"
    start = Position().fen()
    assert "illegal uci: 'e2e5'" in refused(post(page, "pgn/text", fen=start, moves=[{"uci": "e2e5"}]))
    for bad in ({"moves": "e4"}, {"moves": ["e4"]}, {"tags": {"White": 1}}, {"moves": [{"uci": "e2e4", "nags": [-1]}]},
                {"commands": {"a b": "c"}}, {"moves": [{"uci": "e2e4", "commands": {"clk": "1] x"}}]}):  # fmt: skip
        assert refused(post(page, "pgn/text", fen=start, **bad))


def test_what_other_programs_write_is_read_and_what_lies_too_deep_is_named(page: TestClient) -> None:
    said = "{ [%csl Ge5,Rd4][%cal Ge2e4] } 1. e4 e5 $146 { [%eval #-3] [%csl Ga1] x [%csl Ga2] } 2. Nf3 $44 *"
    (game,) = answer_to(page, "read", text=said)["games"]
    assert game["commands"] == {"csl": "Ge5,Rd4", "cal": "Ge2e4"} and game["comment"] == ""
    _, second, third = game["moves"]
    assert second["commands"] == {"eval": "#-3", "csl": "Ga1,Ga2"} and second["comment"] == "x"
    assert second["score"] == {"text": "-M3", "expected_score": 0.0} and third["score"] is None
    signs = page.get("/api/start").json()["signs"]
    assert [signs[str(move["nags"][0])] for move in (second, third)] == ["N", "=/\u221e"]
    assert set(map(int, signs)) >= set(range(1, 140))
    deep = "".join("(1... c5 " for _ in range(21)) + ")" * 21
    assert "variations lie more than 20 deep" in refused(post(page, "read", text=f"1. e4 e5 {deep} 2. Nf3 *"))
    kept = answer_to(page, "game", content=of_bytes(f"1. e4 e5 {deep} 2. Nf3 *".encode()))
    assert "more than 20 deep" in kept["fault"] and len(kept["moves"]) == 3


def test_the_moves_of_games_are_counted_in_each_position_however_it_was_reached(page: TestClient) -> None:
    def game(white: str, elo: int, moves: str, result: str) -> str:
        tags = f'[White "{white}"]\n[Black "X"]\n[WhiteElo "{elo}"]\n[Result "{result}"]\n\n'
        return f"{tags}{moves} {result}\n\n"

    text = game("Anna", 2000, "1. d4 d5 2. c4 e6", "1-0") + game("Bert", 2200, "1. c4 d5 2. d4 c6", "0-1")
    text += game("Anna", 0, "1. e4 c5", "1/2-1/2") + game("Y", 1, "1. Ke2", "*")
    first = answer_to(page, "tree/read", content=of_bytes(text.encode()), more=True)
    rest = of_bytes(text.encode()[first["next"] :])
    last = answer_to(page, "tree/read", content=rest, tree=first["tree"], at=first["next"])
    assert last == {"tree": first["tree"], "next": None, "done": None}

    def at(*moves: str, **wanted: str) -> Any:
        return answer_to(page, "tree", tree=last["tree"], fen=Position().fen(), moves=list(moves), **wanted)

    found = at()
    assert (found["games"], found["listed"], found["numbers"]) == (4, 4, None)
    assert {line["san"]: line["rating"] for line in found["moves"]} == {"d4": 2000, "c4": 2200, "e4": None}
    slav = at("d2d4", "d7d5", "c2c4")
    assert slav["numbers"] == [1, 2] and [line["san"] for line in slav["moves"]] == ["c6", "e6"]
    (c4,) = at("d2d4", "d7d5")["moves"]
    wanted = {"games": 1, "white": 1, "draws": 0, "black": 0, "rating": 2000, "others": 1}
    assert {name: c4[name] for name in wanted} == wanted
    assert at(player="anna")["numbers"] == [1, 3] and at(player="ANNA", side="black")["numbers"] == []
    assert "no longer known" in refused(post(page, "tree", tree="other", fen=Position().fen()))
    for _ in range(MAX_TREES):
        answer_to(page, "tree/read", content=rest)
    assert "no longer known" in refused(post(page, "tree", tree=last["tree"], fen=Position().fen()))


def test_a_game_that_ends_on_the_board_has_its_result_as_pgn(page: TestClient) -> None:
    def result(moves: str, **tags: str) -> str:
        answer = {"fen": Position().fen(), "tags": tags, "moves": [{"uci": move} for move in moves.split()]}
        return answer_to(page, "pgn/text", **answer)["text"].split()[-1]

    mate = "f2f3 e7e5 g2g4 d8h4"
    assert (result(mate), result(mate[:9]), result(mate, Result="1/2-1/2")) == ("0-1", "*", "1/2-1/2")


def test_a_game_that_castles_as_only_chess960_does_becomes_pgn(page: TestClient) -> None:
    start = "4k3/8/8/8/8/8/5PPP/4K1R1 w K - 0 1"
    for move in answer_to(page, "explain", fen=start)["moves"]:
        if move["san"] == "O-O":
            text = answer_to(page, "pgn/text", fen=start, moves=[{"uci": move["uci"]}])["text"]
    (again,) = answer_to(page, "read", text=text)["games"]
    assert [move["san"] for move in again["moves"]] == ["O-O"] and again["fault"] is None


def test_all_that_is_said_of_some_work_carries_its_id(page: TestClient) -> None:
    with connect(page, "/ws/search") as socket:
        socket.send_json({"fen": MIDDLEGAME, "id": 1})
        socket.receive_json()
        socket.send_json({"fen": ENDGAME, "depth": 3, "id": 2})
        answer: list[Any] = []
        while not answer or (answer[-1]["type"], answer[-1]["id"]) != ("done", 2):
            answer += socket.receive_json()
    assert [message["id"] for message in answer] == sorted(message["id"] for message in answer)
    assert [message["id"] for message in answer if message["type"] == "done"] == [1, 2]


def test_a_game_is_annotated_move_by_move_or_from_a_move_on(page: TestClient) -> None:
    moves = ["e2e4", "e7e5", "d1h5", "b8c6", "f1c4", "g8f6", "h5f7"]
    answer = done(page, "annotate", fen=Position().fen(), moves=moves, nodes=2000)
    assert [move["ply"] for move in answer[:-1]] == list(range(1, 8))
    assert answer[5]["grade"]["name"] == "blunder" and answer[6]["grade"] is None
    later = done(page, "annotate", fen=Position().fen(), moves=moves[:3], nodes=200, first=3)
    assert [(move["ply"], move["san"]) for move in later if move["type"] == "move"] == [(3, "Qh5")]


def test_what_a_move_gives_away_is_one_number_for_the_review_and_for_the_board(page: TestClient) -> None:
    asked = {"fen": MIDDLEGAME, "moves": ["d3h7", "g8h7", "a2a3", "e7b4", "a3b4"], "weights": "default"}
    *reviewed, _ = done(page, "annotate", **asked, nodes=3000)
    assert {move["grade"] and move["grade"]["name"] for move in reviewed} >= {"blunder", None}
    for move in reviewed:
        before, after = move["lines"]
        body = asked | {"moves": asked["moves"][: move["ply"]]}
        answer = answer_to(page, "loss", **body, before=before, after=after)
        assert answer["loss"] == pytest.approx(move["loss"], abs=1e-9)
        assert (answer["grade"] or {}).get("name") == (move["grade"] or {}).get("name")
    known = {"fen": Position().fen(), "moves": ["g2g4"], "weights": "default"}
    drawn, lost = ({"moves": [uci], "score": {"cp": cp}} for uci, cp in (("e2e4", 0), ("d7d5", -500)))
    assert answer_to(page, "loss", **known, before=drawn, after=lost) == {"loss": 0.0, "grade": None}, "a known opening"
    for bad in (
        {"moves": []},
        {"after": {}},
        {"before": drawn | {"score": {}}},
        {"before": drawn | {"moves": ["e2e5"]}},
    ):
        assert refused(post(page, "loss", **known | {"before": drawn, "after": lost} | bad))


def test_two_moves_are_compared_by_the_lines_that_are_shown(page: TestClient) -> None:
    body = {"fen": MIDDLEGAME, "first_move": "Bxh7", "second_move": "Ne5", "weights": "default", "nodes": 2000}
    assert re.fullmatch(
        r"Ne5 is better than Bxh7\+: \S+ against \S+", answer_to(page, "compare", **body)["why"][0][:-1]
    )
    lines = [{"moves": [move], "score": {"cp": cp}} for move, cp in (("d3h7", 100), ("f3e5", -200))]
    answer = answer_to(page, "compare", **body, lines=lines)
    assert answer["why"][0].startswith("Bxh7+ is better than Ne5") and not re.search(r"[+-]\d", answer["why"][0])
    assert [move["score"]["cp"] for move in answer["moves"]] == [100, -200]
    assert "not those of the two moves" in refused(post(page, "compare", **body, lines=lines[::-1]))


def test_learning_is_followed_step_by_step_and_kept(page: TestClient, tmp_path: Path) -> None:
    games = few_games(tmp_path).read_text().split("[Event ")[1:]
    texts = ("".join(f"[Event {game}" for game in part) for part in (games[:100], games[100:]))
    files = [{"name": f"{name}.pgn", "text": text} for name, text in zip("ab", texts, strict=True)]
    answer = done(page, "learn", files=files, weights="greko2015-before-training")
    steps, last = [message for message in answer if message["type"] == "step"], answer[-1]
    assert last["type"] == "done", last
    assert steps[-1]["train"] < steps[0]["train"] and len(steps[0]["weights"]) == len(TERMS)
    assert last["record"]["files"] == ["a.pgn", "b.pgn"] and last["record"]["summary"]["games"] == 200
    assert last["weights"]["name"] == "learned from a.pgn and 1 more"
    words = [message["what"] for message in answer if message["type"] == "progress"]
    assert any("a.pgn" in what for what in words) and not any("sent-" in what for what in words)
    assert page.get("/api/learning").json() == {name: last[name] for name in ("record", "weights", "old")}
    for entry, field in (("weights", "new"), ("old", "old")):
        lines = last["record"]["summary"]["weights"]
        assert values_of(page, last[entry]["id"]) == {line["name"]: line[field] for line in lines}
    error = done(page, "learn", text="no games here", name="mine.pgn")[-1]
    assert error["type"] == "error" and "mine.pgn" in error["error"] and "/tmp" not in error["error"]


def test_learning_takes_target_phases_and_positions_a_game(page: TestClient) -> None:
    games = (ROOT / "games" / "selfplay.pgn").read_text(encoding="utf-8").split("[Event ")[1:41]
    body = {"text": "".join(f"[Event {game}" for game in games), "weights": "default", "first": 20, "last": 22}
    last = done(page, "learn", **body, target="blend=0.5", teacher=True, phases=2, per_game=3)[-1]
    assert last["type"] == "done", last
    assert {"BishopMobility_mg", "BishopMobility_eg"} <= {line["name"] for line in last["record"]["summary"]["weights"]}
    assert last["record"]["summary"]["positions"] <= 3 * 40
    for wrong, said in (
        ({"target": "blend=2"}, "blend=X needs an X from 0 to 1"),
        ({"phases": 3}, "phases must be a whole number from 1 to 2"),
        ({"weights": "gen1.net"}, "no weights to learn"),
    ):
        assert said in done(page, "learn", **{**body, **wrong})[-1]["error"]


def test_learning_stopped_before_it_has_a_result_says_only_that(tmp_path: Path) -> None:
    stop, body = Stop(), {"text": few_games(tmp_path).read_text(), "name": "few.pgn", "weights": "default"}
    stop.set()
    with pytest.raises(RequestError, match=r"^stopped$"):
        learn(Fields(body), ServerState(), lambda _: None, stop)


def test_games_of_several_files_have_room_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "MAX_SENT", 2 * len(PGN))
    for count in (1, 2, 3):
        fields = Fields({"files": [{"name": f"{number}.pgn", "text": PGN} for number in range(count)]})
        if count <= 2:
            with games.sent_games(fields) as sent:
                assert [path.read_text() for path in sent.paths] == count * [PGN]
        else:
            with pytest.raises(RequestError, match="the games are longer than"), games.sent_games(fields):
                pass
    with pytest.raises(RequestError, match="the games are longer than"), games.sent_games(Fields({"text": 3 * PGN})):
        pass


def test_a_match_reports_each_game_and_goes_on_when_its_tab_closes(page: TestClient) -> None:
    players = {"new": {"weights": "default"}, "old": {"weights": "default", "changes": {"VAL_Q": 100}}}
    trial, *games, last = done(page, "match", **players, games=6, nodes=200)
    assert [game["number"] for game in games] == [1, 2, 3, 4, 5, 6] and trial["most"] == 6
    for game in games:
        board = chess.Board(game["fen"])
        for move in game["moves"]:
            board.push_uci(move)  # raises an error for an illegal one
    points, standing = sum(game["points"] for game in games), last["standing"]
    assert standing == games[-1]["standing"] and standing["wins"] + standing["draws"] / 2 == points
    assert points >= 4, "who knows what a queen is worth wins"
    with connect(page, "/ws/match") as socket:
        socket.send_json({**players, "nodes": 300, "games": 400})
        while not any(message["type"] == "game" for message in socket.receive_json()):
            pass
    found = page.get("/api/match").json()["match"]
    assert found["running"] and found["old"]["changes"] == {"VAL_Q": 100}
    assert "already being played" in done(page, "match", **players)[-1]["error"]
    with connect(page, "/ws/match") as socket:
        socket.send_json({"follow": True})
        socket.send_json({"stop": True})
        numbers = [message["number"] for message in heard(socket, "done") if message["type"] == "game"]
    assert numbers == list(range(1, len(numbers) + 1)) != []
    assert not page.get("/api/match").json()["match"]["running"]
    post(page, "learning/drop")
    assert page.get("/api/match").json()["match"] is None


@pytest.mark.usefixtures("data_folder")
def test_a_night_begins_and_ends_by_request_and_keeps_its_work(page: TestClient) -> None:
    assert refused(post(page, "night/start")) == "a night needs its 'hours'"
    post(page, "night/start", hours=1)
    try:
        assert "already at work" in refused(post(page, "night/start", hours=1))
    finally:
        post(page, "night/stop")
    while page.get("/api/night").json()["run"]["running"]:
        time.sleep(0.05)
    found = page.get("/api/night").json()
    assert found["night"]["generations"] == [] and found["night"]["start"].endswith("gen13.net"), found
    assert found["run"]["error"] == ""


def test_weights_put_in_use_are_those_that_merino_plays_with(page: TestClient, data_folder: Path) -> None:
    answer = answer_to(page, "weights/use", weights="default", changes={"RookOpen": 77})
    assert answer["file"] == str(data_folder / "weights.txt") and values_of(page)["RookOpen"] == 77
    post(page, "weights/use", weights="default", changes={})
    _, old = sorted(data_folder.glob("weights.txt.*.old"))  # the first has those that come with Merino
    assert values_of(page, f"yours/{old.name}")["RookOpen"] == 77
    answer_to(page, "weights/use", weights=f"yours/{old.name}", changes={})
    assert values_of(page)["RookOpen"] == 77 and len(list(data_folder.glob("weights.txt.*.old"))) == 3
    assert "no weights" in refused(post(page, "weights/use", weights="gen1.net"))


def exercise(solution: str) -> drill.Exercise:
    """An exercise from the start of a game."""
    return drill.Exercise(Position().fen(), "a3", solution, "blunder", "", 0.2, 1, "A - B", "1.", (solution,), ())


def test_practice_that_went_on_elsewhere_is_continued(tmp_path: Path) -> None:
    place = tmp_path / "mine.pgn.drill.json"
    first, second = exercises = (exercise("e4"), exercise("d4"))
    opened, elsewhere = (drill.Practice("games me 9", exercises) for _ in range(2))
    elsewhere.review(first, True, datetime.now(UTC))
    elsewhere.save(place)
    state = ServerState(kept={PRACTICES: {str(place): opened}})
    about = {"practice": str(place), "exercise": second.identity, "found": True}
    assert review_exercise(Fields(about), state)["practised"] == 2
    kept = drill.load_progress(place).cards.keys()
    assert kept == {first.identity, second.identity} == state.kept[PRACTICES][str(place)].cards.keys()
    drill.Practice("others me 9", exercises).save(place)
    before = place.read_bytes()
    with pytest.raises(RequestError, match="keeps another: open it again"):
        review_exercise(Fields(about), state)
    assert place.read_bytes() == before


MATE_MISSED = (
    '[White "Me"]\n[Black "You"]\n[FEN "5k2/5ppp/6r1/7n/7n/8/5PPP/R5K1 w - - 0 1"]\n\n'
    "1. Kf1 Kg8 2. Kg1 Kf8 3. Kf1 Kg8 4. Kg1 Kf8 5. Kf1 Kg8 6. Rb1 h6 0-1\n"
)


def test_a_second_player_of_the_same_games_has_practice_of_their_own(page: TestClient, data_folder: Path) -> None:
    name = "\u5bf9\u5c40" * 40  # a long one, in letters of three bytes
    base = f"{name[:33]}"  # as far as a name of a file has room
    of_you = data_folder / "drill" / f"{base}.drill.json"
    of_you.parent.mkdir()
    others = drill.Practice("games You 9", (exercise("e4"),))
    others.review(others.exercises[0], True, datetime.now(UTC))
    others.save(of_you)
    before = of_you.read_bytes()
    opened = done(page, "drill", text=MATE_MISSED, name=name, player="me")[-1]
    assert opened["practice"] == str(of_you.with_name(f"{base}.me.drill.json")) and opened["due"]
    assert of_you.read_bytes() == before


def test_practice_is_kept_where_the_shell_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    games = tmp_path / "mine.pgn"
    games.write_text(MATE_MISSED)
    with GamesFile(games) as file, client_of(ServerState(games=file)) as page:
        for due in (1, 0):
            opened = done(page, "drill", file=True, player="me")[-1]
            assert len(opened["due"]) == due, opened
            (identity,) = opened["exercises"]
            about = {"practice": opened["practice"], "exercise": identity}
            refused_move = answer_to(page, "drill/answer", **about, move="Ra2")
            assert not refused_move["right"] and refused_move["refutation"]
            assert "a1" in answer_to(page, "drill/answer", **about)["hint"]
            assert answer_to(page, "drill/answer", **about, move="a1a8")["right"]
            assert answer_to(page, "drill/review", **about, found=True)["due"] == []
        assert list(drill.load_progress(tmp_path / "mine.pgn.drill.json").cards) == [identity]
        assert "no longer known" in refused(post(page, "drill/answer", **about | {"practice": "/etc/passwd"}))
        monkeypatch.setattr(panel.files, "held", Mock(side_effect=OSError(errno.ENOSPC, "no room")))
        assert refused(post(page, "drill/review", **about, found=True)).endswith(".drill.json': no room")
        assert "has no player 'nobody'" in done(page, "profile", file=True, player="nobody")[-1]["error"]


def command(*arguments: str) -> None:
    run_explorer(["--port", "0", "--no-browser", *arguments])


def test_without_the_extra_the_command_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MerinoError, match=r"^the explorer needs the extra 'web': .*\[web\]'$"):
        command()


NOTHING_TO_SHOW = [
    (["9/8/8/8/8/8/8/8 w - -"], "'9' on rank 8 is no piece"),
    (["4k3/8/8/8/8/8/8/4K3", "w", "-", "-", "e4"], "expected nothing after the FEN, not 'e4'"),
    (["nothing.pgn"], "cannot read 'nothing.pgn'"),
    (["CITATION.cff"], "'CITATION.cff' holds no game"),
    (["one.pgn", "two.pgn"], "expected a FEN or one file, not 'one.pgn two.pgn'"),
]


@pytest.mark.parametrize(("arguments", "reason"), NOTHING_TO_SHOW)
def test_a_file_the_explorer_cannot_begin_with_is_refused_in_a_sentence(arguments: list[str], reason: str) -> None:
    with pytest.raises(MerinoError, match=reason):
        command(*arguments)


def test_on_windows_no_other_server_may_listen_on_the_same_port(monkeypatch: pytest.MonkeyPatch) -> None:
    def has(option: int) -> bool:
        with listen(0) as listener, socket.create_connection(listener.getsockname()):
            assert listener.accept()[0].proto == socket.IPPROTO_TCP, "else asyncio leaves Nagle's algorithm on"
            return listener.getsockopt(socket.SOL_SOCKET, option) != 0

    exclusive = socket.SO_KEEPALIVE  # stands for it where there is none
    assert has(socket.SO_REUSEADDR) and not has(exclusive)
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", exclusive, raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    assert has(exclusive) and not has(socket.SO_REUSEADDR)


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(MerinoError, match=f"cannot listen on port {port}: "):
            run_explorer(["--port", str(port), "--no-browser"])


def test_the_engine_of_the_command_line_judges_and_no_request_names_another(page: TestClient) -> None:
    named, other = NamedJudge(FAKE), NamedJudge("terms")
    with client_of(ServerState(named_judges=[named, other])) as judged:
        assert judged.get("/api/weights").json()["judges"] == [["judge", "Fake"], ["judge1", other.name]]
        *lines, last = done(judged, "search", fen=Position().fen(), nodes=100)
        assert last["best"] == "a2a3" and "best is 1.a3 (Fake, depth 3)" in lines[0]["sentence"]
        for judge in ("judge1", "gen13.net"):
            assert done(judged, "search", fen=Position().fen(), depth=1, judge=judge)[-1]["best"] != "a2a3"
        moves = done(judged, "annotate", fen=Position().fen(), moves=["e2e4", "e7e5"], nodes=100)
        assert [move["before"]["cp"] for move in moves[:-1]] == [12, -12]
        with connect(judged, "/ws/search") as socket:  # without limits, until it is stopped
            socket.send_json({"fen": Position().fen()})
            heard(socket, "line")
            socket.send_json({"stop": True})
            assert heard(socket, "done")[-1]["type"] == "done"
        assert done(judged, "play", fen=Position().fen(), judge="judge")[-1]["san"] == "a3"
        assert "UCI_LimitStrength" in done(judged, "play", fen=Position().fen(), judge="judge", level=5)[-1]["error"]
        assert "there are no weights '/bin/true'" in refused(post(judged, "threat", fen=MIDDLEGAME, judge="/bin/true"))
    named.close()
    assert "there are no weights" in done(page, "search", fen=MIDDLEGAME, judge=FAKE)[-1]["error"]


def test_of_the_levels_of_an_engine_only_the_last_few_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    started: dict[str, Mock] = {}
    monkeypatch.setattr(judge, "judge_of", lambda named, *_, **__: started.setdefault(named, Mock()))
    named = NamedJudge("fish")
    with named.weakened(1000).borrowed():
        for elo in range(1100, 1100 + 100 * MAX_LEVELS, 100):
            assert named.weakened(elo) is named.weakened(elo)
    assert list(started)[1] == "fish,option.UCI_LimitStrength=true,option.UCI_Elo=1000"
    assert [bool(each.close.called) for each in started.values()] == [False, True, *[False] * MAX_LEVELS]
    named.close()
    assert all(each.close.called for each in started.values())


def test_tables_say_who_wins_and_merino_plays_by_them_and_by_its_book(page: TestClient) -> None:
    queen = "8/8/8/4k3/8/8/8/KQ6 w - - 0 1"
    book = Mock(move=lambda position, _: position.parse_uci("b1b5") if position.fen() == queen else None)
    with client_of(ServerState(tables=FakeTables(), book=book)) as known:  # type: ignore[arg-type]
        assert explained(known, queen)["tables"].startswith("Endgame tables: White wins; best: K")
        assert explained(known, ENDGAME)["tables"] is None
        assert done(known, "play", fen=queen)[-1]["best"] == "b1b5"
        assert done(known, "play", fen=queen.replace("w", "b"))[-1]["best"]
    assert run_explorer_error("--syzygy", "/nowhere") and "nowhere" in run_explorer_error("--book", "nowhere.bin")


def test_an_engine_that_ends_is_named_and_one_that_ended_idle_is_started_again(
    recwarn: pytest.WarningsRecorder,
) -> None:
    named = NamedJudge(f"{FAKE} crash")  # at its third search
    with client_of(ServerState(named_judges=[named])) as judged:
        *found, last = done(judged, "annotate", fen=Position().fen(), moves=["e2e4", "e7e5", "d2d4"], nodes=100)
        assert [move["ply"] for move in found] == [1] and last["error"].startswith("judge 'Fake' has ended")
        assert done(judged, "search", fen=Position().fen(), nodes=100)[-1]["best"] == "a2a3"
        with named.borrowed() as lent:
            protocol = cast(Any, lent.close).__self__._protocol
            protocol.loop.call_soon_threadsafe(time.sleep, 0.5)  # for which nobody learns of its end
            protocol.transport.kill()
        assert done(judged, "search", fen=Position().fen(), nodes=100)[-1]["best"] == "a2a3"
    named.close()
    assert not recwarn.list
