//! Prints the work units that compilation takes for each CLIF instruction, for x86-64, as one row for each allocator and
//! optimization level: of the functions in CLIF files, and of the shapes that are as expensive as possible:
//!
//! ```text
//! cargo run -p kingpost-codegen --example work_units crates/bench/kernels/*.clif
//! ```

use kingpost_codegen::{ALLOCATORS, Compiler, OptLevel, Settings};
use kingpost_ir::Function;
use kingpost_testgen::worst_cases::CASES;
use target_lexicon::triple;

/// Number of instructions of a shape.
const SIZE: usize = 5_000;

/// Returns the work units for each instruction of `functions` together.
fn units(compiler: &Compiler, functions: &[Function]) -> Result<f64, String> {
    let batch = compiler.compile_batch(&mut functions.to_vec(), 1);
    match batch.errors.first() {
        Some((_, error)) => Err(error.to_string()),
        None => Ok(batch.stats.work as f64 / batch.stats.clif_insts as f64),
    }
}

fn main() -> Result<(), String> {
    let mut files = Vec::new();
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        files.push(kingpost_reader::parse_functions(&text).map_err(|error| format!("{file}: {error}"))?);
    }
    let all = files.concat();
    let mut shapes = Vec::new();
    for (name, make) in CASES {
        shapes.push((name, kingpost_reader::parse_functions(make(SIZE)).map_err(|error| format!("{name}: {error}"))?));
    }
    println!("| allocator | `opt_level` | all files | greatest file | greatest shape |");
    println!("|---|---|---:|---:|---:|");
    for (allocator, opt_level) in
        ALLOCATORS.iter().flat_map(|&(name, _)| [OptLevel::None, OptLevel::Speed].map(|level| (name, level)))
    {
        let settings = Settings::default().with(|settings| {
            settings.regalloc_algorithm = allocator.into();
            settings.opt_level = opt_level;
        });
        let compiler = Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]);
        let compiler = compiler.map_err(|error| error.to_string())?;
        let mut row = format!("| `{allocator}` | `{opt_level}` |");
        if files.is_empty() {
            row += " | |";
        } else {
            let mut greatest = 0.0;
            for functions in &files {
                greatest = f64::max(greatest, units(&compiler, functions)?);
            }
            row += &format!(" {:.1} | {greatest:.1} |", units(&compiler, &all)?);
        }
        let (mut greatest, mut shape) = (0.0, "");
        for (name, functions) in &shapes {
            let units = units(&compiler, functions)?;
            if units > greatest {
                (greatest, shape) = (units, name);
            }
        }
        println!("{row} {greatest:.0} `{shape}` |");
    }
    Ok(())
}
