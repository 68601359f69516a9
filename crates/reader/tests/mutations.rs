//! Checks that mutants of valid texts end in success or in a clean error, and that every function that is read
//! prints as a text that reads as an equal function. `make fuzz` calls these functions for longer.

use kingpost_reader::read_in_every_way;
use kingpost_testgen::text::readers;

#[test]
fn mutants_of_our_parser_tests() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../filetests/parser");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of parser tests")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let texts: Vec<Vec<u8>> = paths.into_iter().map(|path| std::fs::read(path).expect("a text")).collect();
    let seeds = std::env::var("MUTANTS").map_or(3000, |count| count.parse().expect("a number"));
    let read = |text: &[u8]| read_in_every_way(text).map_err(|failure| failure.to_string());
    match readers(&texts, 0..seeds, &read) {
        Ok(report) => println!("{report}"),
        Err(failure) => panic!("{failure}"),
    }
}
