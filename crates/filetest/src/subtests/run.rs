//! `test run`: the compiled code runs the directives, in a separate process. If code cannot be run here, functions
//! are compiled nevertheless, and their allocations checked.

use kingpost_codegen::{Compiler, CpuFlags};
use kingpost_ir::extfunc::FuncName;
use kingpost_reader::{Position, RunCommand, TestFunction};

use crate::directives::{Call, Directive, Judge, directives};
use crate::job::Job;
use crate::native::{self, Request, Via};
use crate::outcome::Ending;
use crate::report::Findings;
use crate::subtests::interpret;
use crate::target;

pub(crate) fn run(job: &Job, findings: &mut Findings) {
    run_on(CpuFlags::host(), job, findings);
}

fn run_on(processor: Option<CpuFlags>, job: &Job, findings: &mut Findings) {
    let Some(compiler) = job.compiler(findings).filter(|_| job.has_valid_data(findings)) else { return };
    if compiler.settings().enable_pinned_reg {
        return findings.skip("test run with enable_pinned_reg");
    }
    let functions = &job.file.functions;
    let directives = directives(job, findings);
    note_other_names(job, &directives, findings);
    let mut wanted = vec![false; functions.len()];
    directives.iter().for_each(|directive| wanted[directive.function] = true);
    let built = match native::build(job.file, &compiler, &wanted) {
        Ok(built) => built,
        Err(text) => return findings.fail(text),
    };
    // Left-out functions are skips even if no directive calls them.
    built.left_out.iter().flatten().for_each(|reason| findings.skip(reason));
    if let Err(reason) = runs_here(processor, job, &compiler) {
        return findings.skip(format_args!("{reason}: compiled and checked, not run"));
    }
    let mut called = Vec::new();
    let mut requests = Vec::new();
    for directive in directives {
        if let Some(trampoline) = built.trampolines[directive.function] {
            requests.push(request(trampoline, &functions[directive.function], &directive.command));
            called.push(directive);
        }
    }
    match native::run_for(&built.program, &requests, job.via, job.limit.unwrap_or(native::SECONDS)) {
        Ok(endings) => judge(job, &called, endings, findings),
        Err(text) => findings.fail(format_args!("{}:{}: {text}", job.name, place_of_symbol(job, &text))),
    }
}

/// Returns the first position of the symbol that a message names, or the beginning of the file if it names none.
fn place_of_symbol(job: &Job, message: &str) -> Position {
    let symbol = message.split([' ', '`']).find(|word| word.starts_with('%'));
    let start = symbol.and_then(|symbol| job.file.text.find(symbol)).unwrap_or(0);
    Position::of(job.file.text.as_bytes(), start)
}

/// Reports each directive that names another function than the one it follows, which is the one that runs.
fn note_other_names(job: &Job, directives: &[Directive], findings: &mut Findings) {
    for directive in directives {
        let function = &job.file.functions[directive.function].function.name;
        if let (Some(word), FuncName::Named(own)) = (Call::of(&directive.command).name, function)
            && word != own
        {
            let (file, position) = (job.name, directive.position);
            findings.note(format_args!("{file}:{position}: the directive names %{word}, but runs {function}"));
        }
    }
}

fn judge(job: &Job, called: &[Directive], endings: Vec<Ending>, findings: &mut Findings) {
    for (directive, ending) in called.iter().zip(endings) {
        let test = &job.file.functions[directive.function];
        let (ended, failures) = (matches!(ending, Ending::Returned(_) | Ending::Trapped(_)), findings.failures.len());
        let judge = Judge::new(job, test, directive);
        judge.judge(ending, findings);
        // The oracle decides whether the code or the expectation is wrong.
        if let (true, Some(failure)) = (ended, findings.failures.get_mut(failures)) {
            *failure += &format!("\n  interpreted, it {}", interpret::ending_of(job, directive));
        }
    }
}

fn request(trampoline: u32, test: &TestFunction, command: &RunCommand) -> Request {
    let results = test.function.signature.returns.iter().map(|param| param.value_type).collect();
    Request { trampoline, arguments: Call::of(command).arguments, results }
}

/// Checks that this machine, or an emulator on it, can run the code.
fn runs_here(processor: Option<CpuFlags>, job: &Job, compiler: &Compiler) -> Result<(), String> {
    let triple = compiler.triple();
    // Code in the memory of this process needs no tools.
    if job.via == Via::Object || !native::is_host(triple) {
        native::tools(triple)?;
    }
    // Emulators have all flags.
    let Some(processor) = processor.filter(|_| native::is_host(triple)) else { return Ok(()) };
    match job.unit.target.and_then(|target| target::missing_flag(target, &processor)) {
        Some(flag) => Err(format!("this machine's processor lacks {flag}")),
        None => Ok(()),
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::known_wrong::KnownWrong;
    use crate::report::Outcome;
    use crate::unit::Unit;
    use kingpost_reader::parse_test;

    /// Returns the outcome of a file with a wrong expectation, on a processor without any flags.
    fn outcome(header: &str) -> Outcome {
        let text = format!(
            "test run\n{header}\nfunction %f() -> i8 {{\nblock0:\n    v0 = iconst.i8 1\n    return v0\n}}\n; run: %f() == 2\n"
        );
        let file = parse_test(&text, kingpost_reader::Options::default()).unwrap();
        let (command, target) = (&file.header.commands[0], file.header.targets.first());
        let allocator = Some("linear".into());
        let unit = Unit { command, target, allocator, program: None, opt_level: None, settings: &[] };
        let known_wrong = &KnownWrong::default();
        let (name, via) = ("t.clif", Via::Jit);
        let job =
            Job { name, file: &file, unit: &unit, info: None, bless: false, via, limit: None, calls: &[], known_wrong };
        let mut findings = Findings::default();
        run_on(CpuFlags::of(target_lexicon::Architecture::X86_64, &[]), &job, &mut findings);
        findings.outcome()
    }

    #[test]
    fn missing_flags_keep_code_from_running_only() {
        let reason = "this machine's processor lacks has_popcnt: compiled and checked, not run";
        assert_eq!(outcome("target x86_64 has_popcnt"), Outcome::Skipped(reason.into()));
        assert!(matches!(outcome("target x86_64"), Outcome::Failed(_)));
    }
}
