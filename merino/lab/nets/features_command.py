"""`merino features EXPR [FEN]`: a feature set, its blocks, and what is active on a board."""

import argparse
import json
from collections.abc import Sequence

from merino.app.console import explaining, shared
from merino.core.board.bitboard import SQUARE_NAMES
from merino.core.board.game import START_NAME
from merino.core.common import command, errors
from merino.eval.net import blocks, features, network, updates
from merino.lab.nets import feature_costs


def run_features(arguments: Sequence[str]) -> int:
    """The command in a shell; raises MerinoError."""
    parser = shared.Parser(
        prog="merino features",
        description="Show a feature set: blocks, sizes, and which features are active on a board.",
        notes=f"Blocks are {', '.join([*blocks.BLOCKS, *blocks.KINGS])}, and KING[...] with a map; + joins sets, * "
        f"multiplies them, and {features.MIRRORED}(...) keeps the friendly king on the left (docs/nets.md).",
        examples=(
            'merino features "ALL+H+V"',
            "merino features ALL+MB --time",
            "merino features 'MIRRORED(KING8*ALL)' --json",
        ),
    )
    parser.add_argument("expression", metavar="EXPR", help='a feature set, such as "ALL+H+V" or "KING*ALL"')
    parser.add_argument("fen", nargs="*", default=[], metavar="FEN", help="default: the starting position")
    sentence = f"measure an update of a net in play, in turns with {feature_costs.BASE}"
    parser.add_argument("--time", action="store_true", help=sentence)
    sentence = "neurons of the nets that are timed (default: %(default)s)"
    parser.add_argument("--hidden", metavar="N", type=int, default=network.Shape().hidden, help=sentence)
    shared.add_json(parser)
    args = parser.parse_args(arguments)
    with errors.turning(features.FeatureError, command.UsageError):
        wanted = features.features(args.expression)
    if args.fen and args.time:
        raise command.UsageError("give either --time or a FEN")
    (_print_costs if args.time else _print_active)(wanted, args)
    return 0


def _print_active(wanted: features.FeatureSet, args: argparse.Namespace) -> None:
    position, _ = explaining.position_of(args.fen or [START_NAME])
    white, black = wanted.active(position.record)[0]
    reason = updates.obstacle(wanted)
    if args.json:
        parts = [part._asdict() for part in wanted.parts]
        data = {"features": wanted.name, "size": wanted.size, "blocks": parts, "by_lists": reason}
        data["fen"] = position.fen()
        print(json.dumps(data | {"white": white.tolist(), "black": black.tolist()}))
        return
    way = f"not updated piece by piece, as {reason}" if reason else "updated piece by piece"
    print(f"{wanted.name}: {wanted.size} features, {way}\n\n{'block':<24}{'size':>8}{'offset':>8}")
    for part in wanted.parts:
        print(f"{part.name:<24}{part.size:>8}{part.offset:>8}")
    for name, active in (("White", white), ("Black", black)):
        print(f"\nactive as {name} sees it, {len(active)}:")
        for index in active.tolist():
            print(f"{index:>8}  {words_of(wanted, index)}")


def _print_costs(wanted: features.FeatureSet, args: argparse.Namespace) -> None:
    shapes = [network.Shape(name, args.hidden) for name in (wanted.name, feature_costs.BASE)]
    own, base = feature_costs.update_costs(shapes)
    if args.json:
        print(json.dumps({"update_output_ns": round(own, 1), "all_ns": round(base, 1)}))
        return
    times = f"{own / base:.2f} times {feature_costs.BASE} ({base:.1f} ns)"
    print(f"{shapes[0]}: {own:.1f} ns for an update and an output, {times}")


FEW = 4  # squares that are named one by one


def words_of(wanted: features.FeatureSet, index: int) -> str:
    """The feature of this index in words, such as "own rook on file e"; raises IndexError."""
    for term in reversed(wanted.terms):
        rest, said = index - term.offset, []
        for name, stride, is_mirrored in sorted(term.factors, key=lambda factor: -factor.stride):
            number, rest = divmod(rest, stride)
            block = features.block_of(name)
            if not 0 <= number < block.size:
                break
            words = _of_king(block, number) if isinstance(block, blocks.KingBlock) else _of_block(block, number)
            said.append(words + (" (mirrored)" if is_mirrored else ""))
        else:
            if rest == 0:
                return " and ".join(said)
    raise IndexError(f"{wanted.name} has no feature {index}")


def _of_block(block: blocks.Block, index: int) -> str:
    named = dict(zip(block.domains, block.tuples[index], strict=True))
    by_piece = (blocks.ROLE, blocks.COLOUR, blocks.PIECE)
    place = "".join(domain.elements[at] for domain, at in named.items() if domain not in by_piece)
    pieces = [at for domain, at in zip(block.domains, block.tuples[index], strict=True) if domain == blocks.PIECE]
    if blocks.ROLE in named:
        pieces = [2 * named[blocks.ROLE] + named[blocks.COLOUR]]
    said = [blocks.PIECE.elements[piece] for piece in pieces] or [""]
    return block.sentence.format(place=place, piece=said[-1], first=said[0])


def _of_king(block: blocks.KingBlock, index: int) -> str:
    squares = [name for name, place in zip(SQUARE_NAMES, block.places, strict=True) if place == index]
    if len(squares) <= FEW:
        return f"own king on {' or '.join(squares)}"
    return f"own king in group {index}, between {squares[0]} and {squares[-1]}"
