"""Reasons of differences, from a file with a line for each: lifter, machine, forms, places, reason."""

import re

# How the reason begins if the lifter's language has no operation for what the instruction does.
INEXACT = "no exact meaning"


class Reasons:
    def __init__(self, path):
        with open(path) as file:
            lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
        self.rows = [[part.strip() for part in line.split(" | ", 4)] for line in lines]
        self.used = [False] * len(self.rows)
        # Whether a form of the row differs in a concrete state.
        self.shown = [False] * len(self.rows)

    def of(self, verdict):
        """Returns the reasons of differences of a form; `None` if a place has none."""
        found = []
        for place in verdict.detail.split():
            index = next((index for index, row in enumerate(self.rows) if fits(row, verdict, place)), None)
            if index is None:
                return None
            self.used[index] = True
            self.shown[index] |= place in verdict.shown
            if self.rows[index][4] not in found:
                found.append(self.rows[index][4])
        return found

    def unused(self):
        """Returns a message for each row that explains no difference, or none of a concrete state."""
        rows = [" | ".join(row) for row in self.rows]
        unused = [f"reasons.txt explains no difference: {row}" for row, used in zip(rows, self.used) if not used]
        pairs = zip(rows, self.used, self.shown)
        return unused + [f"no concrete state shows the difference: {row}" for row, used, shown in pairs if used and not shown]


def fits(row, verdict, place):
    lifters, machines, forms, places, _ = row
    return (verdict.lifter in lifters.split() and verdict.machine in machines.split()
            and re.search(forms, verdict.form) is not None and re.fullmatch(places, place) is not None)
