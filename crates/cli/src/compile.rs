//! `compile`: functions and data of files into one object.
//!
//! Functions are read in portions, and each portion is compiled before the next is read, so that a large file is never in
//! memory as a whole in the intermediate representation.

use crate::args::CompileArgs;
use crate::input::{self, Input};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::stats::Summary;
use crate::{output, target};
use kingpost_codegen::{Compiler, DumpSink, Options, Stage};
use kingpost_emit_object::ObjectOptions;
use kingpost_ir::Function;
use kingpost_mach::{DataObject, ModuleBuffer};
use kingpost_reader::{Error, Header, Parser};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bytes of text that are read before they are compiled: few enough that the functions are still in the cache then.
const PORTION: usize = 1 << 18;

pub(crate) fn compile(args: &CompileArgs) -> Outcome {
    let listing = args.disasm.then(Arc::<Listing>::default);
    let dump = listing.clone().map(|listing| listing as Arc<dyn DumpSink>);
    let observe =
        Options { time: args.time || args.stats.is_some(), count: args.stats.is_some(), dump, ..Options::default() };
    let compiler =
        target::compiler(&args.target, args.regalloc.as_deref(), args.verify_each)?.with_options(observe.clone());
    let jobs = match args.jobs {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        jobs => jobs,
    };
    let mut session = Session {
        args,
        compiler,
        observe,
        jobs,
        listing,
        functions: Vec::new(),
        module: ModuleBuffer::default(),
        data: Vec::new(),
        reasons: BTreeMap::new(),
        summary: Summary::default(),
    };
    for path in &args.files {
        session.file(&input::read(path)?)?;
        if session.stopped() {
            return Ok(Verdict::Bad);
        }
    }
    session.finish()
}

/// Everything compiled so far.
struct Session<'a> {
    args: &'a CompileArgs,
    /// For files without settings of their own.
    compiler: Compiler,
    observe: Options,
    jobs: usize,
    listing: Option<Arc<Listing>>,
    /// A portion; the memory of its functions is used again.
    functions: Vec<Function>,
    module: ModuleBuffer,
    data: Vec<DataObject>,
    /// How many functions were left out, by reason.
    reasons: BTreeMap<String, usize>,
    summary: Summary,
}

impl Session<'_> {
    /// Whether something is wrong and nothing more is to be done.
    fn stopped(&self) -> bool {
        !self.args.keep_going && !self.reasons.is_empty()
    }

    fn leave_out(&mut self, place: &str, reason: String) {
        output::complain(&format!("{place}: {reason}"));
        *self.reasons.entry(reason).or_default() += 1;
    }

    fn bad_text(&mut self, input: &Input, error: Error) {
        let reason = error.kind.to_string();
        output::complain(&error.in_file(&input.name).to_string());
        *self.reasons.entry(reason).or_default() += 1;
    }

    fn file(&mut self, input: &Input) -> Result<(), Stop> {
        let start = Instant::now();
        let parser = Parser::new(&input.text, kingpost_reader::Options::default());
        self.summary.parse_s += start.elapsed().as_secs_f64();
        let mut parser = match parser {
            Ok(parser) => parser,
            Err(error) => {
                self.bad_text(input, error);
                return Ok(());
            }
        };
        let own = match self.compiler_of(parser.header()) {
            Ok(own) => own,
            Err(reason) => {
                self.leave_out(&input.name, reason);
                return Ok(());
            }
        };
        loop {
            let start = Instant::now();
            let (count, more) = self.read_portion(input, &mut parser);
            self.summary.parse_s += start.elapsed().as_secs_f64();
            if self.stopped() {
                return Ok(());
            }
            self.compile_portion(input, own.as_ref(), count)?;
            if !more || self.stopped() {
                break;
            }
        }
        match parser.data() {
            Ok(objects) => match kingpost_filetest::data_objects(&objects) {
                Ok(objects) => self.data.extend(objects),
                Err(reason) => self.leave_out(&input.name, reason),
            },
            Err(error) => self.bad_text(input, error),
        }
        Ok(())
    }

    /// The compiler of a file with `set` or `target` lines. All files go into one object, so its architecture must be the
    /// object's.
    fn compiler_of(&self, header: &Header) -> Result<Option<Compiler>, String> {
        if header.settings.is_empty() && header.targets.is_empty() {
            return Ok(None);
        }
        let compiler =
            target::with_header(&self.args.target, self.args.regalloc.as_deref(), self.args.verify_each, header)?;
        if compiler.triple().architecture != self.compiler.triple().architecture {
            return Err(format!("the object is for {}, the file for {}", self.compiler.triple(), compiler.triple()));
        }
        Ok(Some(compiler.with_options(self.observe.clone())))
    }

    /// Reads functions into the front of the list. Gives their number and whether there are more.
    fn read_portion(&mut self, input: &Input, parser: &mut Parser) -> (usize, bool) {
        let start = parser.position();
        let mut count = 0;
        while parser.position() - start < PORTION {
            if self.functions.len() == count {
                self.functions.push(Function::default());
            }
            match parser.next_function(&mut self.functions[count]) {
                Ok(true) => count += 1,
                Ok(false) => return (count, false),
                Err(error) => {
                    self.bad_text(input, error);
                    if !self.args.keep_going || !parser.skip_to_next_function() {
                        return (count, false);
                    }
                }
            }
        }
        (count, true)
    }

    fn compile_portion(&mut self, input: &Input, own: Option<&Compiler>, count: usize) -> Result<(), Stop> {
        let start = Instant::now();
        let batch = own.unwrap_or(&self.compiler).compile_batch(&mut self.functions[..count], self.jobs);
        self.module.append(&batch.module);
        self.summary.stats += &batch.stats;
        self.summary.compile_s += start.elapsed().as_secs_f64();
        for (index, error) in batch.errors {
            let place = format!("{}: {}", input.name, self.functions[index].name);
            self.leave_out(&place, error.to_string());
        }
        let Some(listing) = &self.listing else { return Ok(()) };
        let mut texts = listing.take();
        let mut out = output::stdout();
        for func in &self.functions[..count] {
            let name = func.name.to_string();
            if let Some(text) = texts.get_mut(&name).and_then(Vec::pop) {
                writeln!(out, "{name}:\n{}\n", text.trim_end())?;
            }
        }
        Ok(out.flush()?)
    }

    /// Writes the object and what was asked for besides.
    fn finish(mut self) -> Outcome {
        let (args, start) = (self.args, Instant::now());
        if let Some(path) = &args.output {
            let unwind_info = self.compiler.settings().unwind_info;
            let mut options = ObjectOptions { unwind_info, trap_table: args.trap_table, ..ObjectOptions::default() };
            // Source locations are lines of the one file; of several, nobody could tell which.
            if let [file] = &args.files[..] {
                options.source = file.display().to_string();
            }
            let object = kingpost_emit_object::write(self.compiler.triple(), &self.module, &self.data, options);
            let object = object.map_err(|error| Stop::Failure(error.to_string()))?;
            output::write_whole(path, &object)?;
        }
        self.summary.compile_s += start.elapsed().as_secs_f64();
        if args.time {
            output::complain(&self.summary.times());
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
            output::complain(&format!("left out {count}: {first}"));
        }
        Ok(Verdict::Bad)
    }
}

/// The machine code of functions, by name. Names are unique, or there is no object.
#[derive(Default)]
struct Listing(Mutex<HashMap<String, Vec<String>>>);

impl Listing {
    fn take(&self) -> HashMap<String, Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DumpSink for Listing {
    fn wants(&self, stage: Stage, _name: &str) -> bool {
        stage == Stage::Emit
    }

    fn take(&self, _stage: Stage, name: &str, text: String) {
        let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.entry(name.to_string()).or_default().push(text);
    }
}
