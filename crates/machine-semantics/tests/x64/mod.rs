//! Meanings of x86-64 are compared with the processor.

mod forms;
mod processor;
mod recorder;
mod refusals;
mod states;
mod vectors;

use processor::Processor;
use recorder::Form;
use states::Random;
use std::collections::BTreeMap;

/// Cases of a form in one run of the processor.
const CASES_PER_RUN: usize = 100;

/// Returns the number of runs of the processor. `KINGPOST_CASES=100000` runs more cases of each form.
fn runs() -> usize {
    let cases = std::env::var("KINGPOST_CASES").map_or(CASES_PER_RUN, |text| text.parse().expect("a number of cases"));
    cases.div_ceil(CASES_PER_RUN)
}

/// Returns `true` if the processor has a feature.
fn has(feature: &str) -> bool {
    match feature {
        "avx" => std::is_x86_feature_detected!("avx"),
        "avx2" => std::is_x86_feature_detected!("avx2"),
        "bmi1" => std::is_x86_feature_detected!("bmi1"),
        "bmi2" => std::is_x86_feature_detected!("bmi2"),
        "cmpxchg16b" => std::is_x86_feature_detected!("cmpxchg16b"),
        "fma" => std::is_x86_feature_detected!("fma"),
        "lzcnt" => std::is_x86_feature_detected!("lzcnt"),
        "popcnt" => std::is_x86_feature_detected!("popcnt"),
        "sse3" => std::is_x86_feature_detected!("sse3"),
        "ssse3" => std::is_x86_feature_detected!("ssse3"),
        "sse4.1" => std::is_x86_feature_detected!("sse4.1"),
        "sse4.2" => std::is_x86_feature_detected!("sse4.2"),
        other => panic!("{other} is not known"),
    }
}

#[test]
fn meanings_agree_with_the_processor() {
    compare(&forms::all());
}

#[test]
fn meanings_of_vectors_agree_with_the_processor() {
    compare(&vectors::all());
}

/// Compares the meanings of forms with the processor.
fn compare(texts: &[String]) {
    let Some(processor) = Processor::assemble(texts) else { return };
    let mut forms: Vec<Form> = Vec::new();
    for (text, code) in texts.iter().zip(processor.forms()) {
        let form = Form::new(text, code);
        match form.feature.filter(|feature| !has(feature)) {
            Some(feature) => eprintln!("SKIPPED: `{text}` needs {feature}"),
            None => forms.push(form),
        }
    }
    let mut random = Random::new(0x5eed_0f0f_1234_9876);
    let mut differences: BTreeMap<usize, String> = BTreeMap::new();
    for _ in 0..runs() {
        let before: Vec<_> = forms.iter().map(|form| form.states(&mut random, CASES_PER_RUN)).collect();
        let after = processor.run(forms.iter().map(|form| form.code.number).zip(&before));
        for ((form, before), after) in forms.iter_mut().zip(&before).zip(&after) {
            let difference = before.iter().zip(after).find_map(|(before, after)| form.compare(before, after).err());
            if let Some(difference) = difference {
                differences.entry(form.code.number).or_insert(difference);
            }
        }
    }
    let texts: Vec<String> = differences.into_values().collect();
    assert!(texts.is_empty(), "{} of {} forms differ:\n{}", texts.len(), forms.len(), texts.join("\n"));
}
