//! Declarations: names, linkage, signatures, and the merging of two declarations of one name.

use super::error::ModuleError;
use cranelift_entity::{PrimaryMap, entity_impl};
use kingpost_ir::signature::Signature;
use kingpost_mach::SymbolName;
use std::collections::HashMap;

/// The namespace of functions in `uN:M` names.
pub const FUNCTIONS: u32 = 0;
/// The namespace of data objects in `uN:M` names.
pub const DATA: u32 = 1;

/// A function of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId(u32);
entity_impl!(FuncId, "func");

/// A data object of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DataId(u32);
entity_impl!(DataId, "data");

/// Place where a name is defined, and its visibility. If a name is declared twice, the linkage later in this list
/// applies.
///
/// ```
/// use kingpost_codegen::module::Linkage;
///
/// assert!(!Linkage::Import.is_definable());
/// assert!(Linkage::Preemptible.is_definable() && !Linkage::Preemptible.is_final());
/// assert_eq!(Linkage::Import.max(Linkage::Export), Linkage::Export);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Linkage {
    /// Defined elsewhere.
    Import,
    /// Defined here, visible only here.
    Local,
    /// Defined here, visible in everything that is linked statically.
    Hidden,
    /// Defined here and equally in other objects, visible everywhere; linkers keep one definition and discard the others.
    LinkOnce,
    /// Defined here, visible everywhere, may be overridden when linked.
    Preemptible,
    /// Defined here, visible everywhere.
    Export,
}

impl Linkage {
    /// Returns `true` if the module can define a name with this linkage.
    pub fn is_definable(self) -> bool {
        self != Linkage::Import
    }

    /// Returns `true` if the module's own definition is always used.
    pub fn is_final(self) -> bool {
        match self {
            Linkage::Import | Linkage::LinkOnce | Linkage::Preemptible => false,
            Linkage::Local | Linkage::Hidden | Linkage::Export => true,
        }
    }
}

/// A declared function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionDeclaration {
    /// The symbol; `None` if the function is anonymous.
    pub name: Option<Box<str>>,
    /// The merged linkage of all declarations.
    pub linkage: Linkage,
    /// The signature.
    pub signature: Signature,
}

/// The use of a data object by the program.
///
/// ```
/// use kingpost_codegen::module::DataKind;
///
/// assert!(DataKind::Writable.is_writable() && !DataKind::ThreadLocal.is_shared());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DataKind {
    /// Contents that never change.
    ReadOnly,
    /// Contents that the program may change.
    Writable,
    /// A copy for each thread, which the thread may change.
    ThreadLocal,
}

impl DataKind {
    /// Returns `true` if the program may write to the object.
    pub fn is_writable(self) -> bool {
        self != DataKind::ReadOnly
    }

    /// Returns `true` if all threads share the object.
    pub fn is_shared(self) -> bool {
        self != DataKind::ThreadLocal
    }
}

/// A declared data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataDeclaration {
    /// The symbol; `None` if the object is anonymous.
    pub name: Option<Box<str>>,
    /// The merged linkage of all declarations.
    pub linkage: Linkage,
    /// The merged use of all declarations.
    pub kind: DataKind,
}

/// Meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Declared {
    Function(FuncId),
    Data(DataId),
}

/// Everything a module has declared.
#[derive(Clone, Default, Debug)]
pub struct Declarations {
    functions: PrimaryMap<FuncId, FunctionDeclaration>,
    data: PrimaryMap<DataId, DataDeclaration>,
    names: HashMap<Box<str>, Declared>,
}

/// Lookup.
impl Declarations {
    /// Returns all functions in order of declaration.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = (FuncId, &FunctionDeclaration)> {
        self.functions.iter()
    }

    /// Returns all data objects in order of declaration.
    pub fn data_objects(&self) -> impl ExactSizeIterator<Item = (DataId, &DataDeclaration)> {
        self.data.iter()
    }

    /// Returns the declaration of a function.
    pub fn function(&self, id: FuncId) -> Option<&FunctionDeclaration> {
        self.functions.get(id)
    }

    /// Returns the declaration of a data object.
    pub fn data_object(&self, id: DataId) -> Option<&DataDeclaration> {
        self.data.get(id)
    }

    /// Returns the function with this name.
    pub fn function_named(&self, name: &str) -> Option<FuncId> {
        match self.names.get(name) {
            Some(&Declared::Function(id)) => Some(id),
            _ => None,
        }
    }

    /// Returns the data object with this name.
    pub fn data_named(&self, name: &str) -> Option<DataId> {
        match self.names.get(name) {
            Some(&Declared::Data(id)) => Some(id),
            _ => None,
        }
    }

    /// Returns the symbol of a function: `%name`, or `u0:N` if it is anonymous.
    pub fn function_symbol(&self, id: FuncId) -> Option<SymbolName> {
        let name = self.functions.get(id)?.name.as_deref();
        Some(name.map_or(SymbolName::User(FUNCTIONS, id.as_u32()), SymbolName::named))
    }

    /// Returns the symbol of a data object: `%name`, or `u1:N` if it is anonymous.
    pub fn data_symbol(&self, id: DataId) -> Option<SymbolName> {
        let name = self.data.get(id)?.name.as_deref();
        Some(name.map_or(SymbolName::User(DATA, id.as_u32()), SymbolName::named))
    }

    /// Returns the linkage of a symbol. A symbol without declaration is imported.
    pub fn linkage(&self, symbol: &SymbolName) -> Linkage {
        let declared = match symbol {
            SymbolName::Named(name) => self.names.get(&**name).copied(),
            SymbolName::User(FUNCTIONS, index) => Some(Declared::Function(FuncId(*index))),
            SymbolName::User(DATA, index) => Some(Declared::Data(DataId(*index))),
            _ => None,
        };
        let linkage = declared.and_then(|declared| match declared {
            Declared::Function(id) => self.functions.get(id).map(|f| f.linkage),
            Declared::Data(id) => self.data.get(id).map(|d| d.linkage),
        });
        linkage.unwrap_or(Linkage::Import)
    }

    /// Returns the symbol that a name in the intermediate representation refers to.
    ///
    /// # Errors
    /// If a `uN:M` is not declared.
    pub(crate) fn resolve(&self, name: &SymbolName) -> Result<SymbolName, ModuleError> {
        let symbol = match *name {
            SymbolName::User(FUNCTIONS, index) => self.function_symbol(FuncId(index)),
            SymbolName::User(DATA, index) => self.data_symbol(DataId(index)),
            SymbolName::User(..) => None,
            SymbolName::Named(_) | SymbolName::LibCall(_) | SymbolName::KnownSymbol(_) | SymbolName::Literal(_) => {
                Some(name.clone())
            }
        };
        symbol.ok_or_else(|| ModuleError::Undeclared(name.clone()))
    }
}

/// Declaration.
impl Declarations {
    pub(crate) fn declare_function(
        &mut self,
        name: &str,
        linkage: Linkage,
        signature: &Signature,
    ) -> Result<FuncId, ModuleError> {
        match self.names.get(name) {
            None => {
                let signature = signature.clone();
                let id = self.functions.push(FunctionDeclaration { name: Some(name.into()), linkage, signature });
                self.names.insert(name.into(), Declared::Function(id));
                Ok(id)
            }
            Some(&Declared::Function(id)) => {
                let known = &mut self.functions[id];
                if known.signature != *signature {
                    return Err(ModuleError::IncompatibleSignature {
                        name: SymbolName::named(name),
                        declared: Box::new(known.signature.clone()),
                        given: Box::new(signature.clone()),
                    });
                }
                known.linkage = known.linkage.max(linkage);
                Ok(id)
            }
            Some(Declared::Data(_)) => Err(ModuleError::IncompatibleDeclaration(name.into())),
        }
    }

    pub(crate) fn declare_anonymous_function(&mut self, signature: &Signature) -> FuncId {
        let signature = signature.clone();
        self.functions.push(FunctionDeclaration { name: None, linkage: Linkage::Local, signature })
    }

    pub(crate) fn declare_data(&mut self, name: &str, linkage: Linkage, kind: DataKind) -> Result<DataId, ModuleError> {
        match self.names.get(name) {
            None => {
                let id = self.data.push(DataDeclaration { name: Some(name.into()), linkage, kind });
                self.names.insert(name.into(), Declared::Data(id));
                Ok(id)
            }
            Some(&Declared::Data(id)) if self.data[id].kind.is_shared() == kind.is_shared() => {
                let known = &mut self.data[id];
                known.linkage = known.linkage.max(linkage);
                if kind.is_writable() {
                    known.kind = kind;
                }
                Ok(id)
            }
            Some(_) => Err(ModuleError::IncompatibleDeclaration(name.into())),
        }
    }

    pub(crate) fn declare_anonymous_data(&mut self, kind: DataKind) -> DataId {
        self.data.push(DataDeclaration { name: None, linkage: Linkage::Local, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::signature::{AbiParam, CallConv};
    use kingpost_ir::types::I32;

    #[test]
    fn linkage_merges_to_the_wider_one() {
        use Linkage::*;
        let sig = Signature::new(CallConv::SystemV);
        for (first, second, merged) in [
            (Import, Local, Local),
            (Import, Import, Import),
            (Local, Export, Export),
            (Hidden, Preemptible, Preemptible),
            (LinkOnce, Import, LinkOnce),
            (Export, Import, Export),
            (Preemptible, Local, Preemptible),
        ] {
            for (a, b) in [(first, second), (second, first)] {
                let mut d = Declarations::default();
                let id = d.declare_function("f", a, &sig).unwrap();
                assert_eq!(d.declare_function("f", b, &sig).unwrap(), id);
                assert_eq!(d.linkage(&SymbolName::named("f")), merged);
            }
        }
    }

    #[test]
    fn one_name_is_one_thing() {
        let sig = Signature::new(CallConv::SystemV);
        let mut other = sig.clone();
        other.params.push(AbiParam::new(I32));
        let mut d = Declarations::default();
        let f = d.declare_function("f", Linkage::Import, &sig).unwrap();
        let x = d.declare_data("x", Linkage::Export, DataKind::ReadOnly).unwrap();
        assert!(matches!(
            d.declare_function("f", Linkage::Import, &other),
            Err(ModuleError::IncompatibleSignature { .. })
        ));
        assert_eq!(
            d.declare_data("f", Linkage::Export, DataKind::ReadOnly),
            Err(ModuleError::IncompatibleDeclaration("f".into()))
        );
        assert_eq!(
            d.declare_function("x", Linkage::Export, &sig),
            Err(ModuleError::IncompatibleDeclaration("x".into()))
        );
        assert_eq!(
            d.declare_data("x", Linkage::Export, DataKind::ThreadLocal),
            Err(ModuleError::IncompatibleDeclaration("x".into()))
        );
        assert_eq!(d.declare_data("x", Linkage::Import, DataKind::Writable), Ok(x));
        assert!(d.data_object(x).unwrap().kind.is_writable());
        assert_eq!((d.function_named("f"), d.data_named("f")), (Some(f), None));
    }

    #[test]
    fn names_of_the_text_resolve() {
        let sig = Signature::new(CallConv::SystemV);
        let mut d = Declarations::default();
        d.declare_function("f", Linkage::Import, &sig).unwrap();
        d.declare_anonymous_function(&sig);
        d.declare_data("x", Linkage::Local, DataKind::ReadOnly).unwrap();
        let user = SymbolName::User;
        assert_eq!(d.resolve(&user(0, 0)), Ok(SymbolName::named("f")));
        assert_eq!(d.resolve(&user(0, 1)), Ok(user(0, 1)));
        assert_eq!(d.resolve(&user(1, 0)), Ok(SymbolName::named("x")));
        assert_eq!(d.resolve(&SymbolName::named("any")), Ok(SymbolName::named("any")));
        for unknown in [user(0, 2), user(1, 1), user(2, 0), user(0, u32::MAX)] {
            assert_eq!(d.resolve(&unknown), Err(ModuleError::Undeclared(unknown)));
        }
        assert_eq!(d.linkage(&user(0, 1)), Linkage::Local);
        assert_eq!(d.linkage(&SymbolName::named("any")), Linkage::Import);
    }
}
