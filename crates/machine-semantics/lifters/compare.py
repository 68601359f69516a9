#!/usr/bin/env python3
"""Compares the meanings of machine instructions with two lifters that other projects wrote.

    compare.py MEANINGS [--lifter pcode] [--form REGEX] [--verbose]

For each form and lifter, z3 looks for a state in which both leave another content in a register, a flag, the memory or
the program counter. A difference must have a reason in `reasons.txt`; without one, the exit code is 1. To z3, operations on
floats are functions without a meaning, so each reason must also have a form that differs in a state whose floats are computed.

| file | holds |
|---|---|
| `meanings.py` | the reader of the meanings |
| `terms.py`, `memories.py` | terms |
| `lifted.py` | what both lifters share |
| `pcode.py` | Ghidra's P-code |
| `vex.py` | Valgrind's VEX: statements |
| `vex_ops.py`, `vex_lanes.py`, `vex_floats.py` | operations of VEX on integers, lanes and floats |
| `vex_calls.py` | functions of VEX that compute flags |
| `solver.py` | z3 |
| `states.py`, `floats.py` | terms in concrete states, and operations on floats |
| `reasons.py`, `reasons.txt` | reasons of differences |
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import re
import sys

import meanings
import reasons
import states
import terms as t
from lifted import NoMeaning, left_open
from solver import Solver

LIFTERS = ("pcode", "vex")
# Forms of a task of a process.
CHUNK = 50
# Steps of z3 for a query about all places of a form, and about one of them; a million takes half a second.
FIRST_LIMIT, LIMIT = 200_000, 4_000_000
# Percent of the forms with a meaning that must be equal. Ghidra has errors in many roundings and conversions of AArch64.
LEAST = 95
EXCEPTIONS = {("pcode", "aarch64"): 89}


def lifter(name):
    if name == "pcode":
        from pcode import Pcode
        return Pcode()
    from vex import Vex
    return Vex()


def differences(form, results, faults):
    """Yields the places that may differ, with the condition that they do in a state without a fault of the processor."""
    for place in sorted(set(form.results) | set(results)):
        theirs = results.get(place)
        if theirs is None:
            continue
        ours = form.results.get(place, t.var(place, theirs.width))
        condition = differ(form, ours, theirs)
        if condition is not t.FALSE:
            yield place, condition
    if faults is not t.FALSE:
        yield "fault", faults


def differ(form, ours, theirs):
    """Returns the condition that a place differs in bits that the manual defines."""
    if not form.open or theirs.width == t.MEMORY:
        return t.no(t.eq(ours, theirs))
    low, high = (t.rebuilt(ours, filled(form, value)) for value in (0, -1))
    if low is high:
        return t.no(t.eq(ours, theirs))
    if theirs.width == t.BOOL:
        return t.both(t.no(t.eq(low, theirs)), t.no(t.eq(high, theirs)))
    defined = t.unary("bvnot", t.binary("bvxor", low, high))
    wrong = t.binary("bvand", t.binary("bvxor", low, theirs), defined)
    return t.no(t.eq(wrong, t.const(0, wrong.width)))


def filled(form, value):
    """Returns the values that the manual leaves open, with all bits clear or all set."""
    return {name: t.const(value, width) if width else t.boolean(value) for name, width in form.open.items()}


Verdict = collections.namedtuple("Verdict", "lifter machine form code verdict detail shown")


def judge(form, tool, solver):
    """Returns a verdict and its detail: places that differ or are undecided, or why there is no meaning. Returns what is
    in the places that differ, too, in states that were found."""
    left_open.clear()
    try:
        results, faults = tool.lift(form)
    except NoMeaning as reason:
        return "no meaning", str(reason), {}
    possible = list(differences(form, results, faults))
    defined = [t.no(form.faults), *map(t.no, left_open)]
    any_of = t.FALSE
    for _, condition in possible:
        any_of = t.either(any_of, condition)
    if solver.check([*defined, any_of], FIRST_LIMIT) == "unsat":
        return "equal", "", {}
    answers = {place: solver.check([*defined, condition], LIMIT) for place, condition in possible}
    for verdict, answer in (("differs", "sat"), ("undecided", "unknown")):
        places = [place for place, found in answers.items() if found == answer]
        if places:
            shown = shown_differences(form, results, faults, defined, places) if verdict == "differs" else {}
            return verdict, " ".join(places), shown
    return "equal", "", {}


def shown_differences(form, results, faults, defined, places):
    """Returns the variables of a state in which a place differs, and both contents of it, for places with such a state."""
    possible = dict(differences(form, results, faults))
    found = {}
    for place in places:
        state = states.counterexample([*defined, possible[place]])
        if state is None:
            continue
        text = "".join(f"{name}={int(value):#x} " for name, value in sorted(state.values.items()))
        contents = [form.results.get(place), results.get(place)]
        if all(content is not None and content.width >= 0 for content in contents):
            text += "gives {:#x}, not {:#x}".format(*(int(state.value(content)) for content in contents))
        found[place] = text
    return found


def judge_chunk(texts, names):
    """Judges some forms by each lifter, in a process of its own."""
    solver = Solver()
    found = []
    for tool in map(lifter, names):
        for text in texts:
            t.forget()
            form = meanings.parsed(text)
            found.append(Verdict(tool.name, form.machine, form.name, form.code.hex(), *judge(form, tool, solver)))
    solver.close()
    return found


def verdicts(options):
    """Yields the verdicts on all forms."""
    texts = [text for text in meanings.texts(options.meanings) if re.search(options.form, meanings.name_of(text))]
    names = [options.lifter] if options.lifter else LIFTERS
    chunks = [texts[at:at + CHUNK] for at in range(0, len(texts), CHUNK)]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(judge_chunk, chunks, itertools.repeat(names)):
            yield from found


def kind_of(found, why):
    """Returns what a verdict with these reasons counts as."""
    if why is None:
        return found.verdict
    return reasons.INEXACT if all(reason.startswith(reasons.INEXACT) for reason in why) else "explained"


def main():
    parser = argparse.ArgumentParser(description="Compares the meanings of instructions with lifters.")
    parser.add_argument("meanings", help="file that the tests write with KINGPOST_MEANINGS")
    parser.add_argument("--lifter", choices=LIFTERS)
    parser.add_argument("--form", default="", help="only forms whose text contains this regular expression")
    parser.add_argument("--verbose", action="store_true", help="prints every form that is not equal")
    options = parser.parse_args()
    known = reasons.Reasons(os.path.join(os.path.dirname(__file__), "reasons.txt"))
    failures = []
    counts = collections.defaultdict(collections.Counter)
    for found in verdicts(options):
        why = known.of(found) if found.verdict == "differs" else None
        counts[found.lifter, found.machine][kind_of(found, why)] += 1
        line = f"{found.lifter} {found.machine} `{found.form}` ({found.code}): {found.verdict}: {found.detail}"
        if found.verdict == "differs" and why is None:
            failures.append(line)
        if options.verbose and found.verdict != "equal":
            print(line + (f": {'; '.join(why)}" if why else ""), flush=True)
            for place, text in found.shown.items():
                print(f"    {place}: {text}")
    if not (options.lifter or options.form):
        failures += known.unused()
    for (name, machine), count in sorted(counts.items()):
        with_meaning = sum(count.values()) - count["no meaning"] - count[reasons.INEXACT]
        share = 100 * count["equal"] / max(with_meaning, 1)
        print(f"{name} {machine}: " + ", ".join(f"{count[kind]} {kind}" for kind in sorted(count)))
        least = EXCEPTIONS.get((name, machine), LEAST)
        if share < least and not options.form:
            failures.append(f"{name} {machine}: {share:.1f} % of {with_meaning} forms are equal, not {least} %")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
