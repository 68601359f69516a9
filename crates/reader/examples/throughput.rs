//! Prints the throughput of reading files, in bytes per second:
//! `cargo run --release -p kingpost-reader --example throughput FILE...`. Functions are read one by one into reused
//! memory, as compilers do.

use kingpost_ir::Function;
use kingpost_reader::{Options, Parser};
use std::time::Instant;

fn main() {
    let mut func = Function::default();
    let (mut bytes, mut seconds, mut failed) = (0, 0.0, false);
    for file in std::env::args().skip(1) {
        let text = match std::fs::read(&file) {
            Ok(text) => text,
            Err(error) => {
                println!("{file}: {error}");
                failed = true;
                continue;
            }
        };
        let start = Instant::now();
        let (mut functions, mut insts) = (0, 0);
        let outcome = Parser::new(&text, Options::default()).and_then(|mut parser| {
            while parser.next_function(&mut func)? {
                functions += 1;
                insts += func.dfg.num_insts();
            }
            Ok(())
        });
        let elapsed = start.elapsed().as_secs_f64();
        if let Err(error) = outcome {
            println!("{}", error.in_file(&file));
            failed = true;
        }
        let rate = text.len() as f64 / elapsed / 1e6;
        println!("{rate:7.1} MB/s  {functions:6} functions  {insts:8} instructions  {file}");
        bytes += text.len();
        seconds += elapsed;
    }
    println!("{:7.1} MB/s in total", bytes as f64 / seconds / 1e6);
    std::process::exit(i32::from(failed));
}
