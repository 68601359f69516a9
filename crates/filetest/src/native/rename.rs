//! Names for the linker that no library uses.
//!
//! A test may call its functions `%trunc` or `%memcpy`. In an object these would replace the library routines that
//! compiled code calls, so that all definitions of a file get a suffix.

use std::collections::HashSet;

use kingpost_ir::Function;
use kingpost_ir::extfunc::{ExternalName, FuncName};
use kingpost_ir::preamble::GlobalValueData;
use kingpost_mach::{DataObject, SymbolName};
use kingpost_reader::TestFile;

const SUFFIX: &str = "__test";

/// The words by which a file names functions and data objects.
pub(crate) struct Renames<'a> {
    words: HashSet<&'a str>,
}

impl<'a> Renames<'a> {
    pub(crate) fn new(file: &'a TestFile) -> Renames<'a> {
        let functions = file.functions.iter().map(|test| &test.function.name);
        let names = functions.chain(file.data.iter().map(|object| &object.name));
        let words = names.filter_map(|name| match name {
            FuncName::Named(word) => Some(word.as_str()),
            FuncName::User(..) => None,
        });
        Renames { words: words.collect() }
    }

    fn word(&self, word: &str) -> Option<String> {
        self.words.contains(word).then(|| format!("{word}{SUFFIX}"))
    }

    fn external(&self, name: &mut ExternalName) {
        if let ExternalName::Named(word) = name
            && let Some(renamed) = self.word(word)
        {
            *word = renamed.into();
        }
    }

    fn symbol(&self, name: &mut SymbolName) {
        if let SymbolName::Named(word) = name
            && let Some(renamed) = self.word(word)
        {
            *word = renamed.into();
        }
    }

    /// Returns a copy of a function with its own name and all names from the file renamed.
    pub(crate) fn function(&self, function: &Function) -> Function {
        let mut function = function.clone();
        if let FuncName::Named(word) = &mut function.name
            && let Some(renamed) = self.word(word)
        {
            *word = renamed;
        }
        function.dfg.ext_funcs.values_mut().for_each(|callee| self.external(&mut callee.name));
        for global in function.global_values.values_mut() {
            if let GlobalValueData::Symbol { name, .. } = global {
                self.external(name);
            }
        }
        function
    }

    /// Renames data objects and the symbols of their pointers.
    pub(crate) fn data(&self, objects: &mut [DataObject]) {
        for object in objects {
            self.symbol(&mut object.name);
            object.pointers.iter_mut().for_each(|pointer| self.symbol(&mut pointer.symbol));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_reader::{Options, parse_test};

    #[test]
    fn only_names_of_the_file_change() {
        let text = "\
; data: %table ro = &%floor
function %floor(f64) -> f64 {
    fn0 = %floor(f64) -> f64
    fn1 = %other(f64) -> f64
    gv0 = symbol %table
    gv1 = symbol %elsewhere
block0(v0: f64):
    return v0
}
";
        let file = parse_test(text, Options::default()).unwrap();
        let renames = Renames::new(&file);
        let function = renames.function(&file.functions[0].function).to_string();
        for name in
            ["%floor__test(f64)", "%floor__test sig", "%other sig", "symbol %table__test\n", "symbol %elsewhere\n"]
        {
            assert!(function.contains(name), "{name}\n{function}");
        }
        let mut data = crate::data::data_objects(&file.data).unwrap();
        renames.data(&mut data);
        assert_eq!(data[0].name, SymbolName::named("table__test"));
        assert_eq!(data[0].pointers[0].symbol, SymbolName::named("floor__test"));
    }
}
