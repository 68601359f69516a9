//! The ledger: a line for each row of the matrix, with the hash of everything that was proved and the counts of proofs.

use std::collections::BTreeMap;
use std::fmt::Write;

const HEAD: &str = "\
# The matrix: functions around each scalar opcode at each type, with every kind of operand, compiled for each machine with and without
# CPU features, with and without the optimizer, and proved from their bytes. A line is
# `MACHINE ROW HASH FUNCTIONS terms N search N solvers N`: the ways in which their distinct codes were proved. `solvers` are z3 and cvc5,
# each alone. `open`, `out-of-scope` and `refused` by the compiler count the other codes.
# `KINGPOST_BLESS=1 cargo test -p kingpost-validate matrix::` proves what changed, and writes the file.
";

/// Way in which a code was proved, or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Way {
    /// By normal forms of terms alone.
    Terms,
    /// By a search bit by bit.
    Search,
    /// By z3 and by cvc5, each alone.
    Solvers,
    /// By z3 alone; cvc5 does not decide it.
    Z3,
    /// By cvc5 alone; z3 does not decide it.
    Cvc5,
    /// Not, because the function is out of the validator's scope.
    Scope,
    /// Not, because the compiler refuses the function.
    Refused,
    /// Not.
    Open,
}

const WAYS: [(Way, &str); 8] = [
    (Way::Terms, "terms"),
    (Way::Search, "search"),
    (Way::Solvers, "solvers"),
    (Way::Z3, "z3"),
    (Way::Cvc5, "cvc5"),
    (Way::Scope, "out-of-scope"),
    (Way::Refused, "refused"),
    (Way::Open, "open"),
];

/// A row of the ledger.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Row {
    /// Hash of the functions, their code and its tables.
    pub(crate) hash: u64,
    /// Number of compiled functions, over all levels and sets of CPU features.
    pub(crate) functions: u32,
    /// Number of distinct codes by the way in which they were proved.
    pub(crate) ways: BTreeMap<Way, u32>,
}

impl Row {
    /// Returns `true` if there are open codes, and none that is proved.
    pub(crate) fn has_no_proof(&self) -> bool {
        let is_unproved = |way: &Way| matches!(way, Way::Open | Way::Refused | Way::Scope);
        self.ways.contains_key(&Way::Open) && self.ways.keys().all(is_unproved)
    }
}

/// The ledger.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Ledger {
    /// Hash of the sources that proved the rows.
    pub(crate) validator: u64,
    /// Rows by machine and name.
    pub(crate) rows: BTreeMap<(String, String), Row>,
}

impl Ledger {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{HEAD}validator {:016x}\n", self.validator);
        for ((machine, name), row) in &self.rows {
            let _ = write!(text, "{machine}\t{name}\t{:016x}\t{}\t", row.hash, row.functions);
            let counts = WAYS.iter().filter_map(|(way, word)| Some(format!("{word} {}", row.ways.get(way)?)));
            text.push_str(&counts.collect::<Vec<_>>().join(" "));
            text.push('\n');
        }
        text
    }

    /// Reads a ledger. Returns `None` if a line has another form.
    pub(crate) fn parse(text: &str) -> Option<Ledger> {
        let mut ledger = Ledger::default();
        let hash = |word: &str| u64::from_str_radix(word, 16).ok();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(version) = line.strip_prefix("validator ") {
                ledger.validator = hash(version)?;
                continue;
            }
            let [machine, name, code, functions, counts] = line.split('\t').collect::<Vec<_>>()[..] else {
                return None;
            };
            let mut row = Row { hash: hash(code)?, functions: functions.parse().ok()?, ..Row::default() };
            for pair in counts.split(' ').collect::<Vec<_>>().chunks(2) {
                let [word, count] = pair else { return None };
                let (way, _) = WAYS.iter().find(|(_, known)| known == word)?;
                row.ways.insert(*way, count.parse().ok()?);
            }
            ledger.rows.insert((machine.into(), name.into()), row);
        }
        Some(ledger)
    }
}

#[test]
fn ledgers_read_as_they_print() {
    let ways = BTreeMap::from([(Way::Terms, 3), (Way::Cvc5, 1), (Way::Refused, 2)]);
    let row = Row { hash: 0x1234, functions: 8, ways };
    let rows = BTreeMap::from([(("x86_64".into(), "iadd.i8<-i16".into()), row)]);
    let ledger = Ledger { validator: 7, rows };
    assert_eq!(Ledger::parse(&ledger.text()), Some(ledger));
}
