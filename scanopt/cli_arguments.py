"""The arguments of the command line: all commands, with what `--help` says of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import scanopt

__all__ = ["parser"]

NAMES = "run,explain,show,ablate,laws,check,check-law,prove-law,check-facts,calibrate,doctor,cache"


def parser() -> argparse.ArgumentParser:
    """What reads the arguments."""
    made = argparse.ArgumentParser(prog="scanopt", description="Symbolic loops, optimized by named laws.")
    made.add_argument("--version", action="version", version=f"scanopt {scanopt.__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar=f"{{{NAMES}}}")
    _add_programs(commands)
    _add_laws(commands)
    _add_machine(commands)
    return made


def _add_programs(commands: Any) -> None:
    """Those about what a user's file compiles."""
    for name, text in (
        ("run", "execute a file, then print programs, laws, costs and times of each function it compiled"),
        ("explain", "execute a file, then print how each function it compiled was optimized, law by law"),
        ("show", "execute a file, then write the page of each function it compiled: open it in a browser"),
        ("ablate", "execute a file, then print what each function would cost without each law and ruleset that fired"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        if name == "ablate":
            command.add_argument("--without", metavar="NAME", action="append", help="only this law or ruleset")
        elif name == "show":
            command.add_argument(
                "--out", type=Path, default=Path("report.html"), help="the page (default: %(default)s)"
            )
        else:
            command.add_argument("--html", type=Path, metavar="OUT", help="write the report page there, too")
        if name == "explain":
            command.add_argument("--json", action="store_true", help="print histories instead: see docs/history.md")
        command.add_argument("file", type=Path, metavar="FILE", help="a Python file that calls scanopt.function")
        command.add_argument("arguments", nargs="*", metavar="ARG", help="arguments of the file (options after --)")


def _add_laws(commands: Any) -> None:
    """Those about laws and facts."""
    text = "print the laws, their conditions, licences and sources"
    command = commands.add_parser("laws", help=text, description=text)
    command.add_argument("--markdown", action="store_true", help="print the page docs/laws.md: all laws and facts")
    command.add_argument("--on", type=Path, metavar="FILE", help="execute a file and count how often each law fires")
    command.add_argument("--derivable", action="store_true", help="print the laws that follow from others")
    command.add_argument("names", nargs="*", metavar="NAME", help="a law or a ruleset (default: a table of all)")
    text = "attack the laws that a file defines: on their examples, with random values, without each condition"
    command = commands.add_parser("check", help=text, description=text)
    command.add_argument("file", type=Path, metavar="FILE", help="a Python file with laws")
    text = "attack laws: on their examples, with random values, without each condition; do others prove them?"
    command = commands.add_parser("check-law", help=text, description=text)
    command.add_argument("--all", action="store_true", help="all laws of the project and of installed extensions")
    command.add_argument("--mutate", action="store_true", help="only drop each condition in turn: what goes wrong?")
    command.add_argument("--markdown", action="store_true", help="with --mutate: print the page docs/mutations.md")
    command.add_argument("laws", nargs="*", metavar="LAW", help="module:law, file.py:law, a name, a ruleset")
    text = "prove laws for loops of few steps and small arrays of unknowns, or refute them (needs scanopt[prove])"
    command = commands.add_parser("prove-law", help=text, description=text)
    command.add_argument("--all", action="store_true", help="all laws of the project and of installed extensions")
    command.add_argument("--steps", type=int, metavar="N", help="at most so many steps (default: 4, with --mutate 3)")
    command.add_argument("--mutate", action="store_true", help="only drop each condition in turn: is the rest refuted?")
    command.add_argument("--json", action="store_true", help="print the record that docs/laws.md is made with")
    command.add_argument("laws", nargs="*", metavar="LAW", help="module:law, file.py:law, a name, a ruleset")
    text = "drop each atom of each rule of the facts in turn: what goes wrong?"
    command = commands.add_parser("check-facts", help=text, description=text)
    command.add_argument("--markdown", action="store_true", help="print the page docs/fact-mutations.md")
    command.add_argument("--search", action="store_true", help="try all programs, where none is noted (takes long)")
    command.add_argument("facts", nargs="*", metavar="FACT", help="names of facts (default: all)")


def _add_machine(commands: Any) -> None:
    """Those about what is installed, and what it costs."""
    text = "measure what operators and loops cost on this machine"
    command = commands.add_parser("calibrate", help=text, description=text)
    command.add_argument("--out", type=Path, metavar="FILE", help='default: where cost="calibrated" looks for it')
    command.add_argument("--operators", metavar="A,B", help="only these; the others keep their default costs")
    command.add_argument("--seconds", type=float, default=0.02, help="for each measurement (default: %(default)s)")
    text = "say what is installed, which executors work, and what to install"
    command = commands.add_parser("doctor", help=text, description=text)
    command.add_argument("--json", action="store_true", help="print a list of findings")
    text = "say which compiled kernels are kept for the next process"
    command = commands.add_parser("cache", help=text, description=text)
    command.add_argument("--clear", action="store_true", help="delete them")
