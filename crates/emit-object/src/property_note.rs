//! `.note.gnu.property`: the control-flow guards that all code of an object has (ELF for the Arm 64-bit Architecture,
//! section 6.3.4.1, program property; the layout is from the Linux extensions to the System V ABI, section 2.1.7).
//!
//! Linkers mark a program only if every object has the note. Only AArch64 has guards here, so objects for other
//! machines have no note.

use kingpost_mach::{ControlFlowGuards, ModuleBuffer};
use object::{Architecture, elf};

/// Returns the contents of the note, or `None` if code of `module` lacks every guard. An object without code has all
/// guards.
pub(crate) fn contents(module: &ModuleBuffer, architecture: Architecture) -> Option<Vec<u8>> {
    if architecture != Architecture::Aarch64 {
        return None;
    }
    let every = |has: fn(&ControlFlowGuards) -> bool| module.functions().all(|f| has(&f.function.head.guards));
    let landing_pads = if every(|guards| guards.landing_pads) { elf::GNU_PROPERTY_AARCH64_FEATURE_1_BTI } else { 0 };
    let signed_returns =
        if every(|guards| guards.signed_returns) { elf::GNU_PROPERTY_AARCH64_FEATURE_1_PAC } else { 0 };
    let features = landing_pads | signed_returns;
    // The property is padded to 8 bytes.
    let property = [elf::GNU_PROPERTY_AARCH64_FEATURE_1_AND, 4, features, 0];
    let name = u32::from_le_bytes(*b"GNU\0");
    let head = [4, 4 * property.len() as u32, elf::NT_GNU_PROPERTY_TYPE_0, name];
    (features != 0).then(|| head.into_iter().chain(property).flat_map(u32::to_le_bytes).collect())
}
