//! What each relocation writes.

use crate::error::LoadError;
use kingpost_mach::{RelocKind, SymbolName};

/// Addresses a relocation may need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// The symbol.
    pub(crate) symbol: usize,
    /// A nearby jump to it.
    pub(crate) stub: usize,
    /// A nearby word that holds its address.
    pub(crate) got: usize,
}

/// Writes the relocation `kind` with `addend` to `field`, which will be at address `place`.
pub(crate) fn apply(
    kind: RelocKind,
    target: Target,
    addend: i64,
    place: usize,
    field: &mut [u8],
    name: &SymbolName,
) -> Result<(), LoadError> {
    let out_of_reach = || LoadError::OutOfReach(name.clone(), kind);
    let distance = |to: usize| {
        let distance = (to as i64).wrapping_add(addend).wrapping_sub(place as i64);
        i32::try_from(distance).map(i32::to_le_bytes).map_err(|_| out_of_reach())
    };
    match kind {
        RelocKind::Abs8 => field[..8].copy_from_slice(&(target.symbol as i64).wrapping_add(addend).to_le_bytes()),
        RelocKind::Abs4 => {
            let value = (target.symbol as i64).wrapping_add(addend);
            field[..4].copy_from_slice(&u32::try_from(value).map_err(|_| out_of_reach())?.to_le_bytes());
        }
        RelocKind::X86PcRel4 => field[..4].copy_from_slice(&distance(target.symbol)?),
        RelocKind::X86CallPcRel4 | RelocKind::X86CallPltRel4 => {
            field[..4].copy_from_slice(&distance(target.symbol).or_else(|_| distance(target.stub))?);
        }
        RelocKind::X86GotPcRel4 => field[..4].copy_from_slice(&distance(target.got)?),
        RelocKind::Aarch64Call
        | RelocKind::Aarch64AdrPage
        | RelocKind::Aarch64AddLo12
        | RelocKind::Aarch64AdrGotPage
        | RelocKind::Aarch64LdGotLo12 => return Err(LoadError::Relocation(kind)),
    }
    Ok(())
}

/// Bytes that a relocation writes.
pub(crate) fn field_len(kind: RelocKind) -> usize {
    if kind == RelocKind::Abs8 { 8 } else { 4 }
}

/// A jump to the address that stands at `got`: `jmp [rip + distance]`, padded to [`STUB_LEN`].
pub(crate) fn stub(at: usize, got: usize, out: &mut [u8]) {
    let distance = (got as i64 - (at as i64 + 6)) as i32;
    out[..2].copy_from_slice(&[0xff, 0x25]);
    out[2..6].copy_from_slice(&distance.to_le_bytes());
    out[6..STUB_LEN].fill(0xcc);
}

/// Bytes of a stub.
pub(crate) const STUB_LEN: usize = 8;
