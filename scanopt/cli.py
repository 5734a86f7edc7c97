"""The command line: run a user's file and say what became of each function it compiled.

    scanopt run FILE        programs before and after, laws that fired, costs, measured times
    scanopt explain FILE    programs before and after, and law by law how one became the other
    scanopt show FILE       write a page for each function: before and after, steps, e-graph, why laws did not fire;
                            --serve shows it in a browser, and updates it whenever the file changes
    scanopt diff A B        what differs between two rulesets (--without NAME) or versions, in one set of names
    scanopt bench FILE      measured times of each function beside predicted costs
    scanopt ablate FILE     cost, time and memory of each function without each law and each ruleset
    scanopt laws [NAME]     all laws in a table, with their hits in a program (--on FILE); or one law, or a ruleset
    scanopt check FILE      attack the laws that a file defines: do they fire, hold, and need their conditions?
    scanopt check-law LAW   the same for laws anywhere: module:law, file.py:law, a name or a ruleset
    scanopt prove-law LAW   prove laws for loops of few steps and small arrays of unknowns, or refute them
    scanopt check-facts     drop each atom of each rule of the facts: what goes wrong?
    scanopt calibrate       measure what operators and loops cost on this machine, for cost="calibrated"
    scanopt doctor          what is installed, which executors work, and what to install
    scanopt cache           the compiled kernels that are kept; --clear deletes them

`python -m scanopt` is the same.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from difflib import get_close_matches

from scanopt.calculus.condition import FACTS
from scanopt.calculus.law import INPLACE, Law, named_laws, standard_laws
from scanopt.cli_arguments import read
from scanopt.cli_files import LONGEST, compiled_by, execute, fail, outcome
from scanopt.cli_programs import ablate, bench, diff, run, show
from scanopt.extraction.calibrated_cost import calibration_file, write_costs
from scanopt.extraction.device_rates import device_file, write_rates
from scanopt.lab.calibration import calibrate, calibration_text, machine
from scanopt.lab.checking import checked, mutated, mutations_of, mutations_page, verdicts
from scanopt.lab.device_calibration import measured_device, rates_text
from scanopt.lab.doctor import CACHED, examined, findings_text, size_of
from scanopt.lab.fact_checking import checked_facts, fact_mutations_page, outcomes
from scanopt.lab.hits import derivable_text, hits_of, laws_rows, laws_table
from scanopt.lab.machine_limits import limits_text, measured_limits
from scanopt.lab.proving import MOST_STEPS, proofs_record, proved, proved_mutants
from scanopt.lab.targets import UnknownTargetError, find_laws, laws_in
from scanopt.memory import bytes_text
from scanopt.program.storage.rules import storage_rules
from scanopt.view.catalogue import facts_text, laws_page, laws_text, storage_rules_text

__all__ = ["main"]

_WIDE = 150  # columns where there is no terminal


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit status."""
    options = read(arguments)
    commands = {
        "run": run, "explain": run, "show": show, "ablate": ablate, "diff": diff, "bench": bench, "laws": _laws,
        "check": _check, "check-law": _check_law, "prove-law": _prove_law, "check-facts": _check_facts,
        "calibrate": _calibrate, "doctor": _doctor, "cache": _cache,
    }  # fmt: skip
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # what a terminal cannot show
    try:
        status = commands[options.command](options)
        sys.stdout.flush()
    except BrokenPipeError:  # as by `scanopt laws | head`; nothing is left to be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return status


# ---- commands ----


def _doctor(options: argparse.Namespace) -> int:
    """Print what is installed; exit status 1 where something required is missing or gives wrong results."""
    found = examined()
    print(json.dumps([asdict(x) for x in found], indent=1) if options.json else findings_text(found))
    optional = ("extra", "backend c", "measured")
    return int(any(x.state == "fails" or (x.state == "missing" and not x.name.startswith(optional)) for x in found))


_KEPT = {"kernels": "compiled kernels", "programs": "optimized programs", "rules": "texts of rules"}


def _cache(options: argparse.Namespace) -> int:
    kept = {what: cached.files() for what, cached in CACHED.items()}
    sizes = {what: sum(map(size_of, files)) for what, files in kept.items()}
    try:
        for x in itertools.chain(*kept.values()) if options.clear else ():
            x.unlink(missing_ok=True)
    except OSError as error:
        return fail(f"a file of the cache cannot be deleted ({error})")
    if options.json:
        figures = {what: {"files": len(files), "bytes": sizes[what]} for what, files in kept.items()}
        print(json.dumps({**figures, "deleted": options.clear}))
        return 0
    for what, files in kept.items():
        where = f", in {files[0].parent}" if files else ""
        print(f"{len(files)} {_KEPT[what]}, {bytes_text(float(sizes[what]))}{where}")
    if options.clear:
        print("deleted")
    return 0


def _laws(options: argparse.Namespace) -> int:
    if options.markdown:
        print(laws_page(), end="")
        return 0
    if options.names == [INPLACE] and not options.on and not options.derivable:
        print(storage_rules_text())
        return 0
    laws, hits = standard_laws(), None
    if not (options.on or options.derivable or options.json) and (facts := _facts(options.names)):
        print(facts_text(facts))
        options.names = [x for x in options.names if x not in facts]
        if not options.names:
            return 0
        print()
    if options.on:
        with redirect_stdout(sys.stderr if options.json else sys.stdout):
            status, functions = compiled_by(options.on, [])
        if status:
            return status
        own = {x.name: x for f in functions for x in f.rules}  # with laws of the file's own
        laws, hits = tuple(({x.name: x for x in laws} | own).values()), hits_of(functions)
    try:
        laws = tuple({x.name: x for name in options.names for x in named_laws(laws, name)}.values()) or laws
    except ValueError as error:
        return fail(str(error))
    if options.derivable:
        print(derivable_text(laws, standard_laws()))
    elif options.json:
        print(json.dumps(laws_rows(laws, hits), indent=1))
    elif options.names and hits is None:
        print(laws_text(options.names))
    else:
        print(laws_table(laws, _width(), hits))
        if not options.names and hits is None:
            print(f"\nand {len(storage_rules())} rules of what is computed in place: scanopt laws {INPLACE}")
    return 0


def _facts(names: Sequence[str]) -> list[str]:
    """Those that are names of facts, and of no law or ruleset."""
    taken = {n for x in standard_laws() for n in (x.name, x.ruleset)}
    return [x for x in names if x in FACTS and x not in taken]


def _check(options: argparse.Namespace) -> int:
    """Attack every law of a file in every way; exit status 1 when an attack succeeds."""
    if not options.file.is_file():
        return fail(f"{options.file}: no such file")
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        status, names = execute(options.file, [])
    if status:
        return status
    laws = laws_in(names)
    if not laws:
        return fail(f"{options.file} defines no law: a function decorated with @scanopt.law(...)")
    return _verdicts(laws) if options.json else int(not checked(laws, _say))


def _verdicts(laws: Sequence[Law]) -> int:
    """Print the verdicts on laws as JSON; exit status 1 unless all of them stand."""
    found = [*verdicts(laws)]
    print(json.dumps([{**asdict(x), "stands": x.stands} for x in found], indent=1))
    return int(not all(x.stands for x in found))


def _check_law(options: argparse.Namespace) -> int:
    status, laws = _named(options, "check")
    if laws is None:
        return status
    if options.markdown and not options.mutate:
        return fail("--markdown is for --mutate")
    if options.markdown and options.json:
        return fail("--markdown and --json do not go together")
    if options.markdown:
        print(mutations_page(laws), end="")
        return 0
    if options.json and options.mutate:
        dropped = [*mutations_of(laws)]
        print(json.dumps([asdict(x) for x in dropped], indent=1))
        return int(any(x.outcome == "survives" for x in dropped))
    if options.json:
        return _verdicts(laws)
    return int(not (mutated if options.mutate else checked)(laws, _say))


def _prove_law(options: argparse.Namespace) -> int:
    status, laws = _named(options, "prove")
    if laws is None:
        return status
    if options.steps is not None and not 0 <= options.steps <= MOST_STEPS:
        return fail(f"--steps must be from 0 to {MOST_STEPS}, found {options.steps}")
    if options.json and options.mutate:
        return fail("--json is for laws as they are, not for --mutate")
    steps = {} if options.steps is None else {"steps": options.steps}
    try:
        if options.json:
            print(proofs_record(laws, **steps), end="")
            return 0
        return int(not (proved_mutants if options.mutate else proved)(laws, _say, **steps))
    except ImportError as error:
        return fail(str(error))


def _named(options: argparse.Namespace, verb: str) -> tuple[int, tuple[Law, ...] | None]:
    """The exit status and the laws that a command names; None where it names none, or an unknown one."""
    if not options.laws and not options.all:
        return fail(f"name the laws to {verb}, as module:law, file.py:law or by a name; or --all"), None
    try:
        status, found = outcome(lambda: find_laws(options.laws))
    except UnknownTargetError as error:
        return fail(str(error)), None
    if found is None:
        return status or fail("a file or module ended the program before its laws were known"), None
    return 0, tuple({x.name: x for x in (*(standard_laws() if options.all else ()), *found)}.values())


def _check_facts(options: argparse.Namespace) -> int:
    standard_laws()  # loading the laws declares their facts
    if unknown := [x for x in options.facts if x not in FACTS]:
        near = get_close_matches(unknown[0], FACTS, 3)
        return fail(f"no fact is named {', '.join(map(repr, unknown))}" + (f"; near: {', '.join(near)}" * bool(near)))
    if options.markdown and (options.json or options.facts):
        return fail("--markdown is of all facts, and not for --json")
    if options.markdown:
        print(fact_mutations_page(), end="")
        return 0
    if options.json:
        found = [*outcomes(options.facts, options.search)]
        print(json.dumps([x.told() for x in found], indent=1))
        return int(any(x.kind == "survives" for x in found))
    return int(not checked_facts(options.facts, _say, options.search))


def _calibrate(options: argparse.Namespace) -> int:
    names = None if options.operators is None else [n.strip() for n in options.operators.split(",")]
    if not 0 < options.seconds <= LONGEST:
        return fail(f"--seconds must be above zero, and at most {LONGEST:g}, found {options.seconds}")
    if options.device:
        return _calibrate_device(options)
    try:
        found, limits = calibrate(names, options.seconds), measured_limits(seconds=options.seconds)
    except ValueError as error:
        return fail(str(error))
    if not options.json:
        print(f"{calibration_text(found)}\n\n{limits_text(limits)}")
    try:
        path = write_costs(found, options.out or calibration_file(), machine(), limits)
    except (OSError, RuntimeError) as error:
        return fail(f"the costs cannot be written ({error}); name another file with --out")
    if options.json:
        print(path.read_text(encoding="utf-8"), end="")
        return 0
    cost = repr(str(path)) if options.out else '"calibrated"'
    print(f"\nwritten to {path}; use it with scanopt.function(..., cost={cost}) or scanopt.config.cost = {cost}")
    return 0


def _calibrate_device(options: argparse.Namespace) -> int:
    try:
        found, name = measured_device(options.seconds)
        path = write_rates(found, options.out or device_file(), name)
    except (OSError, RuntimeError) as error:
        return fail(str(error))
    print(path.read_text(encoding="utf-8") if options.json else f"{name}\n{rates_text(found)}\n\nwritten to {path}")
    return 0


def _say(text: str) -> None:
    print(text, flush=True)


def _width() -> int:
    """Columns of the terminal."""
    return max(80, shutil.get_terminal_size((_WIDE, 24)).columns)


if __name__ == "__main__":
    sys.exit(main())
