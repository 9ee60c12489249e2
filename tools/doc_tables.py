"""Renew the tables of the README and of docs/ from the code that they show: `python tools/doc_tables.py`.

A table stands between `<!-- NAME -->` and `<!-- /NAME -->`, each in one page.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import merino.app.console.loop
import merino.eval.linear.terms  # noqa: F401  (fills the registry of terms)
from merino.app.console import shared
from merino.app.console.commands import COMMANDS as CONSOLE_COMMANDS
from merino.app.console.commands import Section
from merino.app.console.learning import learn_parser
from merino.app.shell.cli import COMMANDS
from merino.engine.search.parameters import PARAMETERS, by_name, parameters_for
from merino.engine.uci.options import OPTIONS, UciOption
from merino.eval.families import default
from merino.eval.linear.family import picture
from merino.eval.linear.phases import halves
from merino.eval.linear.registry import TERMS, Group, TermSet, TermTable
from merino.eval.linear.sets import set_named
from merino.eval.linear.weights import defaults
from merino.lab.points.command import points_parser
from merino.lab.tune.methods import METHODS
from merino.lab.tune.simulator import SETTINGS
from merino.study.claims import rules
from tools.markdown import markdown_table, with_section
from tools.report_schema import schema

ROOT = Path(__file__).resolve().parent.parent


def terms_table(terms: TermSet = TERMS) -> str:
    """The terms of a set: name, its Elo if measured, group, phase, the weight that comes with Merino, and sentence."""
    rows, pairs = [], np.transpose(halves(defaults(terms), len(terms)))
    for each, at in terms.to_read():
        weight = f"table of {len(each.cells)}" if isinstance(each, TermTable) else _weight(*pairs[at.start])
        phase = terms[at.start].phase.name.lower()
        name = _code(each.name) + terms.worth_of(each.name)
        rows.append((name, _group(each.group), phase, weight, each.sentence))
    return markdown_table(("Term", "Group", "When", "Weight", "What is counted"), rows, right_aligned=(3,))


def pictures_of_tables(terms: TermSet) -> str:
    """The tables of a set as pictures, with the weights that come with Merino."""
    pairs = np.transpose(halves(defaults(terms), len(terms)))
    lines = []
    for each, at in terms.to_read():
        if isinstance(each, TermTable):
            lines += [f"{each.name}: {each.sentence}", *picture(each, pairs[at]), ""]
    return "\n".join(["```text", *lines[:-1], "```"])


def commands_table() -> str:
    """What `merino` can do: usage and sentence."""
    rows = [(_code(f"merino {command.usage}"), command.sentence) for command in dict.fromkeys(COMMANDS.values())]
    return markdown_table(("Command", "What it does"), rows)


def console_table() -> str:
    """The commands of the console under the headings of its help."""
    rows = [
        (section.value, ", ".join(_code(command.usage) for command in CONSOLE_COMMANDS if command.section is section))
        for section in Section
    ]
    return markdown_table(("", "Commands at the prompt"), rows)


def options_table() -> str:
    """The UCI options: name, default, range and sentence."""
    rows = [(_code(option.name), _default(option), _range(option), option.sentence) for option in OPTIONS.values()]
    return markdown_table(("Option", "Default", "Range", "What it does"), rows)


def parameters_table() -> str:
    """The numbers of the search: name, default, value with the 27 terms, range and sentence."""
    with_terms = by_name(parameters_for(default()))
    rows = [
        (_code(row.name), str(row.default), str(with_terms[row.name]), "{} to {}".format(*row.bounds), row.sentence)
        for row in PARAMETERS
    ]
    return markdown_table(("Number", "Default", "Terms", "Range", "What it does"), rows, right_aligned=(1, 2))


def command_options_table(parser: shared.Parser) -> str:
    """The options of a command, as its help shows them, each group under its title."""
    formatter, rows = parser._get_formatter(), list[tuple[str, str]]()
    for group in parser.groups:
        shown = [action for action in group._group_actions if action.option_strings and action.dest != "help"]
        if shown := [action for action in shown if action.help not in (None, argparse.SUPPRESS)]:
            rows.append((f"*{group.title}*", ""))
            rows += [(_code(formatter._format_action_invocation(a)), formatter._expand_help(a)) for a in shown]
    return markdown_table(("Option", "What it does"), rows)


def settings_table() -> str:
    """The simulated curves of strength, and what the tuner knows of them."""
    return markdown_table(("Setting", "Curve"), [(name, setting.sentence) for name, setting in SETTINGS.items()])


def methods_table() -> str:
    """The methods of tuning: name and sentence."""
    rows = [(_code(method.name), method.sentence) for method in METHODS.values()]
    return markdown_table(("Method", "What it does with a result"), rows)


def claims_table() -> str:
    """The kinds of claims, and what each asks of the board."""
    return markdown_table(("Kind", "What must hold"), [(_code(kind), rule) for kind, rule in rules().items()])


def _weight(middlegame: float, endgame: float) -> str:
    return f"{middlegame:g}" if middlegame == endgame else f"{middlegame:g}, {endgame:g}"


def _group(group: Group) -> str:
    return group.title if group.multiplier == 1 else f"{group.title} times {group.multiplier}"


def _code(text: str) -> str:
    return f"`{text}`"


def _default(option: UciOption) -> str:
    if option.kind == "button":
        return ""
    return str(option.default).lower() if option.kind == "check" else str(option.default) or "(empty)"


def _range(option: UciOption) -> str:
    if option.bounds is None:
        return {"check": "true, false", "button": "a button", "string": "text"}[option.kind]
    return "{} to {}".format(*option.bounds)


TABLES: dict[str, Callable[[], str]] = {
    "console": console_table,
    "options": options_table,
    "commands": commands_table,
    "terms": terms_table,
    "full-terms": lambda: terms_table(set_named("full")),
    "full-tables": lambda: pictures_of_tables(set_named("full")),
    "parameters": parameters_table,
    "methods": methods_table,
    "learn-options": lambda: command_options_table(learn_parser()),
    "points-options": lambda: command_options_table(points_parser()),
    "settings": settings_table,
    "report-schema": schema,
    "claims": claims_table,
}


def renewed(text: str) -> str:
    """The text of a page with each marked table made again; raises ValueError where a mark has no end."""
    for name, table in TABLES.items():
        if f"<!-- {name} -->" in text:
            text = with_section(text, name, table())
    return text


def main() -> None:
    """Write the pages that change."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        if (text := renewed(old := page.read_text(encoding="utf-8"))) != old:
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
