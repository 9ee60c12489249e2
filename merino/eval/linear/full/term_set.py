"""The set `full` itself, and the bounds of its weights; the modules beside it fill it (`eval.linear.sets`)."""

from merino.eval.linear.full.view import full_view_without, full_views
from merino.eval.linear.registry import TermSet

WORTH = (0, 3000)  # bounds of a piece value
EITHER = (-200, 200)
UNLIMITED = (-400, 400)  # of what is seldom there and then says much
TERMS = TermSet("full", full_views, full_view_without)
