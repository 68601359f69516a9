//! The command line of `kingpost_bench`.

fn main() -> anyhow::Result<()> {
    kingpost_bench::run()
}
