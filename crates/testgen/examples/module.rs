//! Prints a module of generated functions: `module COUNT` takes the programs of COUNT seeds, and a large function
//! for every tenth seed.

use kingpost_testgen::ir::generate_with_usual_types;
use kingpost_testgen::large::{self, Mix};

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [count] = &args[..] else { return Err("usage: module COUNT".to_string()) };
    let count: u64 = count.parse().map_err(|_| format!("'{count}' is no number"))?;
    for seed in 0..count {
        // All programs use equal names: a prefix and a number make them unique.
        let own_names = |text: &str| text.replace('%', &format!("%p{seed}_")).replace(" u1:", &format!(" u{seed}:"));
        generate_with_usual_types(seed).functions.iter().for_each(|f| println!("{}", own_names(&f.to_string())));
        if seed % 10 == 0 {
            let mix = if seed % 20 == 0 { Mix::Plain } else { Mix::Fixed };
            println!("{}", own_names(&large::function(mix, 200, seed)));
        }
    }
    Ok(())
}
