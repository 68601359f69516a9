//! Runs one register allocator on one case and counts its bytes: `kingpost-bench-peak CASE NAME...`.
//! `kingpost-bench regalloc` calls it.

use kingpost_bench::regalloc::probe::{Meter, run};
use peak_alloc::PeakAlloc;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let reset = || {
        PEAK.reset_peak_usage();
        PEAK.current_usage()
    };
    run(&args, &Meter { reset, peak: || PEAK.peak_usage() })
}
