//! Names of virtual registers, blocks and locations.

use cranelift_entity::EntityRef;
use kingpost_mach::Isa;
use kingpost_regalloc::{Loc, VReg};

/// A virtual register.
pub struct VRegName {
    /// Name of the value, such as `v4`. For a value of two registers, a dot and the half follow. Other registers have
    /// `t` and a number.
    pub name: String,
    /// Class and width in bytes, such as `int 8`.
    pub kind: String,
}

/// Names of virtual registers, blocks and locations.
pub(crate) struct Names<'a> {
    pub(crate) vregs: Vec<VRegName>,
    pub(crate) blocks: Vec<String>,
    /// The instruction set that names the registers; they have numbers if there is none.
    pub(crate) isa: Option<&'a dyn Isa>,
}

impl Names<'_> {
    pub(crate) fn vreg(&self, vreg: VReg) -> &str {
        self.vregs.get(vreg.index()).map_or("?", |vreg| &vreg.name)
    }

    pub(crate) fn loc(&self, loc: Loc) -> String {
        let name = loc.as_reg().zip(self.isa).map(|(reg, isa)| isa.reg_name(reg, 8));
        name.unwrap_or_else(|| loc.to_string())
    }
}
