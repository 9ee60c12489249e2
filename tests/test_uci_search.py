"""`position` and `go` over a pipe against the real process: the rules GUIs rely on."""

import re
import time
from pathlib import Path

import chess
import pytest

from tests.boards import KIWIPETE, MATE_IN_ONE, MATED, STALEMATED, WILD
from tests.uci_process import bestmove, field, infos, line_of

SHUFFLE = "g1f3 g8f6 f3g1 f6g8"
QUEENS = "1q2B2q/2q1B1q1/3qkq2/1r1nr1RQ/3QKQ2/2Q3Q1/1Q2n2Q/Q3n3 w - - 0 10"  # where exchanges have no end


# Position


@pytest.mark.parametrize(
    ("position", "complaint"),
    [
        ("position fen garbage", "4 to 6 fields"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "0 kings"),
        ("position fen 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "could take the king"),
        ("position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNX w KQkq - 0 1", "'X' on rank 1"),
        ("position startpos moves e2e4 e7e5 e2e4", "ply 3: e2e4 is not legal"),
        ("position startpos moves e2e4 0000", "ply 2: '0000'"),
        ("position startpos moves e2e4 \u00e9\u00e8", "ply 2: '\u00e9\u00e8'"),
        ("position", "'startpos' or 'fen'"),
        ("position fen", "4 to 6 fields"),
    ],
)
def test_a_wrong_position_is_explained_and_go_has_no_move_until_a_right_one(engine, position, complaint):
    engine.send(position)
    (error,) = engine.sync()
    assert error.startswith("info string error: position: ")
    assert complaint in error
    assert engine.ask("go depth 3", until="bestmove")[-1] == "bestmove (none)"
    assert bestmove(engine, "position startpos", "go depth 1") != "(none)"


def test_a_fen_of_four_fields_is_accepted(engine):
    assert bestmove(engine, "position fen 6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -", "go depth 3") == "d1d8"


@pytest.mark.parametrize("plies", [300, 600, 2000])
def test_a_long_game_is_taken_within_20_ms(engine, plies):
    command = f"position startpos moves {' '.join((SHUFFLE.split() * 500)[:plies])}"

    assert min(engine.seconds(command, "isready", until="readyok") for _ in range(5)) < 0.020


@pytest.mark.parametrize("plies", [3, 7, 295, 599, 1999])
def test_a_third_repetition_is_worth_nothing_and_a_second_in_the_game_does_not_count(engine, plies):
    moves = " ".join((SHUFFLE.split() * 500)[:plies])
    # A pawn up for Black, who would repeat the position by f6g8.
    fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPP1PPP/RNBQKBNR w KQkq - 0 1"
    said = engine.ask(f"position fen {fen} moves {moves}", "go depth 1 searchmoves f6g8", until="bestmove")
    assert said[-1].startswith("bestmove f6g8")
    assert (" score cp 0 " in infos(said)[-1]) == (plies >= 7)


def test_a_root_that_is_drawn_by_rule_still_has_a_move(engine):
    assert bestmove(engine, f"position startpos moves {SHUFFLE} {SHUFFLE} {SHUFFLE}", "go depth 3") != "(none)"
    assert bestmove(engine, "position fen 4k3/8/8/8/8/8/4R3/4K3 b - - 150 120", "go depth 3") != "(none)"


# Go


def test_a_search_ends_with_a_final_info_and_one_bestmove(engine):
    said = engine.ask("go depth 6", until="bestmove")
    assert re.fullmatch(
        r"info depth 6 seldepth \d+ multipv 1 score cp -?\d+ nodes \d+ nps \d+ hashfull \d+ tbhits 0 time \d+ pv .*",
        said[-2],
    )
    assert said[-1].split()[1] == said[-2].partition(" pv ")[2].split()[0]
    assert engine.sync() == []


@pytest.mark.parametrize("go", ["go nodes 1", "go movetime 1", "go wtime 1 btime 1", "go infinite\nstop"])
@pytest.mark.parametrize("moves", ["", " searchmoves a2a7"])
def test_even_a_search_without_time_has_a_final_info_that_begins_with_its_move(engine, go, moves):
    engine.send("ucinewgame", f"position fen {WILD}")
    said = engine.ask(go.replace("\n", f"{moves}\n") if "\n" in go else go + moves, until="bestmove")
    report = infos(said)[-1]
    assert re.fullmatch(r"info depth \d+ .* score (cp|mate) -?\d+ nodes \d+ nps \d+ hashfull .*", report)
    assert line_of(report)[0] == said[-1].split()[1]
    assert not moves or said[-1].split()[1] == "a2a7"


@pytest.mark.parametrize("go", ["go infinite", "go ponder wtime 60000 btime 60000", "go depth 100"])
def test_stop_brings_one_bestmove_at_once(engine, go):
    engine.send(go)
    time.sleep(0.3)
    assert engine.seconds("stop", until="bestmove") < 0.1
    assert engine.sync() == []


def test_stop_directly_after_go_is_not_lost(engine):
    for _ in range(20):
        assert bestmove(engine, "go infinite", "stop") != "(none)"


def test_isready_is_answered_at_once_during_a_search(engine):
    engine.send("go infinite")
    time.sleep(0.2)
    assert engine.seconds("isready", until="readyok") < 0.05
    engine.ask("stop", until="bestmove")


@pytest.mark.parametrize(
    ("fen", "go"),
    [
        (KIWIPETE, "go"),
        (MATE_IN_ONE, "go infinite depth 2"),
        (MATE_IN_ONE, "go ponder infinite depth 2\nponderhit"),
        (MATE_IN_ONE, "go ponder wtime 9 btime 9"),
        (MATED, "go infinite"),
        (STALEMATED, "go ponder depth 2"),
    ],
)
def test_infinite_and_ponder_wait_for_the_gui(engine, fen, go):
    engine.send(f"position fen {fen}", go)
    with pytest.raises(TimeoutError):
        engine.read_until("bestmove", 0.25)
    engine.ask("stop", until="bestmove")
    assert engine.sync() == []


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processor time is read from /proc")
@pytest.mark.parametrize(("go", "threads"), [("go infinite depth 2", 1), ("go ponder mate 1", 2)])
def test_waiting_for_the_gui_costs_no_processor_time(engine, go, threads):
    engine.send(f"position fen {MATE_IN_ONE}", f"setoption name Threads value {threads}", go)
    engine.read_until("info depth 1")
    time.sleep(0.1)
    before = engine.processor_seconds()
    time.sleep(0.3)
    assert engine.processor_seconds() - before < 0.05
    engine.ask("stop", until="bestmove")


def test_ponderhit_turns_the_search_to_its_limits(engine):
    engine.send("go ponder movetime 200")
    with pytest.raises(TimeoutError):
        engine.read_until("bestmove", 0.4)
    assert 0.1 < engine.seconds("ponderhit", until="bestmove") < 0.4
    assert engine.sync() == []


def test_ponderhit_brings_the_move_of_a_finished_search_at_once(engine):
    engine.send("go ponder depth 2")
    time.sleep(0.1)
    assert engine.seconds("ponderhit", until="bestmove") < 0.1


def test_a_position_sent_during_a_search_is_for_the_next_one(engine):
    engine.send("go infinite", f"position fen {MATE_IN_ONE}")
    assert chess.Move.from_uci(bestmove(engine, "stop")) in chess.Board().legal_moves
    assert bestmove(engine, "go depth 2") == "d1d8"


def test_a_second_go_lets_the_first_give_its_move(engine):
    engine.send("go infinite", "position startpos moves e2e4", "go depth 2")
    first, second = (engine.read_until("bestmove")[-1].text.split()[1] for _ in range(2))
    assert chess.Move.from_uci(first) in chess.Board().legal_moves
    assert second[1] in "78"
    assert engine.sync() == []


def test_a_new_game_during_a_search_stops_it(engine):
    engine.send("go infinite", "ucinewgame", "isready")
    engine.read_until("bestmove")
    engine.read_until("readyok")


@pytest.mark.parametrize(
    ("fen", "score"), [(MATED, "info depth 0 seldepth 0 multipv 1 score mate 0"), (STALEMATED, "score cp 0")]
)
def test_a_root_without_moves_has_a_score_and_no_move(engine, fen, score):
    said = engine.ask(f"position fen {fen}", "go depth 5", until="bestmove")
    assert len(said) == 2
    assert score in said[0]
    assert said[1] == "bestmove (none)"


@pytest.mark.parametrize(
    "limits",
    [
        "wtime 100",
        "btime 100",
        "wtime 100 winc 100 btime 100 binc 100",
        "btime 100 binc 100 wtime 100 winc 100 movestogo 1",
        "wtime -50 btime -50",
        "wtime 0 btime 0 winc 0 binc 0",
        "wtime 0 btime 0 winc 0 binc 0 movestogo 0",
        "wtime 0 btime 0 winc -9 binc -9 movestogo -9",
        "wtime 0",
        "btime 0",
        "wtime 100.5 btime 99.9",
        "movetime 0",
        "movetime 100",
        "depth 0",
        "depth -3",
        "nodes 0",
        "mate 0",
        "depth joho 3 nodes 1000",
        "joho depth 2",
        "depth 2 wtime",
        "wtime 99999999999999999999999 btime 1 depth 2",
    ],
)
@pytest.mark.parametrize("side", ["", " moves e2e4"])
def test_every_limit_ends_with_a_move_in_time(engine, limits, side):
    sent = engine.send(f"position startpos{side}", f"go {limits}")
    said = engine.read_until("bestmove", 10)
    assert said[-1].at - sent < 1.0
    assert re.search(r"score cp -?\d+ (lowerbound )?nodes \d+ nps \d+ ", said[-2].text)


def test_movetime_is_kept(engine):
    assert 0.2 < engine.seconds("go movetime 300", until="bestmove") < 0.4


@pytest.mark.parametrize("clock", ["wtime 60000 btime 60000", "wtime 60000 btime 60000 winc 5000 binc 5000"])
def test_a_single_legal_move_is_played_at_once(engine, clock):
    asked = "position fen 7k/8/8/8/8/8/1r6/K7 w - - 0 1", f"go {clock}"
    assert min(engine.seconds(*asked, until="bestmove") for _ in range(3)) < 0.05


@pytest.mark.parametrize("level", [0, 5, 19, 20])
@pytest.mark.parametrize("fen", [chess.STARTING_FEN, KIWIPETE, WILD, QUEENS])
@pytest.mark.parametrize("nodes", [1, 100, 5000, 50000])
def test_nodes_are_overshot_by_little(engine, fen, nodes, level):
    lines = f"setoption name Skill Level value {level}", f"position fen {fen}", f"go nodes {nodes}"
    said = engine.ask("ucinewgame", *lines, until="bestmove")
    engine.send("setoption name Skill Level value 20")
    assert int(field(infos(said)[-1], "nodes")) <= nodes + 1024
    is_short = "info string the search was too short for the strength that is set: its move is weaker" in said
    assert fen != KIWIPETE or nodes == 5000 or is_short == (level < 20 and (nodes < 5000 or level == 19))


@pytest.mark.parametrize("level", [5, 20])
def test_a_search_that_is_too_short_for_any_move_shows_the_evaluation_as_depth_0(engine, level):
    lines = f"setoption name Skill Level value {level}", f"position fen {QUEENS}", "go nodes 1000"
    said = engine.ask("ucinewgame", *lines, until="bestmove")
    (shown,) = infos(said)
    (evaluation,) = re.findall(r"Evaluation: ([+-]\d+) cp", engine.ask("eval", until="Evaluation")[-1])
    engine.send("setoption name Skill Level value 20")
    assert (field(shown, "depth"), int(field(shown, "cp"))) == ("0", int(evaluation))
    assert line_of(shown) == said[-1].split()[1:]


@pytest.mark.parametrize(
    "go", ["searchmoves a2a3 h2h3 depth 4", "depth 4 searchmoves a2a3 h2h3", "searchmoves a2a3 e2e5 depth 3"]
)
def test_searchmoves_may_stand_anywhere(engine, go):
    assert bestmove(engine, f"go {go}") in ("a2a3", "h2h3")


def test_searchmoves_without_a_legal_one_are_ignored(engine):
    assert bestmove(engine, "go searchmoves 0000 e2e5 depth 3") not in ("(none)", "0000")


def test_go_mate_ends_also_where_there_is_none(engine):
    assert bestmove(engine, "go mate 2") != "(none)"


def test_go_mate_finds_a_mate_that_an_earlier_search_has_pruned(engine):
    engine.send("ucinewgame", "position fen 3Q3Q/8/1K6/8/k7/r2p1Rn1/8/8 w - - 0 1")
    assert " score cp " in infos(engine.ask("go depth 6", until="bestmove"))[-1]
    assert " score mate 3 " in infos(engine.ask("go mate 3", until="bestmove"))[-1]
