//! The command line of `kingpost_bench`, which says what there is.

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    kingpost_bench::run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}
