//! Plants errors in meanings, which the comparison with the emulator must find.

use super::emulated::{Runner, Subject, TOOLS, is_missing, prepare};
use super::forms;
use super::scalars;
use super::states::{Concrete, Random};
use crate::plants::{self, Judged, Planting};
use kingpost_smt::{Model, Term, Terms};

struct Case<'a> {
    runner: &'a mut Runner,
    subject: &'a mut Subject,
    states: Vec<[Concrete; 2]>,
}

impl Judged for Case<'_> {
    fn text(&self) -> &str {
        &self.subject.meaning.text
    }

    fn terms(&mut self) -> &mut Terms {
        &mut self.subject.meaning.recorder.terms
    }

    fn results(&mut self) -> Vec<Term> {
        self.subject.meaning.result_terms()
    }

    fn set_results(&mut self, results: &[Term]) {
        self.subject.meaning.set_results(results);
    }

    fn agrees(&mut self) -> bool {
        self.states.iter().all(|states| self.subject.compare(states).is_ok())
    }

    fn fixed(&mut self, state: usize) -> Vec<(Term, u64)> {
        self.subject.fixed(&self.states[state][0])
    }

    fn add_state(&mut self, state: usize, model: &Model) {
        let before = self.subject.meaning.state_of(&self.states[state][0], model);
        self.states.extend(self.subject.run(self.runner, vec![before]));
    }
}

/// States of each form.
const STATES: usize = 300;

#[test]
fn planted_errors_are_found() {
    const TEST: &str = "planted_errors_are_found";
    if is_missing(TEST, &TOOLS) {
        return;
    }
    let Some(mut planting) = Planting::new(TEST) else { return };
    let forms = [scalars::INTEGERS, scalars::BRANCHES].into_iter().flat_map(forms::all);
    // A load of its own word has one value, so that not every error shows.
    let forms = forms.filter(|form| !form.text.ends_with(", .")).collect();
    let folder = tempfile::tempdir().unwrap();
    let (mut runner, mut subjects) = prepare(folder.path(), &plants::sample(forms), false);
    let mut random = Random(0x1dea);
    for subject in &mut subjects {
        let states = subject.states(&mut runner, &mut random, STATES);
        planting.plant(&mut Case { runner: &mut runner, subject, states });
    }
    runner.stop();
    planting.end();
}
