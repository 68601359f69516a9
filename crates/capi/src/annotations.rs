//! Facts for debuggers and collectors about a function that is built: source lines, names, and stack maps.

use crate::builder::{Builder, building, invalid};
use crate::entry::entries;
use crate::error::Failure;
use crate::foreign::Text;
use crate::handles::Handle;
use crate::items::{SlotItem, ValueItem, VariableItem};
use crate::tables;
use kingpost::ir::Type;
use kingpost::ir::function::{SourceLoc, UserStackMapEntry};

/// Checks that stack maps can have references of the type.
fn check_reference(ty: Type) -> Result<(), Failure> {
    let bytes = ty.bytes();
    match !ty.is_dynamic_vector() && ty.bits() == 8 * bytes && bytes.is_power_of_two() && bytes <= 16 {
        true => Ok(()),
        false => Err(invalid(format!("a reference in a stack map has 1, 2, 4, 8 or 16 bytes, and {ty} has not"))),
    }
}

entries! {
    /// Sets the source location of instructions that are added from now on: a number of the front end, for instance a
    /// line.
    fn kp_set_source_location[b](location: u32) {
        b.builder.set_srcloc(SourceLoc(location));
        Ok(())
    }

    /// Sets the name that a variable has in the source, before the variable gets its first value. With the setting
    /// `debug_values`, debuggers show it.
    fn kp_set_variable_name[b](variable: Handle<VariableItem>, name: Text<'_>) {
        let (variable, name) = (b.untouched(variable)?, name.not_empty("name")?);
        b.builder.set_var_name(variable, name);
        Ok(())
    }

    /// Records that a value is the value of a variable with this name in the source, from its definition to the
    /// definition of the next value with the name. A function with names has no other variables in debuggers; without
    /// names, each value is one.
    fn kp_set_value_name[b](value: Handle<ValueItem>, name: Text<'_>) {
        let (value, name) = (b.value(value)?, name.not_empty("name")?);
        let label = b.label(name);
        b.builder.set_val_label(value, label);
        Ok(())
    }

    /// Makes the values of a variable appear in the stack maps of the calls during which they are live, so that a
    /// collector can find and update them. Comes before the variable gets its first value.
    fn kp_variable_needs_stack_map[b](variable: Handle<VariableItem>) {
        let variable = b.untouched(variable)?;
        check_reference(b.variable_type(variable))?;
        b.builder.declare_var_needs_stack_map(variable);
        Ok(())
    }

    /// Makes a value appear in the stack maps of the calls during which it is live. Values that are computed from it,
    /// such as addresses of fields, are not updated.
    fn kp_value_needs_stack_map[b](value: Handle<ValueItem>) {
        let value = b.value(value)?;
        check_reference(b.type_of(value))?;
        b.builder.declare_value_needs_stack_map(value);
        Ok(())
    }

    /// Adds a reference to the stack map of the last instruction, a call: a moving collector finds it in the stack
    /// slot, at `offset` bytes, during the call. For references that the front end keeps in slots itself.
    fn kp_add_stack_map[b](slot: Handle<SlotItem>, offset: u32, ty: u32) {
        let (slot, ty) = (b.slot(slot)?, tables::type_of(ty)?);
        let current = b.builder.current_block();
        let func = &mut *b.builder.func;
        let last = current.filter(|&block| func.layout.is_block_inserted(block));
        let last = last.and_then(|block| func.layout.last_inst(block));
        let Some(call) = last.filter(|&last| func.dfg.opcode(last).is_call()) else {
            return Err(invalid("the last instruction is no call"));
        };
        func.stack_maps.entry(call).or_default().push(UserStackMapEntry { ty, slot, offset });
        Ok(())
    }
}
