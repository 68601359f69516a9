//! `compile`: functions and data of files into one object.
//!
//! Functions are read in portions. Each portion is compiled before the next one is read, so that the intermediate
//! representation of a large file is never in memory as a whole.

use crate::args::{CompileArgs, PathRemap};
use crate::cat_verify::Search;
use crate::diagnostics::{Diagnostic, Refused, report};
use crate::dump::{Dumps, stage};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{self, Input, is_stream};
use crate::progress::Line;
use crate::stats::Summary;
use crate::{cache, output, target};
use kingpost_codegen::cache::Cache;
use kingpost_codegen::module::Inliner;
use kingpost_codegen::{CompileError, Compiler, Options};
use kingpost_emit_object::{Assembly, ObjectError, ObjectOptions};
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::function::SourceLoc;
use kingpost_ir::{AnyEntity, Function};
use kingpost_mach::{DataObject, ModuleBuffer, text};
use kingpost_reader::{Error, Header, Parser, SourceMap};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

/// Maximum number of errors before the command stops, unless `--keep-going` is given.
const MAX_ERRORS: usize = 20;

/// Bytes of text that are read before they are compiled. The number is small enough that the functions are still in
/// the cache then.
const PORTION: usize = 1 << 18;

pub(crate) fn compile(args: &CompileArgs) -> Outcome {
    let dumped = if args.disasm { [&args.dump[..], &["emit".into()]].concat() } else { args.dump.clone() };
    let dumps = Dumps::new(&dumped, args.dump_dir.as_deref())?;
    let observe = Options::default().with(|options| {
        options.time = args.time || args.stats.is_some();
        options.count = args.stats.is_some();
        options.dump = dumps.writer();
        options.list = args.assembly;
        options.stop_after = args.stop_after.as_deref().and_then(stage);
        options.free_functions = true;
    });
    if let Some(input) = args.files.iter().find(|&input| args.output.as_ref().is_some_and(|out| is_same(input, out))) {
        return Err(Stop::Usage(format!("{}: both input and output", input.display())));
    }
    let compiler = target::compiler(&args.target, args.allocator().as_ref(), args.verify_each)?;
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let assembly = args.assembly.then(|| Assembly::new(compiler.triple())).transpose().map_err(failed)?;
    let summary = Summary { tiles: compiler.isa().tiles(), ..Summary::default() };
    let cache = cache::open(args)?;
    let mut session = Session {
        args,
        compiler: cached(compiler, cache.as_ref()).with_options(observe.clone()),
        cache,
        observe,
        jobs,
        dumps,
        functions: Vec::new(),
        starts: Vec::new(),
        inliner: Inliner::default(),
        module: ModuleBuffer::default(),
        assembly,
        data: Vec::new(),
        inputs: Vec::new(),
        defined: HashMap::new(),
        search: Search::of(&args.function),
        progress: Line::new(!args.dump.is_empty() || args.disasm),
        written: 0,
        reasons: BTreeMap::new(),
        summary,
    };
    for path in &args.files {
        let input = Rc::new(input::read(path)?);
        session.inputs.push(Rc::clone(&input));
        session.file(input)?;
        if session.stopped() {
            break;
        }
    }
    session.finish()
}

/// Returns the compiler with the cache, if there is one.
fn cached(compiler: Compiler, cache: Option<&Cache>) -> Compiler {
    match cache {
        Some(cache) => compiler.with_cache(cache.clone()),
        None => compiler,
    }
}

/// Sets the source location of instructions without one to their line in the text.
fn number_lines(input: &Input, start: usize, func: &mut Function) {
    for (entity, range) in SourceMap::read(input.text(), start).iter() {
        if let AnyEntity::Inst(inst) = entity
            && func.srcloc(inst).is_none()
        {
            func.srclocs[inst] = SourceLoc(input.position(range.start).line);
        }
    }
}

fn failed(error: ObjectError) -> Stop {
    Stop::Failure(error.to_string())
}

/// Returns `true` if two paths refer to one regular file.
fn is_same(a: &Path, b: &Path) -> bool {
    let is_file = std::fs::metadata(a).is_ok_and(|metadata| metadata.is_file());
    !is_stream(a) && !is_stream(b) && is_file && identity(a) == identity(b)
}

/// Returns what tells files apart; `None` if there is no file.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Returns what tells files apart, hard links aside; `None` if there is no file.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// State of a run of the command.
struct Session<'a> {
    args: &'a CompileArgs,
    /// Compiler for files without their own settings.
    compiler: Compiler,
    cache: Option<Cache>,
    observe: Options,
    jobs: usize,
    dumps: Dumps,
    /// Functions of a portion. Their memory is reused for the next one.
    functions: Vec<Function>,
    /// Offset of each function of the portion in the text.
    starts: Vec<usize>,
    /// Small functions of the file, which later ones may inline.
    inliner: Inliner,
    module: ModuleBuffer,
    /// The module as text for an assembler, if `-S` is given.
    assembly: Option<Assembly>,
    data: Vec<DataObject>,
    /// Files read so far.
    inputs: Vec<Rc<Input>>,
    /// Functions and data objects by name: index of the input, and offset of the definition.
    defined: HashMap<FuncName, (usize, usize)>,
    /// The functions to compile.
    search: Search<'a>,
    progress: Line,
    /// Number of errors written.
    written: usize,
    /// Number of skipped functions by reason.
    reasons: BTreeMap<String, usize>,
    summary: Summary,
}

impl Session<'_> {
    /// Returns `true` if there are so many errors that the command stops.
    fn stopped(&self) -> bool {
        !self.args.keep_going && self.written >= MAX_ERRORS
    }

    /// Skips a function and reports a reason without a position in a text.
    fn leave_out(&mut self, place: &str, reason: String) {
        if !self.stopped() {
            report(&format!("{place}: {reason}"));
            self.written += 1;
        }
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Skips a function and reports the diagnostic as the reason.
    fn report(&mut self, diagnostic: Diagnostic) {
        let reason = diagnostic.message.clone();
        self.report_all([diagnostic], reason);
    }

    /// Skips a function, and writes as many of the diagnostics as the limit allows.
    fn report_all<'a>(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic<'a>>, reason: String) {
        for diagnostic in diagnostics {
            if self.stopped() {
                break;
            }
            diagnostic.report();
            self.written += 1;
        }
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// Returns `true` if `name` was not defined before offset `start` of the last input. Otherwise reports the second
    /// definition.
    fn define(&mut self, name: &FuncName, start: usize) -> bool {
        let here = (self.inputs.len() - 1, start);
        if *name == FuncName::Named(String::new()) && (self.args.output.is_some() || self.args.assembly) {
            let input = Rc::clone(&self.inputs[here.0]);
            self.report(Diagnostic::at(&input, start, "an object needs a name for this".into()));
            return false;
        }
        let first = *self.defined.entry(name.clone()).or_insert(here);
        if first != here {
            let [input, other] = [here, first].map(|(number, _)| Rc::clone(&self.inputs[number]));
            let place = format!("{}:{}", other.name, other.position(first.1));
            let diagnostic = Diagnostic::at(&input, start, format!("{name} is defined twice, first at {place}"));
            self.report_all([diagnostic], format!("{name} is defined twice"));
        }
        first == here
    }

    fn bad_text(&mut self, input: &Input, error: &Error) {
        self.report(Diagnostic::of_text(input, error));
    }

    /// Compiles machine code in the form that `--dump lower` or `--dump check` writes. Verifies it, because a user
    /// may have changed it.
    fn machine_code(&mut self, input: &Input) -> Result<(), Stop> {
        let compiler = target::compiler(&self.args.target, self.args.allocator().as_ref(), true)?;
        let compiler = compiler.with_options(self.observe.clone());
        let functions = match text::parse(&String::from_utf8_lossy(input.text()), compiler.isa().rows()) {
            Ok(functions) => functions,
            Err(error) => {
                self.leave_out(&format!("{}:{}:{}", input.name, error.line, error.col), error.message);
                return Ok(());
            }
        };
        let mut cx = compiler.context();
        for function in functions {
            let (name, start) = (format!("%{}", function.code.problem.name), function.start);
            let result = compiler.compile_code(&mut cx, function, &mut self.module);
            self.dumps.write(std::iter::once(name.clone()), compiler.isa().env())?;
            if let (Ok(()), Some(assembly)) = (&result, &mut self.assembly) {
                let last = self.module.function(self.module.len() - 1);
                assembly.function(cx.listing(), last).map_err(failed)?;
            }
            if let Err(error) = result.or_else(|error| if error == CompileError::Stopped { Ok(()) } else { Err(error) })
            {
                let diagnostics = error.findings().into_iter().map(|finding| Diagnostic {
                    function: Some(name.clone()),
                    ..Diagnostic::at(input, start, finding.message)
                });
                self.report_all(diagnostics, error.to_string());
            }
            if self.stopped() {
                break;
            }
        }
        self.summary.stats += cx.stats();
        Ok(())
    }

    fn file(&mut self, mut input: Rc<Input>) -> Result<(), Stop> {
        if Path::new(&input.name).extension().is_some_and(|extension| extension == "mach") {
            return self.machine_code(&input);
        }
        let start = Instant::now();
        let parser = Parser::new(input.text(), kingpost_reader::Options::default());
        self.summary.parse_s += start.elapsed().as_secs_f64();
        let mut parser = match parser {
            Ok(parser) => parser,
            Err(error) => {
                self.bad_text(&input, &error);
                return Ok(());
            }
        };
        let own = match self.compiler_of(parser.header()) {
            Ok(own) => own,
            Err(refused) => {
                self.report(Diagnostic::of_header(&input, parser.header(), refused));
                return Ok(());
            }
        };
        // Another file may have other settings.
        self.inliner = Inliner::default();
        let left = loop {
            let start = Instant::now();
            let (count, more) = self.read_portion(&input, &mut parser);
            self.summary.parse_s += start.elapsed().as_secs_f64();
            if self.stopped() {
                return Ok(());
            }
            if !more {
                break count;
            }
            self.compile_portion(&input, own.as_ref(), count)?;
            if self.stopped() {
                break 0;
            }
        };
        let data = parser.data();
        drop(parser);
        // All text has been read. It is freed here, because errors in the last functions can read it again.
        if input.is_large_file() {
            input = Rc::new(input.unread());
            self.inputs.pop();
            self.inputs.push(Rc::clone(&input));
        }
        self.compile_portion(&input, own.as_ref(), left)?;
        match data {
            Ok(mut objects) => {
                objects.retain(|object| self.define(&object.name, object.start));
                match kingpost_filetest::data_objects(&objects) {
                    Ok(objects) => self.data.extend(objects),
                    Err(fault) => self.leave_out(&input.name, fault.to_string()),
                }
            }
            Err(error) => self.bad_text(&input, &error),
        }
        Ok(())
    }

    /// Returns the compiler of a file with `set` or `target` lines. Its architecture must be the architecture of the
    /// object, because all files become one object.
    fn compiler_of(&self, header: &Header) -> Result<Option<Compiler>, Refused> {
        if header.settings.is_empty() && header.targets.is_empty() {
            return Ok(None);
        }
        let defaults = target::defaults().with(|settings| settings.verify_each = self.args.verify_each);
        let compiler = target::with_header(defaults, &self.args.target, self.args.allocator().as_ref(), header)?;
        if compiler.triple().architecture != self.compiler.triple().architecture {
            let text = format!("the object is for {}, the file for {}", self.compiler.triple(), compiler.triple());
            return Err(Refused { key: String::new(), text });
        }
        Ok(Some(cached(compiler, self.cache.as_ref()).with_options(self.observe.clone())))
    }

    /// Reads functions into the first entries of the list. Returns their number and whether there are more.
    fn read_portion(&mut self, input: &Input, parser: &mut Parser) -> (usize, bool) {
        let start = parser.position();
        let percent = 100 * start / input.text().len().max(1);
        self.progress.show(|| format!("{}: {percent} %", input.name));
        let mut count = 0;
        while parser.position() - start < PORTION {
            if self.functions.len() == count {
                self.functions.push(Function::default());
                self.starts.push(0);
            }
            match parser.next_function(&mut self.functions[count]) {
                Ok(true) => {
                    let name = self.functions[count].name.clone();
                    self.starts[count] = parser.function_start();
                    if self.args.debug {
                        number_lines(input, self.starts[count], &mut self.functions[count]);
                    }
                    let is_new = self.define(&name, parser.function_start());
                    if self.stopped() {
                        return (count, false);
                    }
                    count += usize::from(is_new && self.search.wants(&name));
                }
                Ok(false) => return (count, false),
                Err(error) => {
                    self.bad_text(input, &error);
                    if self.stopped() || !parser.skip_to_next_function() {
                        return (count, false);
                    }
                }
            }
        }
        (count, !parser.is_at_end())
    }

    fn compile_portion(&mut self, input: &Input, own: Option<&Compiler>, count: usize) -> Result<(), Stop> {
        let start = Instant::now();
        let compiler = own.unwrap_or(&self.compiler);
        self.inliner.run(compiler, &mut self.functions[..count]);
        let errors = match &mut self.assembly {
            Some(assembly) => {
                let mut cx = compiler.context();
                let mut errors = Vec::new();
                for (index, func) in self.functions[..count].iter_mut().enumerate() {
                    match compiler.compile(&mut cx, func, &mut self.module) {
                        Ok(()) => {
                            let last = self.module.function(self.module.len() - 1);
                            assembly.function(cx.listing(), last).map_err(failed)?;
                        }
                        Err(error) => errors.push((index, error)),
                    }
                }
                self.summary.stats += cx.stats();
                errors
            }
            None => {
                let batch = compiler.compile_batch(&mut self.functions[..count], self.jobs);
                // Appending the first portion would need memory for a copy.
                match self.module.is_empty() {
                    true => self.module = batch.module,
                    false => self.module.append(&batch.module),
                }
                self.summary.stats += &batch.stats;
                batch.errors
            }
        };
        self.summary.compile_s += start.elapsed().as_secs_f64();
        let names = self.functions[..count].iter().map(|func| func.name.to_string());
        self.dumps.write(names, compiler.isa().env())?;
        for (index, error) in errors {
            if error == CompileError::Stopped {
                continue;
            }
            let name = self.functions[index].name.to_string();
            let diagnostics = Diagnostic::of_function(input, self.starts[index], &name, error.findings());
            self.report_all(diagnostics, error.to_string());
        }
        Ok(())
    }

    /// Returns a path for debuggers, with its beginning replaced by the last matching `--remap-path-prefix`.
    fn remapped(&self, path: &Path) -> String {
        let replaced = |remap: &PathRemap| Some(remap.to.join(path.strip_prefix(&remap.from).ok()?));
        let remapped = self.args.remap_path_prefix.iter().rev().find_map(replaced);
        // By components, because joining an empty remainder leaves a `/`.
        let path: PathBuf = remapped.as_deref().unwrap_or(path).components().collect();
        if path.as_os_str().is_empty() { ".".into() } else { path.display().to_string() }
    }

    /// Returns the object with everything that was compiled.
    fn object(&self) -> Result<Vec<u8>, Stop> {
        let (args, unwind_info) = (self.args, self.compiler.settings().unwind_info);
        let (trap_table, function_sections, debug_lines) = (args.trap_table, args.function_sections, args.debug);
        let mut options = ObjectOptions::default().with(|options| {
            options.unwind_info = unwind_info;
            options.trap_table = trap_table;
            options.function_sections = function_sections;
            options.debug_lines = debug_lines;
            options.comment = Some(self.compiler.description());
        });
        // Source locations are lines of a single file, because they do not name the file.
        if let [file] = &args.files[..]
            && debug_lines
        {
            options.source = self.remapped(file);
            options.folder = self.remapped(&std::env::current_dir()?);
        }
        kingpost_emit_object::write(self.compiler.triple(), &self.module, &self.data, options).map_err(failed)
    }

    /// Writes the object and all other requested outputs.
    fn finish(mut self) -> Outcome {
        let (args, start) = (self.args, Instant::now());
        if self.stopped() {
            report(&format!("stopped after {MAX_ERRORS} errors"));
        } else {
            self.search.finish()?;
        }
        self.dumps.finish()?;
        if !args.keep_going && !self.reasons.is_empty() {
            return Ok(Verdict::Bad);
        }
        if args.output.is_some() || args.assembly {
            let path = args.output.as_deref().unwrap_or(Path::new("-"));
            let object = self.object()?;
            let text = self.assembly.take().map(|assembly| assembly.finish(&object)).transpose().map_err(failed)?;
            output::write_whole(path, text.map_or(object, String::into_bytes).as_slice())?;
        }
        self.summary.compile_s += start.elapsed().as_secs_f64();
        if args.time {
            report(&self.summary.times());
            if self.cache.is_some() {
                let stats = &self.summary.stats;
                report(&format!("cache: {} of {} functions", stats.cache_hits, stats.functions));
            }
        }
        if let Some(format) = args.stats {
            let mut out = output::stdout();
            out.write_all(self.summary.render(format).as_bytes())?;
            out.flush()?;
        }
        if self.reasons.is_empty() {
            return Ok(Verdict::Good);
        }
        for (reason, count) in &self.reasons {
            let first = reason.lines().next().unwrap_or_default();
            report(&format!("left out {count}: {first}"));
        }
        Ok(Verdict::Bad)
    }
}
