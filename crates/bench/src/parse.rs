//! The parsing alone: several ways to parse a whole file, in turns.

use anyhow::{Result, anyhow};
use cpu_time::ThreadTime;
use kingpost_reader::{Options, Parser};

/// Parses a text and returns the time in seconds, without the time to free the result.
type Reader = fn(&str) -> Result<f64>;

/// All ways to parse a file. The first one is upstream's, which is the baseline of the comparison.
const READERS: [(&str, Reader); 5] = [
    ("cranelift parse_functions", cranelift_functions),
    ("cranelift parse_test", cranelift_test),
    ("kingpost parse_functions", kingpost_functions),
    ("kingpost parse_test", kingpost_test),
    ("kingpost Parser, one function at a time", kingpost_stream),
];

const ROUNDS: usize = 5;

fn timed<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<f64> {
    let start = ThreadTime::now();
    let outcome = read();
    let seconds = start.elapsed().as_secs_f64();
    outcome.map_err(|error| anyhow!("{error}"))?;
    Ok(seconds)
}

fn cranelift_functions(text: &str) -> Result<f64> {
    timed(|| cranelift_reader::parse_functions(text))
}

fn cranelift_test(text: &str) -> Result<f64> {
    timed(|| cranelift_reader::parse_test(text, cranelift_reader::ParseOptions::default()))
}

fn kingpost_functions(text: &str) -> Result<f64> {
    timed(|| kingpost_reader::parse_functions(text))
}

fn kingpost_test(text: &str) -> Result<f64> {
    timed(|| kingpost_reader::parse_test(text, Options::default()))
}

fn kingpost_stream(text: &str) -> Result<f64> {
    timed(|| {
        let mut parser = Parser::new(text.as_bytes(), Options::default())?;
        let mut func = kingpost_ir::Function::default();
        while parser.next_function(&mut func)? {}
        Ok::<_, kingpost_reader::Error>(())
    })
}

/// Prints megabytes per second, from the best of several rounds in which the readers take turns.
pub fn report(file: &str, text: &str) -> Result<()> {
    let mut best = [f64::MAX; READERS.len()];
    for _ in 0..ROUNDS {
        for ((_, reader), best) in READERS.iter().zip(&mut best) {
            *best = best.min(reader(text)?);
        }
    }
    println!("{file}");
    for ((name, _), seconds) in READERS.iter().zip(best) {
        let speed = text.len() as f64 / 1e6 / seconds;
        println!("  {name:40} {speed:8.1} MB/s {:8.2}x {:8.2}x", best[0] / seconds, best[1] / seconds);
    }
    Ok(())
}
