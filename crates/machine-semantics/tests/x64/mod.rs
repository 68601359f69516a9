//! Meanings of x86-64 are compared with the processor.

mod errors;
mod forms;
mod processor;
mod recorder;
mod refusals;
mod states;
mod vectors;

use crate::cases::cases;
use processor::Processor;
use recorder::Form;
use states::Random;

/// States of a form in one batch.
const BATCH: usize = 500;

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

/// Returns all forms with their bytes; none, with a message, if there is no compiler.
pub(crate) fn all_forms() -> Vec<crate::meanings::Form> {
    let texts = [forms::all(), vectors::all()].concat();
    let Some(processor) = Processor::assemble(&texts) else { return Vec::new() };
    let form = |(text, code): (String, &processor::Code)| crate::meanings::Form {
        machine: "x86_64",
        text,
        address: code.address,
        bytes: code.bytes.clone(),
    };
    let forms = texts.into_iter().zip(processor.forms()).map(form).collect();
    processor.stop();
    forms
}

#[test]
fn meanings_agree_with_the_processor() {
    compare(&forms::all());
}

#[test]
fn meanings_of_vectors_agree_with_the_processor() {
    compare(&vectors::all());
}

/// Returns a program of forms and their meanings, without forms that the processor does not know.
fn prepare(texts: &[String]) -> Option<(Processor, Vec<Form>)> {
    let processor = Processor::assemble(texts)?;
    let mut forms: Vec<Form> = Vec::new();
    for (text, code) in texts.iter().zip(processor.forms()) {
        let form = Form::new(text, code);
        match form.feature.filter(|feature| !has(feature)) {
            Some(feature) => eprintln!("SKIPPED: `{text}` needs {feature}"),
            None => forms.push(form),
        }
    }
    Some((processor, forms))
}

/// Compares the meanings of forms with the processor.
fn compare(texts: &[String]) {
    let Some((mut processor, mut forms)) = prepare(texts) else { return };
    let cases = cases(100);
    let mut random = Random::new(0x5eed_0f0f_1234_9876);
    let mut differences = Vec::new();
    for form in &mut forms {
        let mut left = cases;
        while left > 0 {
            let count = BATCH.min(left);
            left -= count;
            let before = form.states(&mut random, count);
            let after = processor.run(&form.code, &before);
            if let Some(difference) =
                before.iter().zip(&after).find_map(|(before, after)| form.compare(before, after).err())
            {
                differences.push(difference);
                break;
            }
        }
    }
    processor.stop();
    assert!(
        differences.is_empty(),
        "{} of {} forms differ:\n{}",
        differences.len(),
        forms.len(),
        differences.join("\n")
    );
    println!("{} forms agree on {cases} states each", forms.len());
}
