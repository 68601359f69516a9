//! Form of an instruction set's lowering table: one function for each opcode and category of type.
//!
//! A row reads `Iadd => int::iadd, wide::iadd, none, refuse;`: the lowering of words, of 128-bit integers, of scalar
//! floats, of vectors. A row of one column covers all categories, and opcodes without a controlling type. [`none`]
//! means that the opcode has no type of that category, [`refuse`] that there is no code yet. The rows are an exhaustive
//! match, so that a new opcode is a compiler error in each instruction set.

use super::{LowerBackend, LowerResult};
use kingpost_ir::Inst;
use kingpost_ir::types::{self, Type};

/// Category of an opcode's controlling type, which decides the function that lowers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeCategory {
    /// Scalar integers of up to 64 bits, and no type at all: one general-purpose register.
    Word,
    /// i128: two general-purpose registers.
    Wide,
    /// Scalar floats: one float register.
    Float,
    /// Vectors, fixed and dynamic.
    Vector,
}

/// Number of categories.
pub const TYPE_CATEGORIES: usize = 4;

impl TypeCategory {
    /// All categories, in the order of the table's columns.
    pub const ALL: [TypeCategory; TYPE_CATEGORIES] =
        [TypeCategory::Word, TypeCategory::Wide, TypeCategory::Float, TypeCategory::Vector];

    /// Returns the category of a type.
    #[inline]
    pub fn of(ty: Type) -> TypeCategory {
        if ty == types::I128 {
            TypeCategory::Wide
        } else if ty.is_int() || ty.is_invalid() {
            TypeCategory::Word
        } else if ty.is_float() {
            TypeCategory::Float
        } else {
            TypeCategory::Vector
        }
    }

    /// Returns the heading of the category's column.
    pub const fn name(self) -> &'static str {
        match self {
            TypeCategory::Word => "word",
            TypeCategory::Wide => "wide",
            TypeCategory::Float => "float",
            TypeCategory::Vector => "vector",
        }
    }
}

/// Returns the columns of a row: the written ones, or a single one repeated for all categories.
pub const fn columns<T: Copy>(written: &[T]) -> [T; TYPE_CATEGORIES] {
    match *written {
        [all] => [all; TYPE_CATEGORIES],
        [word, wide, float, vector] => [word, wide, float, vector],
        _ => panic!("a row has one column or one for each category"),
    }
}

/// Returns an error for an opcode without code at types of this category.
///
/// # Errors
/// The opcode is unsupported.
pub fn refuse<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    Err(cx.unsupported(inst))
}

/// Returns an error for an opcode that has no type of this category. The verifier rejects such instructions before.
///
/// # Errors
/// The opcode is unsupported.
pub fn none<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    refuse(cx, inst)
}

/// Defines from rows the tables `LOWERINGS` of functions of type `$function`, `NAMES` of the texts of their cells,
/// and `ZEROS_FROM`.
#[macro_export]
macro_rules! lowering_table {
    ($function:ty; $($opcode:ident $([$zeros:literal])? => $($f:ident $(:: $g:ident)* $(($($arg:expr),*))?),+;)*) => {
        /// Returns the functions that lower an opcode, by category.
        const fn lowerings(opcode: kingpost_ir::Opcode) -> [$function; $crate::lower::TYPE_CATEGORIES] {
            match opcode {
                $(kingpost_ir::Opcode::$opcode => $crate::lower::columns(&[
                    $((|cx, inst| $f $(:: $g)* (cx, inst $($(, $arg)*)?)) as $function),+
                ]),)*
            }
        }

        /// Returns the names of the cells of a row.
        const fn names(opcode: kingpost_ir::Opcode) -> [&'static str; $crate::lower::TYPE_CATEGORIES] {
            match opcode {
                $(kingpost_ir::Opcode::$opcode => $crate::lower::columns(&[
                    $(concat!(stringify!($f) $(, "::", stringify!($g))* $(, "(", $(stringify!($arg),)* ")")?)),+
                ]),)*
            }
        }

        /// For each opcode, the least width in bits at which the first result's register has zeros above the value,
        /// or 0.
        pub(crate) static ZEROS_FROM: [u8; kingpost_ir::Opcode::ALL.len()] = {
            let mut table = [0; kingpost_ir::Opcode::ALL.len()];
            $($(table[kingpost_ir::Opcode::$opcode as usize] = $zeros;)?)*
            table
        };

        /// Functions that lower each opcode, by category.
        pub(super) static LOWERINGS: [[$function; $crate::lower::TYPE_CATEGORIES]; kingpost_ir::Opcode::ALL.len()] = {
            let mut table = [lowerings(kingpost_ir::Opcode::ALL[0]); kingpost_ir::Opcode::ALL.len()];
            let mut k = 0;
            while k < table.len() {
                table[k] = lowerings(kingpost_ir::Opcode::ALL[k]);
                k += 1;
            }
            table
        };

        /// Names of these functions.
        pub(crate) static NAMES: [[&str; $crate::lower::TYPE_CATEGORIES]; kingpost_ir::Opcode::ALL.len()] = {
            let mut table = [names(kingpost_ir::Opcode::ALL[0]); kingpost_ir::Opcode::ALL.len()];
            let mut k = 0;
            while k < table.len() {
                table[k] = names(kingpost_ir::Opcode::ALL[k]);
                k += 1;
            }
            table
        };
    };
}

/// Returns the misplaced cells of a table: a cell must be `none` exactly if the opcode has no type of the category.
pub fn misplaced_none(names: &[[&str; TYPE_CATEGORIES]]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (&opcode, cells) in kingpost_ir::Opcode::ALL.iter().zip(names) {
        let types = opcode.info().class.set();
        if cells.iter().all(|cell| cell == &cells[0]) {
            continue;
        }
        for (category, cell) in TypeCategory::ALL.into_iter().zip(cells) {
            let has_type = types.iter().any(|ty| TypeCategory::of(ty) == category);
            if has_type == (*cell == "none") {
                wrong.push(format!("{opcode} at {}: {cell}", category.name()));
            }
        }
    }
    wrong
}
