//! Prints a function that is expensive for the optimizer: `worst_case NAME SIZE`; without arguments, the names.

use kingpost_testgen::worst_cases::CASES;

fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [] => CASES.iter().for_each(|(name, _)| println!("{name}")),
        [name, size] => {
            let case = CASES.iter().find(|(known, _)| known == name);
            let (_, make) = case.ok_or_else(|| format!("no case {name}"))?;
            print!("{}", make(size.parse().map_err(|_| format!("'{size}' is no number"))?));
        }
        _ => return Err("usage: worst_case [NAME SIZE]".to_string()),
    }
    Ok(())
}
