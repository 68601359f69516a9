//! A function: its name, signature and preamble, the data flow graph and the layout.
//!
//! A function owns everything its entities name. A change to a terminator or to the order of blocks makes the
//! control-flow graph, the dominator tree, the loops and the frequencies stale; they are not part of the function.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::dfg::DataFlowGraph;
use crate::entities::{
    AliasRegion, Block, DynamicStackSlot, DynamicType, GlobalValue, Inst, StackSlot, UserNameRef, Value, ValueLabel,
    grown,
};
use crate::extfunc::{ExternalName, FuncName};
use crate::layout::Layout;
use crate::names::Names;
use crate::preamble::{AliasRegionData, DynamicStackSlotData, DynamicTypeData, GlobalValueData, StackSlotData};
use crate::signature::{CallConv, Signature};
use crate::types::Type;
use crate::value_data::ValueDef;
use kingpost_meter::heap_bytes;

/// A location in a source program; `u32::MAX` means no location.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceLoc(pub u32);

impl SourceLoc {
    /// Returns `true` if there is no location.
    pub const fn is_none(self) -> bool {
        self.0 == u32::MAX
    }
}

impl Default for SourceLoc {
    fn default() -> Self {
        SourceLoc(u32::MAX)
    }
}

impl fmt::Display for SourceLoc {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.is_none() { f.write_str("@-") } else { write!(f, "@{:04x}", self.0) }
    }
}

/// A tag for debuggers, on a call or a `sequence_point`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum DebugTag {
    /// A number of the front end.
    User(u32),
    /// A stack slot.
    StackSlot(StackSlot),
}

/// A reference that is live in a stack slot during a call.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct UserStackMapEntry {
    /// Type of the reference.
    pub ty: Type,
    /// The stack slot.
    pub slot: StackSlot,
    /// Offset of the reference from the slot's first byte, in bytes.
    pub offset: u32,
}

/// The label of a value: a variable of the source, and the place from which the value is the variable's.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Labeled {
    /// The variable.
    pub label: ValueLabel,
    /// Block that assigns the value to the variable after the value's definition; `None` if the value is the
    /// variable's from its definition on.
    pub assigned: Option<Block>,
}

/// A function.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::ControlBuilder;
/// use kingpost_ir::extfunc::FuncName;
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
/// use kingpost_ir::signature::{AbiParam, CallConv, Signature};
/// use kingpost_ir::types::I32;
///
/// let mut signature = Signature::new(CallConv::SystemV);
/// signature.params.push(AbiParam::new(I32));
/// signature.returns.push(AbiParam::new(I32));
/// let mut func = Function::new(FuncName::Named("same".into()), signature);
/// let mut scratch = FrontendContext::default();
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let entry = b.create_block();
/// b.append_function_params(entry);
/// b.switch_to_block(entry);
/// let x = b.block_params(entry)[0];
/// b.ins().return_(&[x]);
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// assert!(func.to_string().starts_with("function %same(i32) -> i32 system_v {"));
/// ```
#[derive(Clone, Hash, Debug)]
pub struct Function {
    /// Its name.
    pub name: FuncName,
    /// Its signature.
    pub signature: Signature,
    /// Values and instructions.
    pub dfg: DataFlowGraph,
    /// The order of blocks and instructions.
    pub layout: Layout,
    /// Stack slots of fixed size.
    pub stack_slots: PrimaryMap<StackSlot, StackSlotData>,
    /// Stack slots for dynamic vectors.
    pub dynamic_stack_slots: PrimaryMap<DynamicStackSlot, DynamicStackSlotData>,
    /// Dynamic types.
    pub dynamic_types: PrimaryMap<DynamicType, DynamicTypeData>,
    /// Global values.
    pub global_values: PrimaryMap<GlobalValue, GlobalValueData>,
    /// Alias regions.
    pub alias_regions: PrimaryMap<AliasRegion, AliasRegionData>,
    /// The `uN:M` names that external names refer to.
    pub user_names: PrimaryMap<UserNameRef, (u32, u32)>,
    /// The address that the stack pointer must not fall below.
    pub stack_limit: Option<GlobalValue>,
    /// Source locations of instructions.
    pub srclocs: SecondaryMap<Inst, SourceLoc>,
    /// Debug tags of instructions. Only few instructions have any.
    pub debug_tags: BTreeMap<Inst, SmallVec<[DebugTag; 4]>>,
    /// Stack maps of calls. Only few calls have one.
    pub stack_maps: BTreeMap<Inst, SmallVec<[UserStackMapEntry; 4]>>,
    /// Names of the source's variables, for debuggers. The text does not have them.
    pub variables: PrimaryMap<ValueLabel, Arc<str>>,
    /// Variables that values belong to. The text does not have them.
    pub value_labels: BTreeMap<Value, SmallVec<[Labeled; 2]>>,
    /// The numbers that the text used.
    pub names: Names,
}

heap_bytes!(Function { dfg, layout, stack_slots, dynamic_stack_slots, dynamic_types, global_values, alias_regions, user_names, srclocs, debug_tags, stack_maps, value_labels, names } without { name, signature, stack_limit, variables });

impl Default for Function {
    fn default() -> Self {
        Function::new(FuncName::Named(String::new()), Signature::new(CallConv::Fast))
    }
}

impl Function {
    /// Returns a function without blocks.
    pub fn new(name: FuncName, signature: Signature) -> Function {
        Function {
            name,
            signature,
            dfg: DataFlowGraph::default(),
            layout: Layout::default(),
            stack_slots: PrimaryMap::new(),
            dynamic_stack_slots: PrimaryMap::new(),
            dynamic_types: PrimaryMap::new(),
            global_values: PrimaryMap::new(),
            alias_regions: PrimaryMap::new(),
            user_names: PrimaryMap::new(),
            stack_limit: None,
            srclocs: SecondaryMap::new(),
            debug_tags: BTreeMap::new(),
            stack_maps: BTreeMap::new(),
            variables: PrimaryMap::new(),
            value_labels: BTreeMap::new(),
            names: Names::default(),
        }
    }

    /// Clears everything and keeps the memory, so that another function can be built in it.
    pub fn clear(&mut self) {
        match &mut self.name {
            FuncName::Named(name) => name.clear(),
            FuncName::User(..) => self.name = FuncName::Named(String::new()),
        }
        self.signature.clear(CallConv::Fast);
        self.dfg.clear();
        self.layout.clear();
        self.stack_slots.clear();
        self.dynamic_stack_slots.clear();
        self.dynamic_types.clear();
        self.global_values.clear();
        self.alias_regions.clear();
        self.user_names.clear();
        self.stack_limit = None;
        self.srclocs.clear();
        self.debug_tags.clear();
        self.stack_maps.clear();
        self.variables.clear();
        self.value_labels.clear();
        self.names.clear();
    }

    /// Clears everything except the name, and frees the memory.
    pub fn release(&mut self) {
        self.dfg.release();
        *self = Function { name: std::mem::take(&mut self.name), ..Function::default() };
    }

    /// Returns the source location of an instruction.
    pub fn srcloc(&self, inst: Inst) -> SourceLoc {
        self.srclocs[inst]
    }

    /// Sets the source location of an instruction.
    pub fn set_srcloc(&mut self, inst: Inst, srcloc: SourceLoc) {
        *grown(&mut self.srclocs, inst) = srcloc;
    }

    /// Sets the frequency of a block: how often it runs, on average, for each call of the function. Register allocation, the
    /// placement of code, inlining and if-conversion use it instead of an estimate. A wrong frequency costs
    /// time, and never changes a result. Blocks without one are estimated. The entry block has the frequency 1, whatever is given.
    /// A frequency below 1/512 makes the block cold, which the entry block must not be. The text has no other frequencies.
    pub fn set_block_frequency(&mut self, block: Block, runs: f64) {
        // The conversion rounds numbers out of range to the nearest integer, and NaN to 0.
        self.layout.set_frequency(block, (runs * f64::from(Layout::ENTRY)) as u32);
    }

    /// Returns the block that defines a value: as a parameter, or by an instruction that is in the layout.
    #[inline]
    pub fn defining_block(&self, value: Value) -> Option<Block> {
        match self.dfg.value_def(value) {
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => self.layout.inst_block(inst),
            ValueDef::Undefined => None,
        }
    }

    /// Returns the vector type of values that have a dynamic type.
    pub fn dynamic_type(&self, ty: DynamicType) -> Option<Type> {
        self.dynamic_types.get(ty)?.base.vector_to_dynamic()
    }

    /// Returns the type of a global value. Symbols, the VM context and scales have the target's pointer type, given
    /// as `pointer`.
    pub fn global_value_type(&self, global: GlobalValue, pointer: Type) -> Type {
        match self.global_values[global] {
            GlobalValueData::Load { ty, .. } | GlobalValueData::IAddImm { ty, .. } => ty,
            GlobalValueData::VmContext
            | GlobalValueData::Symbol { .. }
            | GlobalValueData::DynScaleTargetConst { .. } => pointer,
        }
    }

    /// Returns the text of an external name.
    pub fn display_name<'a>(&'a self, name: &'a ExternalName) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match name {
            ExternalName::Named(name) => write!(f, "%{name}"),
            ExternalName::User(user) => match self.user_names.get(*user) {
                Some((namespace, index)) => write!(f, "u{namespace}:{index}"),
                None => write!(f, "{user}"),
            },
            ExternalName::LibCall(libcall) => write!(f, "%{libcall}"),
            ExternalName::KnownSymbol(symbol) => write!(f, "%{symbol}"),
        })
    }
}
