//! Names of virtual registers, blocks and locations.

use cranelift_entity::EntityRef;
use kingpost_mach::Isa;
use kingpost_regalloc::{Loc, VReg};

/// A virtual register.
pub struct VRegName {
    /// The value's name, as `v4`, behind a dot the half of a value of two registers; else `t` and a number.
    pub name: String,
    /// Its class and width in bytes, as `int 8`.
    pub kind: String,
}

/// Names of virtual registers, blocks and locations.
pub(crate) struct Names<'a> {
    pub(crate) vregs: Vec<VRegName>,
    pub(crate) blocks: Vec<String>,
    pub(crate) isa: &'a dyn Isa,
}

impl Names<'_> {
    pub(crate) fn vreg(&self, vreg: VReg) -> &str {
        self.vregs.get(vreg.index()).map_or("?", |vreg| &vreg.name)
    }

    pub(crate) fn loc(&self, loc: Loc) -> String {
        loc.as_reg().map_or_else(|| loc.to_string(), |reg| self.isa.reg_name(reg, 8))
    }
}
