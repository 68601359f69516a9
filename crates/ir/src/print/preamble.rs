//! Text of everything between the signature and the first block.

use cranelift_entity::{EntityRef, PrimaryMap};
use std::fmt::{self, Display, Formatter};

use crate::extfunc::ExternalName;
use crate::function::Function;
use crate::immediates::{Imm64, Offset};
use crate::names::NameTable;
use crate::preamble::GlobalValueData;

impl Function {
    /// Writes the preamble. Returns `true` if there was anything to write.
    pub(super) fn write_preamble(&self, f: &mut Formatter) -> Result<bool, fmt::Error> {
        let (names, numbered) = (&self.names, f.alternate());
        let mut lines = 0;
        let mut line = |f: &mut Formatter, text: fmt::Arguments| {
            lines += 1;
            writeln!(f, "    {text}")
        };
        for ty in sorted(&self.dynamic_types, &names.dynamic_types) {
            let data = self.dynamic_types[ty];
            let scale = names.global_value(data.scale);
            line(f, format_args!("{} = {}*{scale}", names.dynamic_type(ty), data.base))?;
        }
        for slot in sorted(&self.dynamic_stack_slots, &names.dynamic_stack_slots) {
            let ty = names.dynamic_type(self.dynamic_stack_slots[slot].ty);
            let slot = names.dynamic_stack_slot(slot);
            line(f, format_args!("{slot} = explicit_dynamic_slot {ty}"))?;
        }
        for slot in sorted(&self.stack_slots, &names.stack_slots) {
            let data = self.stack_slots[slot];
            let attributes = fmt::from_fn(|f| {
                if data.align_shift > 0 {
                    write!(f, ", align = {}", 1_u64 << data.align_shift)?;
                }
                data.key.map_or(Ok(()), |key| write!(f, ", key = {key}"))
            });
            let slot = names.stack_slot(slot);
            line(f, format_args!("{slot} = explicit_slot {}{attributes}", data.size))?;
        }
        for (region, data) in self.alias_regions.iter() {
            line(f, format_args!("{region} = {} \"{}\"", data.user_id, data.description))?;
        }
        for global in sorted(&self.global_values, &names.global_values) {
            let data = self.display_global(&self.global_values[global], numbered);
            line(f, format_args!("{} = {data}", names.global_value(global)))?;
        }
        for sig in sorted(&self.dfg.signatures, &names.signatures) {
            line(f, format_args!("{} = {}", names.signature(sig), self.dfg.signatures[sig]))?;
        }
        for func in sorted(&self.dfg.ext_funcs, &names.functions) {
            let data = &self.dfg.ext_funcs[func];
            let colocated = if data.colocated { "colocated " } else { "" };
            let patchable = if data.patchable { "patchable " } else { "" };
            let name = self.display_name(&data.name);
            let sig = names.signature(data.signature);
            let func = names.function(func);
            line(f, format_args!("{func} = {colocated}{patchable}{name} {sig}"))?;
        }
        let mut constants: Vec<_> = self.dfg.constants.iter().collect();
        constants.sort_by_key(|(constant, _)| names.constants.number(*constant));
        for (constant, data) in constants {
            line(f, format_args!("{} = {data}", names.constant(constant)))?;
        }
        if let Some(limit) = self.stack_limit {
            line(f, format_args!("stack_limit = {}", names.global_value(limit)))?;
        }
        Ok(lines > 0)
    }

    fn display_global<'a>(&'a self, data: &'a GlobalValueData, numbered: bool) -> impl Display + 'a {
        fmt::from_fn(move |f| match data {
            GlobalValueData::VmContext => f.write_str("vmctx"),
            GlobalValueData::Load { base, offset, ty, flags } => {
                let base = self.names.global_value(*base);
                write!(f, "load.{ty}{flags} {base}{}", Offset((*offset).into()))
            }
            GlobalValueData::IAddImm { base, offset, ty } => {
                write!(f, "iadd_imm.{ty} {}, {}", self.names.global_value(*base), Imm64(*offset))
            }
            GlobalValueData::Symbol { name, offset, colocated, tls } => {
                f.write_str("symbol ")?;
                f.write_str(if *colocated { "colocated " } else { "" })?;
                f.write_str(if *tls { "tls " } else { "" })?;
                match name {
                    ExternalName::User(user) if numbered => write!(f, "{user}")?,
                    _ => write!(f, "{}", self.display_name(name))?,
                }
                match *offset {
                    0 => Ok(()),
                    1.. => write!(f, "+{}", Imm64(*offset)),
                    _ => write!(f, "{}", Imm64(*offset)),
                }
            }
            GlobalValueData::DynScaleTargetConst { vector_type } => {
                write!(f, "dyn_scale_target_const.{vector_type}")
            }
        })
    }
}

/// Returns the entities of a table, sorted by their numbers.
fn sorted<E: EntityRef + Copy, T>(table: &PrimaryMap<E, T>, names: &NameTable<E>) -> Vec<E> {
    if names.is_identity() {
        return table.keys().collect();
    }
    // Sorted as plain numbers for all entities, because each instance of the library's sort takes 8 KiB of code.
    let mut order: Vec<(u64, usize)> = table.keys().map(|entity| (names.number(entity), entity.index())).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, index)| E::new(index)).collect()
}
