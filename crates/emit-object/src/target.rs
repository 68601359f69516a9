//! The object format of a target.

use crate::coff::Coff;
use crate::elf::Elf;
use crate::error::ObjectError;
use crate::format::Format;
use crate::macho::MachO;
use object::Architecture;
use target_lexicon::{OperatingSystem, Triple};

/// Returns the format and the architecture of a target.
///
/// # Errors
/// If the target has no supported format.
pub(crate) fn format(triple: &Triple) -> Result<(&'static dyn Format, Architecture), ObjectError> {
    use target_lexicon::BinaryFormat as F;
    let unsupported = || ObjectError::Target(triple.to_string());
    let architecture = match triple.architecture {
        target_lexicon::Architecture::X86_64 => Architecture::X86_64,
        target_lexicon::Architecture::Aarch64(_) => Architecture::Aarch64,
        _ => return Err(unsupported()),
    };
    let format: &'static dyn Format = match triple.binary_format {
        F::Elf | F::Unknown => &Elf,
        F::Coff => &Coff,
        F::Macho if matches!(triple.operating_system, OperatingSystem::Darwin(_) | OperatingSystem::MacOSX(_)) => {
            &MachO
        }
        _ => return Err(unsupported()),
    };
    Ok((format, architecture))
}
