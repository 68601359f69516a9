"""Asks z3 whether terms can hold. Its work is limited by a count, which does not depend on the machine."""
import subprocess

import terms as t


class Solver:
    """A process of z3."""

    def __init__(self):
        self.z3 = subprocess.Popen(["z3", "-in", "-smt2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def check(self, conditions, limit):
        """Returns `sat`, `unsat` or `unknown`: whether all conditions hold in some state.

        z3 makes `limit` steps at most.
        """
        if t.FALSE in conditions:
            return "unsat"
        lines, names = t.script(conditions)
        lines += [f"(assert {name})" for name in names]
        answers = self.answers(["(reset)", f"(set-option :rlimit {limit})", *lines, "(check-sat)"])
        if answers not in (["sat"], ["unsat"], ["unknown"]):
            raise RuntimeError("\n".join(answers[:5] + lines[-5:]))
        return answers[0]

    def answers(self, lines):
        self.z3.stdin.write("\n".join([*lines, '(echo "end")', ""]))
        self.z3.stdin.flush()
        return list(iter(lambda: self.z3.stdout.readline().strip(), "end"))

    def close(self):
        """Ends the process."""
        self.z3.stdin.close()
        self.z3.wait()
