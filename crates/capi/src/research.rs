//! Facts about functions and their allocations as JSON, for programs that compare allocators.

use crate::buffer::Buffer;
use crate::config::Config;
use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::failures::in_text;
use crate::foreign::{Array, Out};
use crate::handles::Handle;
use kingpost::checker::Checker;
use kingpost::codegen::{ALLOCATORS, Compiler, Options};
use kingpost::compiled::ModuleBuffer;
use kingpost::ir::Function;
use kingpost::ir::verifier::Verifier;
use kingpost::reader::{self, Parser, Position, SourceMap};
use kingpost::regalloc::{Allocation, text};
use kingpost_explain::{TableFacts, TableRow, explain, json};
use std::fmt::Write;

/// Calls `visit` for each function of a text in CLIF, with its offset.
fn each_function(
    source: &str,
    compiler: &Compiler,
    mut visit: impl FnMut(&mut Function, usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut options = reader::Options::default();
    options.default_call_conv = Some(compiler.call_conv());
    let mut parser = Parser::new(source.as_bytes(), options)?;
    let mut func = Function::default();
    while parser.next_function(&mut func)? {
        visit(&mut func, parser.function_start())?;
    }
    Ok(())
}

/// Returns the facts for a row of the table. A name of a file is added by the caller.
fn facts(function: String, compiler: &Compiler, bytes: Option<usize>) -> TableFacts<'static> {
    let allocator = if compiler.is_fused() { "fused" } else { compiler.new_allocator().name() };
    TableFacts { file: "", function, allocator, bytes, nanoseconds: Vec::new() }
}

fn table_of_functions(source: &str, compiler: &Compiler) -> Result<Vec<TableRow>, Failure> {
    let mut rows = Vec::new();
    each_function(source, compiler, |func, start| {
        let (mut cx, mut module) = (compiler.context(), ModuleBuffer::default());
        compiler.compile(&mut cx, func, &mut module).map_err(|error| in_text(source, start, func, &error))?;
        let bytes = module.functions().map(|view| view.code.len()).sum();
        let facts = facts(func.name.to_string(), compiler, Some(bytes));
        rows.push(TableRow::new(facts, &cx.code().problem, compiler.isa().env(), cx.allocation()));
        Ok(())
    })?;
    Ok(rows)
}

fn table_of_problems(source: &str, compiler: &Compiler) -> Result<Vec<TableRow>, Failure> {
    let file = text::parse(source).map_err(|error| Failure::new(Status::Text, error.to_string()))?;
    let env = file.env.as_ref().unwrap_or_else(|| compiler.isa().env());
    let (mut allocator, mut checker, mut answer) = (compiler.new_allocator(), Checker::new(), Allocation::default());
    let row = |case: &text::Case| {
        let problem = &case.problem;
        let fail = |status, what: String| Failure::new(status, format!("%{}: {what}", problem.name));
        if let Err(errors) = problem.verify_with(env) {
            let first = errors.first().expect("a reason");
            let (line, column) = text::line_and_column(source, case.positions.of(first.at));
            return Err(fail(Status::Invalid, first.to_string()).at(line, column));
        }
        let result = allocator.allocate(problem, env, &mut answer);
        result.map_err(|error| fail(Status::Allocation, error.to_string()))?;
        if let Err(errors) = checker.check(problem, env, &answer) {
            let first = errors.first().expect("a reason");
            return Err(fail(Status::Allocation, format!("the checker rejects the allocation: {first}")));
        }
        Ok(TableRow::new(facts(format!("%{}", problem.name), compiler, None), problem, env, &answer))
    };
    file.cases.iter().map(row).collect()
}

/// Returns the text of an argument as UTF-8.
fn utf8<'a>(text: Array<'a, u8>, length: usize) -> Result<&'a str, Failure> {
    std::str::from_utf8(text.get(length, "text")?).map_err(|_| Failure::argument("`text` is not UTF-8"))
}

entries! {
    /// Stores the names of the register allocators, one per line. The first one is the default.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_allocators(names: Out<'_, Handle<Buffer>>; error) {
        let names = names.required("names")?;
        let text: String = ALLOCATORS.iter().map(|(name, _)| format!("{name}\n")).collect();
        names.put(Buffer::create(text.into_bytes())?);
        Ok(())
    }

    /// Checks the functions of a text in CLIF against the rules of the language, for the target of a configuration.
    /// Stores the number of findings, and the findings as text, one per line: `line:column: function: message`. A text
    /// that cannot be read is an error.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_verify_text(config: Handle<Config>, text: Array<'_, u8>, length: usize, findings: Out<'_, usize>, report: Out<'_, Handle<Buffer>>; error) {
        let (source, report) = (utf8(text, length)?, report.required("report")?);
        let compiler = config.with(|config| config.compiler())?;
        let (mut verifier, mut count, mut out) = (Verifier::default(), 0, String::new());
        each_function(source, &compiler, |func, start| {
            if let Err(errors) = verifier.verify(func, Some(compiler.target_info())) {
                let map = SourceMap::read(source.as_bytes(), start);
                for finding in &errors.0 {
                    let range = map.range_of(source.as_bytes(), finding.location, &finding.message);
                    let position = Position::of(source.as_bytes(), range.start);
                    count += 1;
                    // Writing to a string does not fail.
                    let _ = writeln!(out, "{position}: {}: {}", func.name, finding.message);
                }
            }
            Ok(())
        })?;
        findings.put(count);
        report.put(Buffer::create(out.into_bytes())?);
        Ok(())
    }

    /// Allocates the registers of each function of a text with the allocator of a configuration, and stores a table
    /// as an array of JSON objects: instructions, values, blocks, spills, fills, moves, exchanges,
    /// rematerializations, slots, callee-saved registers, bytes, weighted cost and others. The text is CLIF, or
    /// problems in `.ra` form if no line begins with `function`; these have no bytes of code. The checker verifies
    /// each allocation of a problem, and of a function if the setting `regalloc_checker` is on.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_allocation_table(config: Handle<Config>, text: Array<'_, u8>, length: usize, table: Out<'_, Handle<Buffer>>; error) {
        let (source, table) = (utf8(text, length)?, table.required("table")?);
        let compiler = config.with(|config| config.compiler())?;
        let rows = match source.lines().any(|line| line.starts_with("function ")) {
            true => table_of_functions(source, &compiler)?,
            false => table_of_problems(source, &compiler)?,
        };
        let rows: Vec<String> = rows.iter().map(TableRow::json).collect();
        table.put(Buffer::create(format!("[{}]", rows.join(",\n")).into_bytes())?);
        Ok(())
    }

    /// Compiles each function of a text in CLIF, and stores what became of it as an array of JSON objects: the names
    /// of virtual registers, the rows of the listing, and the live ranges of values in locations. A range is the index
    /// of a value, the index of a location, and the first and the last half row, exclusive; row `r` covers `2r..2r+2`.
    ///
    /// Ownership: the caller frees the buffer with `kp_buffer_free`.
    fn kp_explain_text(config: Handle<Config>, text: Array<'_, u8>, length: usize, explanation: Out<'_, Handle<Buffer>>; error) {
        let (source, explanation) = (utf8(text, length)?, explanation.required("explanation")?);
        let compiler = config.with(|config| config.compiler())?;
        let limits = compiler.options().limits;
        let compiler = [compiler.with_options(Options::default().with(|options| {
            options.list = true;
            options.limits = limits;
        }))];
        let mut explanations = Vec::new();
        each_function(source, &compiler[0], |func, start| {
            explanations.push(explain(func, &compiler).map_err(|error| in_text(source, start, func, &error))?);
            Ok(())
        })?;
        explanation.put(Buffer::create(json(&explanations).into_bytes())?);
        Ok(())
    }
}
