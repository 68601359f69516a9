//! Plants errors in meanings, which the comparison with the processor must find.

use super::forms;
use super::processor::{Processor, Snapshot};
use super::recorder::Form;
use super::states::Random;
use crate::plants::{self, Judged, Planting};
use kingpost_smt::{Model, Term, Terms};

/// States of each form.
const STATES: usize = 300;

struct Case<'a> {
    processor: &'a mut Processor,
    form: &'a mut Form,
    before: Vec<Snapshot>,
    after: Vec<Snapshot>,
}

impl Judged for Case<'_> {
    fn text(&self) -> &str {
        self.form.text()
    }

    fn terms(&mut self) -> &mut Terms {
        self.form.terms()
    }

    fn results(&mut self) -> Vec<Term> {
        self.form.result_terms()
    }

    fn set_results(&mut self, results: &[Term]) {
        self.form.set_results(results);
    }

    fn agrees(&mut self) -> bool {
        self.before.iter().zip(&self.after).all(|(before, after)| self.form.compare(before, after).is_ok())
    }

    fn fixed(&mut self, state: usize) -> Vec<(Term, u64)> {
        self.form.fixed(&self.before[state])
    }

    fn add_state(&mut self, state: usize, model: &Model) {
        let before = self.form.state_of(&self.before[state], model);
        self.after.extend(self.processor.run(&self.form.code, std::slice::from_ref(&before)));
        self.before.push(before);
    }
}

#[test]
fn planted_errors_are_found() {
    // Solvers take long for floats.
    let is_float = |text: &str| text.contains("xmm") || text.contains("cvt");
    let texts = plants::sample(forms::all().into_iter().filter(|text| !is_float(text)).collect());
    let Some(mut planting) = Planting::new("planted_errors_are_found") else { return };
    let Some((mut processor, mut forms)) = super::prepare(&texts) else { return };
    let mut random = Random::new(0x1dea_5eed);
    for form in &mut forms {
        let before = form.states(&mut random, STATES);
        let after = processor.run(&form.code, &before);
        planting.plant(&mut Case { processor: &mut processor, form, before, after });
    }
    processor.stop();
    planting.end();
}
