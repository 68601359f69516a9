//! Vector kernels: size and run time of their code compared with Cranelift's.
//!
//! `vectors/*.clif` are written like the output of a front end whose language has vectors. No load is shared, no
//! constant is hoisted by hand except to the code before the loop, and no instruction is chosen for a machine. All
//! compilers get the same text and CPU flags. The position of code affects its speed, so each version is placed
//! several times. All versions are linked into one program, `vectors/harness.c`, which compares their results and
//! runs them in turns on the same data. Bytes count the code and the constants that it loads.

use crate::{ours, upstream};
use anyhow::{Context, Result, anyhow, bail, ensure};
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::kingpost::CraneliftContext;
use kingpost_emit_object::{ObjectOptions, write};
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::{ModuleBuffer, SymbolName};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Contents of the input.
#[derive(Clone, Copy)]
enum Fill {
    Bytes,
    /// Bytes below 128, except for one near the end.
    Text,
    Single,
    Double,
}

struct Kernel {
    name: &'static str,
    text: &'static str,
    fill: Fill,
    /// Size of the input in bytes.
    bytes: usize,
}

macro_rules! kernels {
    ($($name:ident $fill:ident $bytes:literal;)*) => {
        &[$(Kernel {
            name: stringify!($name),
            text: include_str!(concat!("vectors/", stringify!($name), ".clif")),
            fill: Fill::$fill,
            bytes: $bytes,
        }),*]
    };
}

const KERNELS: &[Kernel] = kernels! {
    base64 Bytes 3072;
    blend Bytes 4096;
    bodies Double 4096;
    chacha Bytes 4096;
    clamp Bytes 4096;
    convert Bytes 4096;
    dot Bytes 4096;
    grey Bytes 4096;
    magnitude Single 4096;
    mandelbrot Single 1024;
    matrix Single 4096;
    memchr Text 16384;
    popcount Bytes 4096;
    prefix Bytes 4096;
    sad Bytes 4096;
    saxpy Single 4096;
    schedule Bytes 4096;
    transpose Bytes 4096;
};

/// Names with CPU flags, in the names of both sides.
const CPUS: &[(&str, &[&str])] = &[("sse2", &[]), ("sse41", &["sse41"]), ("avx2", &["haswell"])];

const X64: &str = "x86_64-unknown-linux-gnu";
const A64: &str = "aarch64-unknown-linux-gnu";

/// Number of batches of rounds in the harness.
const BATCHES: usize = 5;

/// Number of places for each version's code.
const COPIES: usize = 3;

/// Compilers by column. The first column is the baseline.
const COLUMNS: &[&str] = &["cranelift", "ssa", "linear", "backtracking"];

/// Prints a table for each CPU and optimization level.
///
/// # Errors
/// If a kernel does not compile, results differ, or a tool is missing.
pub(crate) fn report(cpus: &[String], levels: &[String], keep: Option<&Path>) -> Result<()> {
    for name in cpus {
        let &(cpu, flags) = CPUS.iter().find(|(cpu, _)| cpu == name).ok_or_else(|| {
            let known: Vec<&str> = CPUS.iter().map(|&(cpu, _)| cpu).collect();
            anyhow!("no CPU `{name}`: {}", known.join(", "))
        })?;
        for level in levels {
            let folder = keep.map_or_else(std::env::temp_dir, Path::to_path_buf);
            let folder = folder.join(format!("vectors-{cpu}-{level}"));
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let table = table(flags, level, &folder);
            if keep.is_none() {
                std::fs::remove_dir_all(&folder)?;
            }
            println!("{cpu}, opt_level={level}");
            table?.print();
        }
    }
    for level in levels {
        println!("aarch64, opt_level={level}");
        bytes_table(A64, &[], level)?.print();
    }
    Ok(())
}

/// Results of a kernel, one column per compiler.
struct Row {
    name: &'static str,
    bytes: Vec<usize>,
    /// Least cycles of each batch of rounds; empty if the code was not run.
    cycles: Vec<Vec<f64>>,
}

struct Table {
    rows: Vec<Row>,
    /// Kernels for which Cranelift calls a routine.
    left_out: Vec<&'static str>,
}

/// Cranelift with its default allocator.
struct Cranelift {
    isa: OwnedTargetIsa,
    context: CraneliftContext,
}

impl Cranelift {
    fn new(triple: &str, flags: &[&str], level: &str) -> Result<Cranelift> {
        let isa = upstream::isa(triple, flags, &[("opt_level", level), ("log2_min_function_alignment", "6")])?;
        Ok(Cranelift { isa, context: CraneliftContext::new() })
    }

    /// Returns the code, followed by its constants; `None` if the code calls a routine.
    fn compile(&mut self, kernel: &Kernel) -> Result<Option<Vec<u8>>> {
        let mut functions = cranelift_reader::parse_functions(kernel.text)?;
        self.context.clear();
        self.context.func = functions.remove(0);
        let compiled = self.context.compile(&*self.isa, &mut ControlPlane::default());
        let code = compiled.map_err(|error| anyhow!("cranelift, {}: {:?}", kernel.name, error.inner))?;
        Ok(code.buffer.relocs().is_empty().then(|| code.code_buffer().to_vec()))
    }
}

/// One of our allocators.
struct Kingpost {
    compiler: kingpost_codegen::Compiler,
    context: kingpost_codegen::Context,
}

impl Kingpost {
    fn new(triple: &str, flags: &[&str], level: &str, allocator: &str) -> Result<Kingpost> {
        let settings = [("opt_level", level), ("log2_min_function_alignment", "6"), ("regalloc_algorithm", allocator)];
        let compiler = ours::compiler(triple, flags, &settings)?;
        let context = compiler.context();
        Ok(Kingpost { compiler, context })
    }

    /// Returns a module with the kernel under another name, and the bytes of its code and constants.
    fn compile(&mut self, kernel: &Kernel, name: String) -> Result<(ModuleBuffer, usize)> {
        let functions = kingpost_reader::parse_functions(kernel.text);
        let mut function = functions.map_err(|error| anyhow!("{}: {error}", kernel.name))?.remove(0);
        function.name = FuncName::Named(name);
        let mut module = ModuleBuffer::default();
        let compiled = self.compiler.compile(&mut self.context, &mut function, &mut module);
        compiled.map_err(|error| anyhow!("{}: {error}", kernel.name))?;
        let constants = module.function(0).symbols.iter().map(|symbol| match symbol {
            SymbolName::Literal(literal) => literal.bytes().len(),
            _ => 0,
        });
        let bytes = module.code_bytes() + constants.sum::<usize>();
        Ok((module, bytes))
    }
}

/// Returns a table with sizes only.
fn bytes_table(triple: &str, flags: &[&str], level: &str) -> Result<Table> {
    let mut rival = Cranelift::new(triple, flags, level)?;
    let mut table = Table { rows: Vec::new(), left_out: Vec::new() };
    for kernel in KERNELS {
        let Some(code) = rival.compile(kernel)? else {
            table.left_out.push(kernel.name);
            continue;
        };
        let mut bytes = vec![code.len()];
        for &allocator in &COLUMNS[1..] {
            let mut compiler = Kingpost::new(triple, flags, level, allocator)?;
            bytes.push(compiler.compile(kernel, kernel.name.into())?.1);
        }
        table.rows.push(Row { name: kernel.name, bytes, cycles: Vec::new() });
    }
    Ok(table)
}

/// Returns a table with sizes and with cycles on this machine.
fn table(flags: &[&str], level: &str, folder: &Path) -> Result<Table> {
    let mut table = bytes_table(X64, flags, level)?;
    let mut rival = Cranelift::new(X64, flags, level)?;
    let mut assembly = String::from(".section .note.GNU-stack,\"\",@progbits\n.text\n");
    let mut modules = Vec::new();
    for &allocator in &COLUMNS[1..] {
        modules.push((Kingpost::new(X64, flags, level, allocator)?, ModuleBuffer::default()));
    }
    let (mut declarations, mut cases) = (String::new(), String::new());
    let measured = || KERNELS.iter().filter(|kernel| table.rows.iter().any(|row| row.name == kernel.name));
    let symbol = |kernel: &Kernel, column: usize, copy: usize| format!("{}_{column}_{copy}", kernel.name);
    for (copy, kernel) in (0..COPIES).flat_map(|copy| measured().map(move |kernel| (copy, kernel))) {
        let code = rival.compile(kernel)?.context("it was compiled before")?;
        let bytes: Vec<String> = code.iter().map(ToString::to_string).collect();
        let name = symbol(kernel, 0, copy);
        writeln!(assembly, ".globl {name}\n.p2align 6\n{name}:\n.byte {}", bytes.join(","))?;
        for (column, (compiler, module)) in (1..).zip(&mut modules) {
            module.append(&compiler.compile(kernel, symbol(kernel, column, copy))?.0);
        }
    }
    for kernel in measured() {
        let columns = (0..COLUMNS.len()).flat_map(|column| (0..COPIES).map(move |copy| (column, copy)));
        let versions: Vec<String> = columns.map(|(column, copy)| symbol(kernel, column, copy)).collect();
        let versions = versions.join(", ");
        let fill = match kernel.fill {
            Fill::Bytes => "BYTES",
            Fill::Text => "WORDS_OF_TEXT",
            Fill::Single => "SINGLE",
            Fill::Double => "DOUBLE",
        };
        writeln!(declarations, "extern Kernel {versions};")?;
        writeln!(cases, "    {{\"{}\", {fill}, {}, {{{versions}}}}},", kernel.name, kernel.bytes)?;
    }
    let header = format!(
        "enum {{ VERSIONS = {} }};\n{declarations}static const struct Case kernels[] = {{\n{cases}    {{0}},\n}};\n",
        COLUMNS.len() * COPIES
    );
    std::fs::write(folder.join("kernels.h"), header)?;
    std::fs::write(folder.join("harness.c"), include_str!("vectors/harness.c"))?;
    std::fs::write(folder.join("cranelift.s"), assembly)?;
    let mut inputs = vec!["harness.c".to_string(), "cranelift.s".into()];
    for (allocator, (compiler, module)) in COLUMNS[1..].iter().zip(&modules) {
        let object = write(compiler.compiler.triple(), module, &[], ObjectOptions::default())?;
        inputs.push(format!("{allocator}.o"));
        std::fs::write(folder.join(format!("{allocator}.o")), object)?;
    }
    let built = Command::new("cc").current_dir(folder).args(["-O1", "-o", "harness"]).args(inputs).status();
    ensure!(built.context("cannot start cc")?.success(), "cc fails");
    let output = Command::new(folder.join("harness")).output().context("cannot start the harness")?;
    let text = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "the harness fails: {text}");
    for (row, line) in table.rows.iter_mut().zip(text.lines()) {
        let numbers: Result<Vec<f64>, _> = line.split(' ').skip(1).map(str::parse).collect();
        row.cycles = numbers?.chunks(COPIES * BATCHES).map(best_of_copies).collect();
        if row.cycles.len() != COLUMNS.len() {
            bail!("the harness prints something else: {line}");
        }
    }
    Ok(table)
}

/// Returns the least cycles of all copies for each batch.
fn best_of_copies(cycles: &[f64]) -> Vec<f64> {
    (0..BATCHES).map(|batch| cycles.iter().skip(batch).step_by(BATCHES).copied().fold(f64::MAX, f64::min)).collect()
}

fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::MAX, f64::min)
}

impl Row {
    fn bytes_ratio(&self, column: usize) -> f64 {
        self.bytes[column] as f64 / self.bytes[0] as f64
    }

    fn cycles_ratio(&self, column: usize) -> f64 {
        least(&self.cycles[column]) / least(&self.cycles[0])
    }

    /// Returns the least and the greatest ratio of a batch of rounds.
    fn spread(&self, column: usize) -> (f64, f64) {
        let batches = self.cycles[column].iter().zip(&self.cycles[0]).map(|(ours, theirs)| ours / theirs);
        batches.fold((f64::MAX, 0.0), |(low, high), ratio| (low.min(ratio), high.max(ratio)))
    }
}

impl Table {
    fn print(&self) {
        println!(
            "  {:12} {:>9} {:>6} {:>6}  {:>9} {:>6} {:>6}  spread",
            "kernel", "cranelift", "ssa", "bytes", "cranelift", "ssa", "cycles"
        );
        for row in &self.rows {
            print!("  {:12} {:>9} {:>6} {:>6.2}", row.name, row.bytes[0], row.bytes[1], row.bytes_ratio(1));
            if !row.cycles.is_empty() {
                let (low, high) = row.spread(1);
                let (theirs, ours) = (least(&row.cycles[0]), least(&row.cycles[1]));
                print!("  {theirs:>9} {ours:>6} {:>6.2}  {low:.2}-{high:.2}", row.cycles_ratio(1));
            }
            println!();
        }
        for (column, name) in COLUMNS.iter().enumerate().skip(1) {
            print!("  {name:12} bytes: {}", self.summary(|row| row.bytes_ratio(column)));
            if self.rows.iter().all(|row| !row.cycles.is_empty()) {
                print!("; cycles: {}", self.summary(|row| row.cycles_ratio(column)));
            }
            println!();
        }
        if !self.left_out.is_empty() {
            println!("  left out, since Cranelift calls a routine: {}", self.left_out.join(", "));
        }
    }

    /// Returns the geometric mean of a ratio, and the worst one.
    fn summary(&self, ratio: impl Fn(&Row) -> f64) -> String {
        let mean = (self.rows.iter().map(|row| ratio(row).ln()).sum::<f64>() / self.rows.len() as f64).exp();
        let worst = self.rows.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        worst.map_or_else(String::new, |worst| {
            format!("geometric mean {mean:.3}, worst {:.2} ({})", ratio(worst), worst.name)
        })
    }
}
