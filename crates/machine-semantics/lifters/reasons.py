"""Reasons of differences, from a file with a line for each: lifter, machine, forms, places, reason."""

import re


class Reasons:
    def __init__(self, path):
        with open(path) as file:
            lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
        self.rows = [[part.strip() for part in line.split(" | ", 4)] for line in lines]
        self.used = [False] * len(self.rows)

    def of(self, verdict):
        """Returns the reasons of differences of a form; `None` if a place has none."""
        found = []
        for place in verdict.detail.split():
            index = next((index for index, row in enumerate(self.rows) if fits(row, verdict, place)), None)
            if index is None:
                return None
            self.used[index] = True
            if self.rows[index][4] not in found:
                found.append(self.rows[index][4])
        return "; ".join(found)

    def unused(self):
        """Returns a message for each row that explains no difference."""
        rows = [" | ".join(row) for row, used in zip(self.rows, self.used) if not used]
        return [f"reasons.txt explains no difference: {row}" for row in rows]


def fits(row, verdict, place):
    lifters, machines, forms, places, _ = row
    return (verdict.lifter in lifters.split() and verdict.machine in machines.split()
            and re.search(forms, verdict.form) is not None and re.fullmatch(places, place) is not None)
