//! The matrix: functions around every scalar opcode at every type, with each kind of operand, and the patterns of each
//! tile. They are compiled for both machines, without and with CPU features, without and with the optimizer, or with some
//! settings, and proved from their bytes. `ledger.tsv` has a line for each opcode and type.
//!
//! A row whose functions, code and tables have the hash of the ledger was proved before, and is not proved again. Without
//! a variable, the test proves rows that differ from the ledger, and fails. `KINGPOST_EVERY` proves again, without
//! solvers, all rows but rows without any proof in the ledger; with `KINGPOST_BLESS=1` it writes the ledger then, where
//! such rows stay open. `KINGPOST_BLESS=1` alone proves rows that changed or are open, with solvers, and writes the ledger;
//! if the sources of the validator changed, it proves all, which takes hours. `KINGPOST_ONLY=iadd,icmp.i8` takes the rows of opcodes or with
//! these names, and writes no ledger if the sources of the validator changed.
//!
//! | file | holds |
//! |---|---|
//! | `rows.rs` | the rows and their functions |
//! | `patterns.clif`, `places.clif` | functions that no operand of one instruction has: each found a mutant of lowering |
//! | `settings.clif` | functions that are compiled with each of the settings |
//! | `forms.rs` | the kinds of operands |
//! | `machines.rs` | the compilers |
//! | `judge.rs` | the proof of one code |
//! | `run.rs` | compilation and proof of rows |
//! | `ledger.rs` | the ledger as text |
//! | `version.rs` | the version of the validator |

mod forms;
mod judge;
mod ledger;
mod machines;
mod rows;
mod run;
mod version;

use ledger::{Ledger, Row, Way};
use rows::Functions;
use std::collections::BTreeMap;
use std::path::Path;

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| value != "0")
}

#[test]
fn rows_are_proved() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ledger.tsv");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let ledger = Ledger::parse(&text).unwrap_or_else(|| panic!("{} has another form", path.display()));
    let (blesses, proves_all) = (is_set("KINGPOST_BLESS"), is_set("KINGPOST_EVERY"));
    let version = version::of_validator();
    let is_same_validator = version == ledger.validator;
    let only = std::env::var("KINGPOST_ONLY").unwrap_or_default();
    if let Some(refusal) = refusal(blesses, &only, is_same_validator) {
        panic!("{refusal}");
    }
    let mut known = ledger.clone();
    if proves_all {
        known.rows.retain(|_, row| row.has_no_proof());
    } else if blesses && !is_same_validator {
        known.rows.clear();
    } else if blesses {
        known.rows.retain(|_, row| !row.ways.contains_key(&Way::Open));
    }
    let outcome = run::run(&known, &jobs(&only), !proves_all);
    for (machine, name, remarks) in &outcome.remarks {
        remarks.iter().for_each(|remark| println!("{machine} {name}: {remark}"));
    }
    let current = outcome.ledger.rows;
    if blesses {
        // Rows that another validator proved are dropped.
        let mut rows = if is_same_validator { ledger.rows } else { BTreeMap::new() };
        if only.is_empty() {
            rows.clear();
        }
        rows.extend(current);
        std::fs::write(&path, Ledger { validator: version, rows }.text()).expect("writable");
        return;
    }
    let wrong = current.iter().filter(|(key, row)| !ledger.rows.get(key).is_some_and(|listed| is_as_good(row, listed)));
    let mut wrong: Vec<String> =
        wrong.map(|((machine, name), _)| format!("{machine} {name}: not as in the ledger")).collect();
    if only.is_empty() {
        let gone = ledger.rows.keys().filter(|key| !current.contains_key(key));
        wrong.extend(gone.map(|(machine, name)| format!("{machine} {name}: in the ledger alone")));
    }
    assert!(wrong.is_empty(), "{}\nKINGPOST_BLESS=1 proves them and writes the ledger", wrong.join("\n"));
}

/// Returns the reason for which a ledger of some rows is not written: another validator proved the others.
fn refusal(blesses: bool, only: &str, is_same_validator: bool) -> Option<&'static str> {
    (blesses && !only.is_empty() && !is_same_validator).then_some(
        "the sources of the validator changed, so a ledger of KINGPOST_ONLY would lack all other rows; \
         `make ledger` proves all rows and writes it, and KINGPOST_ONLY without KINGPOST_BLESS only proves these",
    )
}

#[test]
fn ledgers_of_another_validator_are_written_whole() {
    assert!(refusal(true, "iadd", false).is_some());
    for (blesses, only, is_same_validator) in [(true, "iadd", true), (true, "", false), (false, "iadd", false)] {
        assert_eq!(refusal(blesses, only, is_same_validator), None);
    }
}

/// Returns the rows of both machines whose opcode or name is in a list, or all if it is empty.
fn jobs(only: &str) -> Vec<(&'static str, Functions)> {
    let is_wanted = |row: &Functions| {
        only.is_empty() || only.split(',').any(|word| row.name == word || row.name.split('.').next() == Some(word))
    };
    let rows = |machine| rows::of_machine(machine).into_iter().map(move |row| (machine, row));
    machines::MACHINES.into_iter().flat_map(rows).filter(|(_, row)| is_wanted(row)).collect()
}

/// Returns `true` if a row has the code of the listed one, and no more functions without a proof by terms.
fn is_as_good(row: &Row, listed: &Row) -> bool {
    let count = |row: &Row, ways: &[Way]| ways.iter().filter_map(|way| row.ways.get(way)).sum::<u32>();
    let without_terms: &[Way] = &[Way::Solvers, Way::Z3, Way::Cvc5, Way::Open];
    let is_no_worse =
        [without_terms, &[Way::Scope], &[Way::Refused]].into_iter().all(|ways| count(row, ways) <= count(listed, ways));
    row.hash == listed.hash && row.functions == listed.functions && is_no_worse
}
