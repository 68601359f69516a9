//! One register allocator on one case, with its bytes counted: `kingpost-bench-peak CASE NAME...`, for
//! `kingpost-bench regalloc` to call.

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
