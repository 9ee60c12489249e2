"""States of nights that were never played."""

from merino.lab.nets.night import Generation, GenerationData, LadderMatch, NightPlan, NightState


def night_of(count: int) -> NightState:
    """A night from nothing of so many generations, each of which has won."""
    data = GenerationData(10, 1000, 5000, "hash", "player")
    usual = {"verdict": "H1", "games": 10, "positions": 1000, "match_games": 40, "elo": 30.0, "elo_error": 20.0}
    more = {"from_start": 30.0, "from_start_error": 20.0, "from_terms": None, "from_terms_error": None}
    more |= {"ladder": (LadderMatch("gen12", "old", 50, -90.0, 40.0),)}
    net = {"neurons": 32, "continued": False, "error": 0.07, "net": "net", "data": data}
    times = {"play_seconds": 9.0, "train_seconds": 3.0, "nodes_a_second": 1e6, "seconds": 60.0}
    rounds = (Generation(number=number, **usual, **more, **net, **times) for number in range(1, count + 1))
    return NightState(plan=NightPlan(), start_name="nothing", rounds=tuple(rounds))
