//! Assignments of clauses: decisions, propagation, and clauses learned from conflicts (Marques-Silva and Sakallah, GRASP,
//! 1996; Moskewicz et al., Chaff, 2001).
//!
//! 1. The first two literals of a clause are watched: a clause with two literals that are not false needs no visit.
//! 2. The trail has the true literals in the order of their assignment; the reason of a literal is a clause whose first
//!    literal it is and whose other literals are false and before it.
//! 3. A learned clause has one literal of the last level, which is first, and the literal of the highest other level is
//!    second.

use super::order::Order;

/// A variable or its negation: twice the number of the variable, plus 1 for the negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Lit(pub(super) u32);

impl Lit {
    pub(super) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub(super) fn negated_if(self, is_negated: bool) -> Lit {
        Lit(self.0 ^ u32::from(is_negated))
    }

    fn variable(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// Clauses and an assignment.
#[derive(Default, Debug)]
pub(super) struct Clauses {
    clauses: Vec<Vec<Lit>>,
    /// The clauses that watch each literal.
    watches: Vec<Vec<u32>>,
    /// Whether each literal is true.
    is_true: Vec<bool>,
    /// Decision level of each assigned variable.
    levels: Vec<u32>,
    reasons: Vec<Option<u32>>,
    /// The last value of each variable.
    phases: Vec<bool>,
    trail: Vec<Lit>,
    /// Length of the trail at each decision.
    decisions: Vec<usize>,
    /// Number of literals of the trail that were propagated.
    propagated: usize,
    order: Order,
    seen: Vec<bool>,
    /// Whether the clauses contradict one another without decisions.
    is_contradictory: bool,
}

/// Number of conflicts before the first restart.
const FIRST_RESTART: u32 = 64;

impl Clauses {
    /// Adds a variable and returns it.
    pub(super) fn variable(&mut self) -> Lit {
        let lit = Lit(2 * self.levels.len() as u32);
        self.levels.push(0);
        self.reasons.push(None);
        self.phases.push(false);
        self.seen.push(false);
        self.is_true.extend([false; 2]);
        self.watches.extend([const { Vec::new() }; 2]);
        self.order.add();
        lit
    }

    /// Returns `true` if a literal is true under the assignment.
    pub(super) fn is_true(&self, lit: Lit) -> bool {
        self.is_true[lit.index()]
    }

    fn is_assigned(&self, lit: Lit) -> bool {
        self.is_true(lit) || self.is_true(!lit)
    }

    /// Adds a clause, before the search. Its literals are of different variables.
    pub(super) fn add(&mut self, clause: &[Lit]) {
        if clause.iter().any(|&lit| self.is_true(lit)) {
            return;
        }
        let open: Vec<Lit> = clause.iter().copied().filter(|&lit| !self.is_true(!lit)).collect();
        match open[..] {
            [] => self.is_contradictory = true,
            [lit] => self.assign(lit, None),
            _ => {
                self.attach(open);
            }
        }
    }

    fn attach(&mut self, clause: Vec<Lit>) -> u32 {
        let number = self.clauses.len() as u32;
        self.watches[clause[0].index()].push(number);
        self.watches[clause[1].index()].push(number);
        self.clauses.push(clause);
        number
    }

    fn assign(&mut self, lit: Lit, reason: Option<u32>) {
        self.is_true[lit.index()] = true;
        self.levels[lit.variable()] = self.decisions.len() as u32;
        self.reasons[lit.variable()] = reason;
        self.trail.push(lit);
    }

    /// Assigns what follows from the assignment. Returns a clause whose literals are all false, if there is one.
    fn propagate(&mut self) -> Option<u32> {
        while let Some(&lit) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let false_lit = !lit;
            let mut watching = std::mem::take(&mut self.watches[false_lit.index()]);
            let (mut kept, mut conflict) = (0, None);
            for at in 0..watching.len() {
                let number = watching[at];
                if conflict.is_some() || !self.visit(number, false_lit, &mut conflict) {
                    watching[kept] = number;
                    kept += 1;
                }
            }
            watching.truncate(kept);
            self.watches[false_lit.index()] = watching;
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Visits a clause with a watched literal that became false. Returns `true` if another literal is watched instead.
    fn visit(&mut self, number: u32, false_lit: Lit, conflict: &mut Option<u32>) -> bool {
        let clause = &mut self.clauses[number as usize];
        if clause[0] == false_lit {
            clause.swap(0, 1);
        }
        let first = clause[0];
        if self.is_true[first.index()] {
            return false;
        }
        for at in 2..clause.len() {
            if !self.is_true[(!clause[at]).index()] {
                clause.swap(1, at);
                let watched = clause[1].index();
                self.watches[watched].push(number);
                return true;
            }
        }
        if self.is_true(!first) {
            *conflict = Some(number);
        } else {
            self.assign(first, Some(number));
        }
        false
    }

    /// Returns the clause that a conflict shows, and the level to which it leads back: resolves with reasons until one
    /// literal of the last level is left.
    fn learn(&mut self, conflict: u32) -> (Vec<Lit>, usize) {
        let last = self.decisions.len() as u32;
        let mut learned = vec![Lit(0)];
        let (mut reason, mut open, mut at) = (conflict, 0, self.trail.len());
        let mut resolved: Option<Lit> = None;
        loop {
            for position in 0..self.clauses[reason as usize].len() {
                let lit = self.clauses[reason as usize][position];
                let variable = lit.variable();
                if Some(lit) == resolved || self.seen[variable] || self.levels[variable] == 0 {
                    continue;
                }
                self.seen[variable] = true;
                self.order.bump(variable as u32);
                if self.levels[variable] == last {
                    open += 1;
                } else {
                    learned.push(lit);
                }
            }
            let lit = loop {
                at -= 1;
                if self.seen[self.trail[at].variable()] {
                    break self.trail[at];
                }
            };
            self.seen[lit.variable()] = false;
            open -= 1;
            if open == 0 {
                learned[0] = !lit;
                break;
            }
            reason = self.reasons[lit.variable()].expect("literals after the decision have a reason");
            resolved = Some(lit);
        }
        let mut back = 0;
        for position in 1..learned.len() {
            self.seen[learned[position].variable()] = false;
            let level = self.levels[learned[position].variable()] as usize;
            if level > back {
                back = level;
                learned.swap(1, position);
            }
        }
        (learned, back)
    }

    fn go_back(&mut self, level: usize) {
        let Some(&length) = self.decisions.get(level) else { return };
        for lit in self.trail.drain(length..) {
            self.is_true[lit.index()] = false;
            self.phases[lit.variable()] = !lit.is_negated();
            self.order.insert(lit.variable() as u32);
        }
        self.decisions.truncate(level);
        self.propagated = length;
    }

    /// Decides whether an assignment makes all clauses true, within a number of conflicts.
    pub(super) fn solve(&mut self, conflicts: u32) -> Option<bool> {
        if self.is_contradictory {
            return Some(false);
        }
        let (mut count, mut restarts, mut next_restart) = (0, 0, FIRST_RESTART);
        loop {
            if let Some(conflict) = self.propagate() {
                if self.decisions.is_empty() {
                    return Some(false);
                }
                count += 1;
                if count > conflicts {
                    return None;
                }
                let (learned, back) = self.learn(conflict);
                self.go_back(back);
                let first = learned[0];
                let reason = (learned.len() > 1).then(|| self.attach(learned));
                self.assign(first, reason);
                self.order.decay();
                if count >= next_restart {
                    restarts += 1;
                    next_restart = count + FIRST_RESTART * luby(restarts);
                    self.go_back(0);
                }
                continue;
            }
            let variable = loop {
                match self.order.pop() {
                    None => return Some(true),
                    Some(variable) if self.is_assigned(Lit(2 * variable)) => {}
                    Some(variable) => break variable,
                }
            };
            self.decisions.push(self.trail.len());
            let lit = Lit(2 * variable).negated_if(!self.phases[variable as usize]);
            self.assign(lit, None);
        }
    }
}

/// Returns a number of the sequence 1, 1, 2, 1, 1, 2, 4, … (Luby, Sinclair and Zuckerman, 1993). The first is number 1.
fn luby(mut number: u32) -> u32 {
    loop {
        let power = (number + 1).next_power_of_two();
        if power == number + 1 {
            return power / 2;
        }
        number -= power / 2 - 1;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn restarts_follow_luby() {
        let numbers: Vec<u32> = (1..=15).map(super::luby).collect();
        assert_eq!(numbers, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
