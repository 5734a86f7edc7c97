"""The arguments of the command line: every command with its options and the text of `--help`."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import scanopt

__all__ = ["NAMES", "parser", "read"]

NAMES = "run,explain,show,ablate,diff,bench,laws,check,check-law,prove-law,check-facts,calibrate,doctor,cache"

_START = """
Start with a file that calls scanopt.function, say model.py:

    scanopt run model.py                        what became of each function, and how fast it is
    scanopt explain model.py                    how it was optimized, law by law
    scanopt show --serve model.py               the same in a browser, updated whenever the file is saved
    scanopt laws --on model.py                  which laws fired, and how often
    scanopt diff --without save_mem model.py    what one ruleset does

Exit status: 0 is fine; 1: the file raised an error, a check failed, or programs differ; 2: what was asked cannot be
done, and a message says why.  `scanopt COMMAND --help` says more about each."""

_EXAMPLES = {
    "run": "scanopt run model.py\nscanopt run --html report.html model.py -- --epochs 3   (the file's own options)"
    "\nscanopt run --json model.py | jq '.[].cost'",
    "explain": "scanopt explain model.py\nscanopt explain --json model.py > history.json",
    "show": "scanopt show model.py                    writes report.html, or report-1.html, report-2.html ..."
    "\nscanopt show --measure model.py          with measured times beside predicted costs"
    "\nscanopt show --serve model.py            serves it on this machine, and loads it again when a file changes",
    "ablate": "scanopt ablate model.py\nscanopt ablate --without save_mem --without merge model.py\n\n"
    "memory is the most that one call holds beside its arguments; where leaving a law out changes nothing it says "
    "so: same program",
    "diff": "scanopt diff --without save_mem model.py          two rulesets on one program\n"
    "scanopt explain --json model.py > before.json     then change laws, or install another version, and\n"
    "scanopt diff before.json model.py                 two versions of scanopt\n"
    "scanopt diff old.py new.py                        two versions of a program\n\n"
    "The exit status is 0 where the programs are the same, 1 where they differ.",
    "bench": "scanopt bench model.py\nscanopt bench --seconds 2 --json model.py\n\n"
    "A function is called with its example=[...], else with what the file called it with last.",
    "laws": "scanopt laws                         all of them\nscanopt laws merge                   one ruleset in full"
    "\nscanopt laws runs_all                a fact: what it means, where to import it from, what derives it"
    "\nscanopt laws --on model.py           by how often they fire there, laws of the file's own, too"
    "\nscanopt laws my_law --on model.py    a law of the file's own, by its name",
}


def parser() -> argparse.ArgumentParser:
    """The argument parser, with one subparser for each command."""
    made = argparse.ArgumentParser(
        prog="scanopt",
        description="Symbolic loops, optimized by named laws.",
        epilog=_START,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"scanopt {scanopt.__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar=f"{{{NAMES}}}")
    _add_programs(commands)
    _add_measures(commands)
    _add_laws(commands)
    _add_machine(commands)
    return made


def _command(commands: Any, name: str, text: str) -> argparse.ArgumentParser:
    examples = _EXAMPLES.get(name, "")
    epilog = f"examples:\n{textwrap.indent(examples, '  ')}" if examples else None
    made: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.set_defaults(asked=made)
    return made


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; an unknown one ends the process with the command's usage and the nearest options."""
    options, rest = parser().parse_known_args(arguments)
    if rest:
        known = [name for action in options.asked._actions for name in action.option_strings]
        near = get_close_matches(rest[0], known, 2)
        options.asked.error(f"unrecognized arguments: {' '.join(rest)}" + (f"; near: {', '.join(near)}" * bool(near)))
    return options


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=Path, metavar="FILE", help="a Python file that calls scanopt.function")
    command.add_argument("arguments", nargs="*", metavar="ARG", help="arguments of the file (options after --)")


def _add_programs(commands: Any) -> None:
    """Add the commands that report on the functions that a user's file compiles."""
    for name, text, told in (
        ("run", "execute a file, then print programs, laws, costs and times of each function it compiled", "figures"),
        ("explain", "execute a file, then print how each function it compiled was optimized, law by law", "histories"),
    ):
        command = _command(commands, name, text)
        command.add_argument("--html", type=Path, metavar="OUT", help="write the report page there, too")
        more = ": see docs/history.md" if name == "explain" else ""
        command.add_argument("--json", action="store_true", help=f"print {told} as JSON instead{more}")
        _add_file(command)
    command = _command(
        commands, "show", "execute a file, then write the page of each function it compiled: open it in a browser"
    )
    command.add_argument("--out", type=Path, default=Path("report.html"), help="the page (default: %(default)s)")
    command.add_argument("--measure", action="store_true", help="time the program after each law, too")
    command.add_argument("--serve", action="store_true", help="serve the pages, updated whenever the file changes")
    command.add_argument("--port", type=int, default=0, help="with --serve: the port (default: any free one)")
    _add_file(command)


def _add_measures(commands: Any) -> None:
    """Add the commands that compare and time the functions that a user's file compiles."""
    command = _command(
        commands,
        "ablate",
        "execute a file, then print what each function would cost without each law and ruleset that fired",
    )
    command.add_argument("--without", metavar="NAME", action="append", help="only this law or ruleset")
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
    _add_file(command)
    command = _command(
        commands, "diff", "say how the functions of two files, versions or rulesets differ, in one set of names"
    )
    command.add_argument(
        "--without", metavar="NAME", action="append", help="the second side: without this law or ruleset"
    )
    command.add_argument("--json", action="store_true", help="print what differs as JSON")
    command.add_argument("file", type=Path, metavar="A", help="a Python file, or histories: explain --json")
    command.add_argument("other", type=Path, nargs="?", metavar="B", help="the same, to compare with")
    command = _command(commands, "bench", "execute a file, then time each function as written and optimized")
    command.add_argument("--seconds", type=float, default=0.2, help="of calls for each program (default: %(default)s)")
    command.add_argument("--json", action="store_true", help="print the times as JSON, in seconds and bytes")
    _add_file(command)


def _add_laws(commands: Any) -> None:
    """Add the commands about laws and facts."""
    text = "print the laws, their conditions, licences and sources, or what a condition means"
    command = _command(commands, "laws", text)
    command.add_argument("--json", action="store_true", help="print the laws as JSON")
    command.add_argument("--markdown", action="store_true", help="print the page docs/laws.md: all laws and facts")
    command.add_argument("--on", type=Path, metavar="FILE", help="execute a file and count how often each law fires")
    command.add_argument("--derivable", action="store_true", help="print the laws that follow from others")
    command.add_argument("names", nargs="*", metavar="NAME", help="a law, ruleset or fact (default: all laws)")
    text = "attack the laws that a file defines: on their examples, with random values, without each condition"
    command = _command(commands, "check", text)
    command.add_argument("--json", action="store_true", help="print what was found of each law as JSON")
    command.add_argument("file", type=Path, metavar="FILE", help="a Python file with laws")
    text = "attack laws: on their examples, with random values, without each condition; do others prove them?"
    command = _command(commands, "check-law", text)
    command.add_argument("--json", action="store_true", help="print what was found of each law as JSON")
    command.add_argument("--all", action="store_true", help="all laws of the project and of installed extensions")
    command.add_argument("--mutate", action="store_true", help="only drop each condition in turn: what goes wrong?")
    command.add_argument("--markdown", action="store_true", help="with --mutate: print the page docs/mutations.md")
    command.add_argument("laws", nargs="*", metavar="LAW", help="module:law, file.py:law, a name, a ruleset")
    text = "prove laws for loops of few steps and small arrays of unknowns, or refute them (needs scanopt[prove])"
    command = _command(commands, "prove-law", text)
    command.add_argument("--all", action="store_true", help="all laws of the project and of installed extensions")
    command.add_argument("--steps", type=int, metavar="N", help="at most so many steps (default: 4, with --mutate 3)")
    command.add_argument("--mutate", action="store_true", help="only drop each condition in turn: is the rest refuted?")
    command.add_argument("--json", action="store_true", help="print the record that docs/laws.md is made with")
    command.add_argument("laws", nargs="*", metavar="LAW", help="module:law, file.py:law, a name, a ruleset")
    text = "drop each atom of each rule of the facts in turn: what goes wrong?"
    command = _command(commands, "check-facts", text)
    command.add_argument("--json", action="store_true", help="print what was found of each mutant as JSON")
    command.add_argument("--markdown", action="store_true", help="print the page docs/fact-mutations.md")
    command.add_argument("--search", action="store_true", help="try all programs, where none is noted (takes long)")
    command.add_argument("facts", nargs="*", metavar="FACT", help="names of facts (default: all)")


def _add_machine(commands: Any) -> None:
    """Add the commands about this machine: measured costs, installed libraries, cached files."""
    text = "measure what operators and loops cost on this machine"
    command = _command(commands, "calibrate", text)
    command.add_argument("--json", action="store_true", help="print the measured costs as JSON")
    command.add_argument("--out", type=Path, metavar="FILE", help='default: where cost="calibrated" looks for it')
    command.add_argument("--device", action="store_true", help="measure the GPU in place of the processor")
    command.add_argument("--operators", metavar="A,B", help="only these; the others keep their default costs")
    command.add_argument("--seconds", type=float, default=0.02, help="for each measurement (default: %(default)s)")
    text = "say what is installed, which executors work, and what to install"
    command = _command(commands, "doctor", text)
    command.add_argument("--json", action="store_true", help="print a list of findings")
    text = "say which compiled kernels and optimized programs are kept for the next process"
    command = _command(commands, "cache", text)
    command.add_argument("--clear", action="store_true", help="delete them")
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
