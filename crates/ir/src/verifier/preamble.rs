//! Rules of the preamble, the signature and the entry block.

use crate::entities::{AnyEntity, GlobalValue};
use crate::extfunc::ExternalName;
use crate::preamble::GlobalValueData;
use crate::signature::{AbiParam, ArgumentExtension, ArgumentPurpose, CallConv, Signature};
use crate::types::I64;
use crate::verifier::{Check, Verified};

/// State of a global value during the search for cycles.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Chain {
    Unknown,
    /// The value is on the path that is being followed.
    Open,
    /// Its chain of bases ends in a value without a base.
    Ends,
    /// Its chain of bases leads into a cycle.
    Cyclic,
}

impl Check<'_> {
    pub(super) fn global_values(&mut self) {
        let chains = self.global_value_cycles();
        for global in self.func.global_values.keys() {
            if chains.get(global.as_u32() as usize) != Some(&Chain::Cyclic) {
                self.global_value(global);
            }
        }
    }

    /// Reports a cycle of global values. Returns the state of each; an empty list if every base precedes the values
    /// that depend on it.
    pub(super) fn global_value_cycles(&mut self) -> Vec<Chain> {
        let is_after_base = |(global, data)| base(data).is_none_or(|base| base < global);
        if self.func.global_values.iter().all(is_after_base) {
            return Vec::new();
        }
        let mut chains = vec![Chain::Unknown; self.func.global_values.len()];
        for global in self.func.global_values.keys() {
            self.follow_bases(global, &mut chains);
        }
        let cyclic = |global: &GlobalValue| chains[global.as_u32() as usize] == Chain::Cyclic;
        let number = |global: &GlobalValue| self.func.names.global_values.number(*global);
        // One report is enough. It names the first value of the text, because the entities may have been created in
        // another order.
        if let Some(first) = self.func.global_values.keys().filter(cyclic).min_by_key(number) {
            let mut unknown = vec![Chain::Unknown; chains.len()];
            let path = self.follow_bases(first, &mut unknown);
            let names: Vec<String> = path.iter().map(|&each| self.global_name(each)).collect();
            self.report(first, format_args!("global value cycle: [{}]", names.join(", ")));
        }
        chains
    }

    /// Follows bases up to a value with a known state, and records for all values on the path whether they end in a
    /// cycle. Returns the path.
    fn follow_bases(&self, global: GlobalValue, chains: &mut [Chain]) -> Vec<GlobalValue> {
        let mut path = Vec::new();
        let mut next = Some(global);
        let outcome = loop {
            let Some(current) = next else { break Chain::Ends };
            let Some(chain) = chains.get_mut(current.as_u32() as usize) else {
                break Chain::Ends;
            };
            match *chain {
                Chain::Unknown => {
                    *chain = Chain::Open;
                    path.push(current);
                    next = base(&self.func.global_values[current]);
                }
                Chain::Open => break Chain::Cyclic,
                known => break known,
            }
        };
        for &each in &path {
            chains[each.as_u32() as usize] = outcome;
        }
        path
    }

    fn global_name(&self, global: GlobalValue) -> String {
        self.func.names.global_value(global).to_string()
    }

    fn global_value(&mut self, global: GlobalValue) {
        let data = &self.func.global_values[global];
        let name = self.func.names.global_value(global);
        if let Some(base) = base(data).filter(|&base| !self.func.global_values.is_valid(base)) {
            let base = self.func.names.global_value(base);
            return self.report(global, format_args!("invalid base global value {base}"));
        }
        let pointer = self.target.and_then(|target| target.pointer_type);
        let type_of = |base| pointer.map(|pointer| self.func.global_value_type(base, pointer));
        match *data {
            GlobalValueData::VmContext => {
                let param = self.func.signature.special_param_index(ArgumentPurpose::VmContext);
                if param.is_none() {
                    self.report(global, format_args!("undeclared vmctx reference {name}"));
                }
            }
            GlobalValueData::IAddImm { ty, .. } if !ty.is_int() => {
                self.report(global, format_args!("iadd_imm global value with non-int type {ty}"));
            }
            GlobalValueData::IAddImm { base, ty, .. } => {
                if let Some(base_type) = type_of(base).filter(|&base_type| base_type != ty) {
                    self.report(global, format_args!("iadd_imm type {ty} differs from operand type {base_type}"));
                }
            }
            GlobalValueData::Load { base, flags, .. } => {
                if let (Some(base_type), Some(pointer)) = (type_of(base), pointer)
                    && base_type != pointer
                {
                    let base = self.func.names.global_value(base);
                    self.report(
                        global,
                        format_args!(
                            "base {base} has type {base_type}, which is not the pointer type \
                             {pointer}"
                        ),
                    );
                }
                self.declared_region(global.into(), flags);
            }
            GlobalValueData::Symbol { .. } | GlobalValueData::DynScaleTargetConst { .. } => {}
        }
    }

    /// Checks that user names are in the table.
    pub(super) fn user_names(&mut self) {
        let globals = self.func.global_values.iter().filter_map(|(global, data)| match data {
            GlobalValueData::Symbol { name, .. } => Some((AnyEntity::from(global), name)),
            _ => None,
        });
        let functions = self.func.dfg.ext_funcs.iter().map(|(function, data)| (function.into(), &data.name));
        for (entity, name) in globals.chain(functions) {
            if let ExternalName::User(user) = name
                && !self.func.user_names.is_valid(*user)
            {
                self.report(entity, format_args!("undeclared user name {user}"));
            }
        }
    }

    pub(super) fn alias_regions(&mut self) {
        let mut regions: Vec<_> = self.func.alias_regions.iter().map(|(region, data)| (data.user_id, region)).collect();
        regions.sort_unstable();
        for pair in regions.windows(2) {
            let [(first_id, first), (id, second)] = [pair[0], pair[1]];
            if first_id == id {
                self.report(second, format_args!("duplicate alias region user_id {id}: {first} and {second}"));
            }
        }
    }

    pub(super) fn entry_params(&mut self) -> Verified {
        let Some(entry) = self.func.layout.entry_block() else { return self.stop_on_errors() };
        let params = self.func.dfg.block_params(entry);
        let expected = &self.func.signature.params;
        if params.len() != expected.len() {
            return self.fatal(
                entry,
                format_args!(
                    "entry block parameters ({}) must match function signature ({})",
                    params.len(),
                    expected.len()
                ),
            );
        }
        for (index, (&param, expected)) in params.iter().zip(expected).enumerate() {
            let (ty, expected) = (self.func.dfg.value_type(param), expected.value_type);
            if ty != expected {
                self.report(
                    entry,
                    format_args!("entry block parameter {index} expected to have type {expected}, got {ty}"),
                );
            }
        }
        self.stop_on_errors()
    }

    pub(super) fn entry_not_cold(&mut self) -> Verified {
        match self.func.layout.entry_block() {
            Some(entry) if self.func.layout.is_cold(entry) => self.fatal(entry, "entry block cannot be marked as cold"),
            _ => self.stop_on_errors(),
        }
    }

    pub(super) fn signature(&mut self) -> Verified {
        let func = self.func;
        self.extensions(&func.signature.params, "Parameter");
        self.extensions(&func.signature.returns, "Return value");
        self.variadic_list(&func.signature);
        for (index, param) in func.signature.returns.iter().enumerate() {
            if let ArgumentPurpose::StructArgument(_) = param.purpose {
                self.report(
                    AnyEntity::Function,
                    format_args!("Return value at position {index} can't be an struct argument"),
                );
            }
        }
        self.stop_on_errors()
    }

    /// Checks that a `va_list` is the only parameter after `...`, and an address.
    fn variadic_list(&mut self, signature: &Signature) {
        let Some(index) = signature.special_param_index(ArgumentPurpose::VariadicList) else { return };
        if signature.variadic != Some(index as u32) || index + 1 != signature.params.len() {
            self.report(
                AnyEntity::Function,
                format_args!("Parameter at position {index} is a `va_list` and not alone after `...`"),
            );
        }
        let ty = signature.params[index].value_type;
        if ty != I64 {
            self.report(
                AnyEntity::Function,
                format_args!("Parameter at position {index} is a `va_list` of type {ty}, not i64"),
            );
        }
    }

    fn extensions(&mut self, params: &[AbiParam], what: &str) {
        for (index, param) in params.iter().enumerate() {
            if param.extension != ArgumentExtension::None && !param.value_type.is_int() {
                self.report(
                    AnyEntity::Function,
                    format_args!("{what} at position {index} has invalid extension {:?}", param.extension),
                );
            }
        }
    }

    /// Checks that functions of the convention `preserve_all` have no results. They must preserve the registers that
    /// would hold results.
    pub(super) fn preserve_all(&mut self) -> Verified {
        let func = self.func;
        let at_fault = |signature: &crate::signature::Signature| {
            signature.call_conv == CallConv::PreserveAll && !signature.returns.is_empty()
        };
        let mut location = at_fault(&func.signature).then_some(AnyEntity::Function);
        location = location.or_else(|| {
            let mut functions = func.dfg.ext_funcs.iter();
            let function = functions.find(|(_, data)| func.dfg.signatures.get(data.signature).is_some_and(at_fault));
            function.map(|(function, _)| function.into())
        });
        location = location.or_else(|| {
            let mut signatures = func.dfg.signatures.iter();
            signatures.find(|(_, signature)| at_fault(signature)).map(|(sig, _)| sig.into())
        });
        match location {
            Some(location) => self.fatal(location, "Signature with `preserve_all` ABI cannot have return values"),
            None => Ok(()),
        }
    }
}

fn base(data: &GlobalValueData) -> Option<GlobalValue> {
    match *data {
        GlobalValueData::Load { base, .. } | GlobalValueData::IAddImm { base, .. } => Some(base),
        GlobalValueData::VmContext | GlobalValueData::Symbol { .. } | GlobalValueData::DynScaleTargetConst { .. } => {
            None
        }
    }
}
