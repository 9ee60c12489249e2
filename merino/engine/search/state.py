"""The record of one search thread: its whole state, as one pointer for compiled code.

Only the transposition table, the correction histories and the stop flag are shared between threads; all are reached by
their address.
"""

import numpy as np

from merino.core.board.move import SQUARES
from merino.core.board.movegen import MAX_MOVES
from merino.core.board.position import POSITION
from merino.core.compiled.memory import aligned_record, record_dtype
from merino.engine.search.limits import MAX_PLY
from merino.engine.search.parameters import EXCHANGE_VALUES, PARAMETER_DTYPE, parameter_values

NO_SCORE = -32700  # of a position without a static evaluation: in check
INFINITE = 32500
PAST = 512  # positions of the game before the root, for repetitions
PIECE_TO = 14 * 64  # indices of (piece, destination)
MAX_QUIETS = 64  # quiet moves remembered at a node for the history
REDUCTION_SIZE = 64
CORRECTION_BITS = 14  # of an index into the correction history

PLY = record_dtype(
    [
        ("raw_eval", np.int64),  # static evaluation for the side to move, or NO_SCORE
        ("static_eval", np.int64),  # the same, corrected by correction history
        ("hash_move", np.int64),
        ("excluded", np.int64),  # the move a singular search leaves out
        ("reduction", np.int64),  # plies by which the move made here is searched less deeply
        ("extension", np.int64),  # plies to search the hash move deeper
        ("tt_pv", np.int64),  # whether the position is on a principal variation, or has been, by the table
        ("is_cut_node", np.int64),  # whether a fail high is expected
        ("cutoffs", np.int64),  # fail highs here since the node two plies up, or the root search, began
        ("has_threats", np.int64),  # whether `threats` are known
        ("threats", np.uint64, 3),  # what the opponent attacks, by pawns, by minor pieces too, and by anything
        ("move", np.int64),  # the move made here; NO_MOVE for a null move
        ("piece_to", np.int64),  # its (piece, destination) index; 0 for a null move
        ("killers", np.int64, 2),
        ("check_squares", np.uint64, 8),  # from where a piece of each type gives check, where quiet moves are searched
        ("stage", np.int64),  # of the move picker, and its bookkeeping:
        ("next", np.int64),
        ("end", np.int64),
        ("bad_end", np.int64),
        ("best", np.int64),  # score, or the lowest where it is to be found
        ("noisy_only", np.int64),
        ("skip_quiets", np.int64),
        ("quiets", np.int64),  # how many quiet moves have been searched
        ("noisies", np.int64),
        ("pv_length", np.int64),
    ]
)

SEARCH = record_dtype(
    [
        ("positions", POSITION, MAX_PLY + 2),
        ("plies", PLY, MAX_PLY + 2),
        ("parameters", PARAMETER_DTYPE),
        ("exchange_values", np.int64, 8),  # what a piece of each type is worth in exchanges; 0 for king and EMPTY
        ("evaluation", np.uint64),  # address of the kernel that evaluates a ply
        ("evaluation_data", np.uint64),  # address of what that kernel reads: weights, or a net
        ("accumulators", np.uint64),  # address of the data that it keeps by ply, if any
        ("alpha_beta", np.uint64),  # addresses of the kernels that search on
        ("quiescence", np.uint64),
        ("stop_address", np.uint64),
        ("corrections", np.uint64),  # address of the first of the correction histories that are used
        ("tablebase", np.uint64),  # address of the kernel that knows results, and the positions that it is asked for:
        ("tablebase_men", np.int64),  # with so many pieces at most, kings included; 0 for none
        ("tablebase_depth", np.int64),  # at nodes of this depth at least
        ("tablebase_data", np.uint64),  # address of what it reads
        ("tablebase_hits", np.int64),  # how many positions it has known
        ("table_address", np.uint64),
        ("buckets", np.uint64),
        ("age", np.uint64),  # of the search among searches, 0..AGES - 1
        ("nodes", np.int64),
        ("node_limit", np.int64),
        ("stopped", np.int64),
        ("root_depth", np.int64),
        ("null_move_verified_ply", np.int64),  # at which a null move is being verified; 0 for none
        ("full_width", np.int64),  # a search for mate, without speculative pruning and reductions
        ("seldepth", np.int64),
        ("current_move", np.int64),
        ("current_number", np.int64),
        ("root_nodes", np.int64, SQUARES + 1),  # nodes spent on each root move, by origin and destination
        ("root_count", np.int64),
        ("root_moves", np.int32, MAX_MOVES),
        ("past", np.int64),  # how many of `keys` lie before the root
        ("keys", np.uint64, PAST + MAX_PLY + 2),
        ("moves", np.int32, (MAX_PLY + 2, MAX_MOVES)),
        ("scores", np.int32, (MAX_PLY + 2, MAX_MOVES)),
        ("quiets", np.int32, (MAX_PLY + 2, MAX_QUIETS)),
        ("noisies", np.int32, (MAX_PLY + 2, MAX_QUIETS)),
        ("pv", np.int32, (MAX_PLY + 2, MAX_PLY + 2)),
        ("reductions", np.int32, (REDUCTION_SIZE, REDUCTION_SIZE)),
        ("butterfly_history", np.int16, (2, 4, 64, 64)),  # by side, threats, origin, destination
        ("capture_history", np.int16, (PIECE_TO, 8)),  # by (piece, destination), captured type
        ("counter_moves", np.int32, PIECE_TO),
        ("continuation_history", np.int16, (PIECE_TO, PIECE_TO)),  # by earlier (piece, destination), this one
        # the correction histories, in one block: threads may share those of one record
        ("pawn_correction_history", np.int16, (2, 1 << CORRECTION_BITS)),  # by side to move, pawns
        ("piece_correction_history", np.int16, (2, 2, 1 << CORRECTION_BITS)),  # by side to move, colour, its pieces
        ("move_correction_history", np.int16, PIECE_TO),  # by the last (piece, destination)
    ]
)

# The configuration, set when a record is made or its options change. Everything else comes from searching.
CONFIGURATION = (
    "parameters",
    "reductions",
    "exchange_values",
    "evaluation",
    "evaluation_data",
    "accumulators",
    "alpha_beta",
    "quiescence",
    "stop_address",
    "corrections",
    "table_address",
    "buckets",
)


def new_search_record() -> np.ndarray:
    """A record for one thread, SEARCH[1], with default parameters; evaluation and table must still be set."""
    record = aligned_record(SEARCH)
    share_corrections(record, record)
    set_parameters(record, parameter_values())
    return record


def share_corrections(record: np.ndarray, owner: np.ndarray) -> None:
    """Let one SEARCH[1] use the correction histories of another, which must be kept alive, or its own again."""
    record[0]["corrections"] = owner[0]["pawn_correction_history"].ctypes.data


def set_parameters(record: np.ndarray, values: tuple[int, ...]) -> None:
    """Use these parameter values (order of the registry), and the tables that follow from them."""
    parameters = record[0]["parameters"]
    for name, value in zip(PARAMETER_DTYPE.names or (), values, strict=True):
        parameters[name] = value
    record[0]["exchange_values"][: len(EXCHANGE_VALUES)] = [parameters[name] for name in EXCHANGE_VALUES]
    # late moves are reduced by base + factor * ln(depth) * ln(number): the first move and the leaves not at all
    logs = np.log(np.maximum(np.arange(REDUCTION_SIZE), 1))
    table = int(parameters["reduction_base"]) + int(parameters["reduction_factor"]) * np.outer(logs, logs)
    table[0, :] = table[:, :2] = 0
    record[0]["reductions"][:] = table.astype(np.int32)


def forget(record: np.ndarray) -> None:
    """Clear everything left by earlier searches: the record is like new, except that it keeps its configuration."""
    kept = {name: record[name].copy() for name in CONFIGURATION}
    record.view(np.uint8)[:] = 0
    for name, value in kept.items():
        record[name] = value
