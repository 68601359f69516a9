//! Symbols that relocations name: their addresses, the words that hold addresses, and literals.

use crate::clif;
use crate::input::{Code, RelocationKind, Symbol};
use kingpost_smt::{Sort, Term, Terms};

/// Returns the address of a symbol.
pub(crate) fn address_of(terms: &mut Terms, symbol: &Symbol) -> Term {
    match symbol {
        Symbol::Named(name) => clif::symbol(terms, name),
        Symbol::Literal(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            terms.var(&format!("&literal {digits}"), Sort::Bits(64))
        }
    }
}

/// Returns the address of the word that holds a symbol's address.
pub(crate) fn pointer_to(terms: &mut Terms, symbol: &Symbol) -> Term {
    let address = address_of(terms, symbol);
    let name = format!("&pointer {}", terms.name(address).unwrap_or_default());
    terms.var(&name, Sort::Bits(64))
}

/// Words with addresses of symbols, and literals with their bytes.
type Constants = (Vec<(Term, Term)>, Vec<(Term, Vec<u8>)>);

/// Returns the words with addresses of symbols, and the literals, that relocations name.
pub(crate) fn symbols(terms: &mut Terms, code: &Code<'_>) -> Constants {
    let (mut pointers, mut literals) = (Vec::new(), Vec::new());
    for relocation in &code.relocations {
        if matches!(relocation.kind, RelocationKind::Pointer | RelocationKind::PointerDistance) {
            let pair = (pointer_to(terms, &relocation.symbol), address_of(terms, &relocation.symbol));
            if !pointers.contains(&pair) {
                pointers.push(pair);
            }
        }
        if let Symbol::Literal(bytes) = &relocation.symbol {
            let pair = (address_of(terms, &relocation.symbol), bytes.clone());
            if !literals.contains(&pair) {
                literals.push(pair);
            }
        }
    }
    (pointers, literals)
}
