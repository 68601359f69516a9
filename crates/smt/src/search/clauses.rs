//! Assignments of clauses: decisions, propagation, and clauses learned from conflicts (Marques-Silva and Sakallah, GRASP,
//! 1996; Moskewicz et al., Chaff, 2001).
//!
//! 1. The first two literals of a clause are watched: a clause with two literals that are not false needs no visit.
//! 2. The trail has the true literals in the order of their assignment; the reason of a literal is a clause whose first
//!    literal it is and whose other literals are false and before it.
//! 3. A learned clause has one literal of the last level, which is first, and the literal of the highest other level is
//!    second. Literals that follow from others in it are left out (Sörensson and Biere, Minimizing learned clauses, 2009).

use super::order::Order;
use std::ops::Range;

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

    pub(super) fn variable(self) -> usize {
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

/// A clause that watches a literal.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Place of the clause in memory.
    clause: u32,
    /// Another literal of the clause. If it is true, the clause needs no visit.
    other: Lit,
}

/// Result of a visit to a clause.
enum Visit {
    /// The clause watches another literal instead.
    Moved,
    /// The clause has this literal, which is true.
    Kept(Lit),
    /// All its literals are false.
    Conflict,
}

/// Clauses and an assignment. The memory is used again for the clauses of the next search.
#[derive(Default, Debug)]
pub(super) struct Clauses {
    /// All clauses, one after the other: the number of literals, and the literals.
    memory: Vec<Lit>,
    /// The clauses that watch each literal.
    watches: Vec<Vec<Watch>>,
    /// Whether each literal is true.
    is_true: Vec<bool>,
    /// Decision level of each assigned variable.
    levels: Vec<u32>,
    /// The clause that assigned each variable, by its place in memory.
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
    /// The clause that the last conflict showed.
    learned: Vec<Lit>,
    /// Literals that were removed from it.
    dropped: Vec<Lit>,
    /// Whether the clauses contradict one another without decisions.
    is_contradictory: bool,
}

/// Number of conflicts before the first restart.
const FIRST_RESTART: u32 = 64;

impl Clauses {
    /// Removes all clauses, and sets the number of variables.
    pub(super) fn reset(&mut self, variables: usize) {
        let before = self.is_true.len();
        self.watches[..before].iter_mut().for_each(Vec::clear);
        self.watches.resize(self.watches.len().max(2 * variables), Vec::new());
        self.memory.clear();
        self.trail.clear();
        self.decisions.clear();
        self.propagated = 0;
        self.is_contradictory = false;
        self.is_true.clear();
        self.is_true.resize(2 * variables, false);
        self.levels.clear();
        self.levels.resize(variables, 0);
        self.reasons.clear();
        self.reasons.resize(variables, None);
        self.phases.clear();
        self.phases.resize(variables, false);
        self.seen.clear();
        self.seen.resize(variables, false);
        self.order.reset(variables);
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
        let start = self.memory.len();
        self.memory.push(Lit(0));
        for &lit in clause {
            if !self.is_true(!lit) {
                self.memory.push(lit);
            }
        }
        match self.memory[start + 1..] {
            [] => self.is_contradictory = true,
            [lit] => {
                self.memory.truncate(start);
                self.assign(lit, None);
            }
            _ => self.attach(start),
        }
    }

    /// Begins to watch the clause at the end of memory.
    fn attach(&mut self, start: usize) {
        self.memory[start] = Lit((self.memory.len() - start - 1) as u32);
        let (first, second) = (self.memory[start + 1], self.memory[start + 2]);
        let clause = start as u32;
        self.watches[first.index()].push(Watch { clause, other: second });
        self.watches[second.index()].push(Watch { clause, other: first });
    }

    fn assign(&mut self, lit: Lit, reason: Option<u32>) {
        self.is_true[lit.index()] = true;
        self.levels[lit.variable()] = self.decisions.len() as u32;
        self.reasons[lit.variable()] = reason;
        self.trail.push(lit);
    }

    /// Returns the places of the literals of a clause.
    fn literals(&self, clause: u32) -> Range<usize> {
        let start = clause as usize;
        start + 1..start + 1 + self.memory[start].0 as usize
    }

    /// Assigns what follows from the assignment. Returns a clause whose literals are all false, if there is one.
    fn propagate(&mut self) -> Option<u32> {
        while let Some(&lit) = self.trail.get(self.propagated) {
            self.propagated += 1;
            let false_lit = !lit;
            let mut watching = std::mem::take(&mut self.watches[false_lit.index()]);
            let (mut kept, mut conflict) = (0, None);
            for at in 0..watching.len() {
                let mut watch = watching[at];
                if conflict.is_none() && !self.is_true[watch.other.index()] {
                    match self.visit(watch.clause, false_lit) {
                        Visit::Moved => continue,
                        Visit::Kept(lit) => watch.other = lit,
                        Visit::Conflict => conflict = Some(watch.clause),
                    }
                }
                watching[kept] = watch;
                kept += 1;
            }
            watching.truncate(kept);
            self.watches[false_lit.index()] = watching;
            if conflict.is_some() {
                return conflict;
            }
        }
        None
    }

    /// Visits a clause with a watched literal that became false.
    fn visit(&mut self, number: u32, false_lit: Lit) -> Visit {
        let range = self.literals(number);
        let clause = &mut self.memory[range];
        if clause[0] == false_lit {
            clause.swap(0, 1);
        }
        let first = clause[0];
        if self.is_true[first.index()] {
            return Visit::Kept(first);
        }
        for at in 2..clause.len() {
            if !self.is_true[(!clause[at]).index()] {
                clause.swap(1, at);
                let watched = clause[1].index();
                self.watches[watched].push(Watch { clause: number, other: first });
                return Visit::Moved;
            }
        }
        if self.is_true(!first) {
            return Visit::Conflict;
        }
        self.assign(first, Some(number));
        Visit::Kept(first)
    }

    /// Finds the clause that a conflict shows, and returns the level to which it leads back: resolves with reasons until one
    /// literal of the last level is left.
    fn learn(&mut self, conflict: u32) -> usize {
        let last = self.decisions.len() as u32;
        self.learned.clear();
        self.learned.push(Lit(0));
        let (mut reason, mut open, mut at) = (conflict, 0, self.trail.len());
        let mut resolved: Option<Lit> = None;
        loop {
            for place in self.literals(reason) {
                let lit = self.memory[place];
                let variable = lit.variable();
                if Some(lit) == resolved || self.seen[variable] || self.levels[variable] == 0 {
                    continue;
                }
                self.seen[variable] = true;
                self.order.bump(variable as u32);
                if self.levels[variable] == last {
                    open += 1;
                } else {
                    self.learned.push(lit);
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
                self.learned[0] = !lit;
                break;
            }
            reason = self.reasons[lit.variable()].expect("literals after the decision have a reason");
            resolved = Some(lit);
        }
        self.shorten()
    }

    /// Removes the literals of the learned clause that follow from others in it. Returns the level to which the clause leads
    /// back.
    fn shorten(&mut self) -> usize {
        let mut learned = std::mem::take(&mut self.learned);
        let (mut kept, mut back) = (1, 0);
        for at in 1..learned.len() {
            let lit = learned[at];
            let level = self.levels[lit.variable()] as usize;
            if self.follows(lit) {
                // Others may follow from it, so it remains seen until the end. What it follows from remains in the clause or
                // follows itself from earlier literals of the trail.
                self.dropped.push(lit);
                continue;
            }
            learned[kept] = lit;
            if level > back {
                back = level;
                learned.swap(1, kept);
            }
            kept += 1;
        }
        learned.truncate(kept);
        for &lit in learned[1..].iter().chain(&self.dropped) {
            self.seen[lit.variable()] = false;
        }
        self.dropped.clear();
        self.learned = learned;
        back
    }

    /// Returns `true` if a literal of the learned clause is false because others of the clause are.
    fn follows(&self, lit: Lit) -> bool {
        let Some(reason) = self.reasons[lit.variable()] else { return false };
        self.memory[self.literals(reason)].iter().all(|other| {
            let variable = other.variable();
            variable == lit.variable() || self.seen[variable] || self.levels[variable] == 0
        })
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

    /// Adds the learned clause, and returns its place in memory.
    fn keep_learned(&mut self) -> u32 {
        let start = self.memory.len();
        self.memory.push(Lit(0));
        self.memory.extend_from_slice(&self.learned);
        self.attach(start);
        start as u32
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
                let back = self.learn(conflict);
                self.go_back(back);
                let reason = (self.learned.len() > 1).then(|| self.keep_learned());
                self.assign(self.learned[0], reason);
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
