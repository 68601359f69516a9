//! The matrix: each opcode at each type, compiled for every target and interpreted. Rejected cases are listed in
//! `filetests/matrix/refused.txt`, under their reason; the list must match the rejections exactly. The module
//! `opcode_cases` of the crate `testgen` generates the functions.
//!
//! `make matrix` updates the list: cases that are no longer rejected are removed, newly rejected cases are appended
//! under [`list::UNEXPLAINED`], from where they are moved by hand under a reason.
//!
//! | file | holds |
//! |---|---|
//! | `places.rs` | the compilers and the interpreter, and the functions that they reject |
//! | `list.rs` | the list as text |
//! | `features.rs` | signatures, calls and annotations, and their list |

mod features;
mod list;
mod places;

use kingpost_testgen::opcode_cases;
use list::List;
use std::path::Path;

#[test]
fn what_is_refused_is_listed() {
    let cases = opcode_cases::all();
    let refused = places::refusals(&cases);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../filetests/matrix/refused.txt");
    let text = std::fs::read_to_string(&path).expect("the list");
    let listed = List::parse(&text, &cases).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let current = listed.updated(&refused);
    if std::env::var_os("KINGPOST_BLESS").is_some_and(|value| value != "0") {
        std::fs::write(&path, current.text(&cases)).expect("writable");
        return;
    }
    let differences = listed.differences(&current, &cases);
    assert!(differences.is_empty(), "{}\n`make matrix` updates filetests/matrix/refused.txt", differences.join("\n"));
    assert!(text == current.text(&cases), "the list is not in its order; `make matrix` puts it right");
}

#[test]
fn the_list_reads_as_it_prints() {
    let cases = opcode_cases::all();
    let mut list = List::default();
    // Every third case, in two places, one of which has all of it.
    for k in (0..cases.len()).step_by(3) {
        list.add(if k % 2 == 0 { "Even." } else { "Odd.\nIn two lines." }, k, k % 7 + 1);
    }
    let text = list.text(&cases);
    let read = List::parse(&text, &cases).unwrap();
    assert!(read.text(&cases) == text && read.differences(&list, &cases).is_empty());
}
