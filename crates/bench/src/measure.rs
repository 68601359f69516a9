//! Measurement of compilers that take turns.

use anyhow::Result;
use cpu_time::ThreadTime;

/// A compiler with the functions of one file.
pub trait Compiler {
    /// Returns its name and allocator.
    fn name(&self) -> &str;
    /// Reads a file's functions.
    fn load(&mut self, text: &str) -> Result<()>;
    /// Returns the number of functions.
    fn len(&self) -> usize;
    /// Copies a function for the next [`Compiler::compile`]. Not timed.
    fn prepare(&mut self, index: usize);
    /// Prepares a function for the last time, like [`Compiler::prepare`]. May move the function instead of copying
    /// it.
    fn take(&mut self, index: usize) {
        self.prepare(index);
    }
    /// Compiles a function and returns its code size, or `None` if it is refused.
    fn compile(&mut self, index: usize) -> Option<usize>;
}

/// Result of one compiler.
#[derive(Clone, Debug)]
pub struct Row {
    /// The compiler.
    pub name: String,
    /// Number of functions that all compilers accepted.
    pub functions: usize,
    /// Number of functions that this compiler refused.
    pub refused: usize,
    /// CPU seconds: the sum over blocks of functions of the least time of all rounds.
    pub seconds: f64,
    /// CPU seconds of each round.
    pub rounds: Vec<f64>,
    /// Bytes of code.
    pub code_bytes: usize,
}

impl Row {
    /// Adds another file's row.
    pub fn add(&mut self, other: &Row) {
        self.functions += other.functions;
        self.refused += other.refused;
        self.seconds += other.seconds;
        self.rounds.iter_mut().zip(&other.rounds).for_each(|(sum, seconds)| *sum += seconds);
        self.code_bytes += other.code_bytes;
    }
}

/// Number of functions in a block. Compilers take turns after each block, which takes milliseconds.
const BLOCK: usize = 32;

/// Returns the CPU seconds that a measurement itself takes, which is about as long as compiling a tiny function. It
/// is the least of many measurements, so that subtracting it never removes too much.
fn cost_of_clock() -> f64 {
    (0..10_000).map(|_| ThreadTime::now().elapsed().as_secs_f64()).fold(f64::MAX, f64::min)
}

/// Measures all compilers on all functions of `text` that none of them refuses.
pub fn measure(compilers: &mut [Box<dyn Compiler>], text: &str, rounds: usize) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut taken: Vec<bool> = Vec::new();
    for compiler in compilers.iter_mut() {
        compiler.load(text)?;
        taken.resize(compiler.len(), true);
        let mut row = Row {
            name: compiler.name().into(),
            functions: 0,
            refused: 0,
            seconds: 0.0,
            rounds: vec![0.0; rounds],
            code_bytes: 0,
        };
        for (index, taken) in taken.iter_mut().enumerate() {
            compiler.prepare(index);
            if compiler.compile(index).is_none() {
                row.refused += 1;
                *taken = false;
            }
        }
        rows.push(row);
    }
    let indices: Vec<usize> = (0..taken.len()).filter(|&i| taken[i]).collect();
    let cost_of_clock = cost_of_clock();
    for block in indices.chunks(BLOCK) {
        let mut best = vec![f64::MAX; compilers.len()];
        for round in 0..rounds {
            for (c, compiler) in compilers.iter_mut().enumerate() {
                let mut seconds = 0.0;
                for &index in block {
                    compiler.prepare(index);
                    let start = ThreadTime::now();
                    let size = compiler.compile(index).unwrap_or(0);
                    seconds += start.elapsed().as_secs_f64() - cost_of_clock;
                    if round == 0 {
                        rows[c].code_bytes += size;
                        rows[c].functions += 1;
                    }
                }
                rows[c].rounds[round] += seconds;
                best[c] = best[c].min(seconds);
            }
        }
        rows.iter_mut().zip(best).for_each(|(row, seconds)| row.seconds += seconds);
    }
    Ok(rows)
}

/// Returns the geometric mean, or NaN if there are no ratios.
pub(crate) fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    f64::exp(sum / count)
}
