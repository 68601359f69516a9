//! Evaluation of relocations.

use crate::error::LoadError;
use kingpost_mach::{RelocKind, SymbolName};

/// Addresses for the relocations of a symbol.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Address of the symbol.
    pub symbol: usize,
    /// Address of a nearby jump to the symbol.
    pub stub: usize,
    /// Address of a nearby word that holds the symbol's address.
    pub got: usize,
}

/// Writes the relocation `kind` with `addend` to `field`, which will be at address `place`. `name` is used in errors.
///
/// # Errors
/// If the target is out of reach, or the kind does not occur in code for this machine.
pub fn apply(
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
        RelocKind::Aarch64Call => {
            let words = |to: usize| signed_field((to as i64).wrapping_add(addend).wrapping_sub(place as i64) >> 2, 26);
            insert(words(target.symbol).or_else(|| words(target.stub)).ok_or_else(out_of_reach)?, field);
        }
        RelocKind::Aarch64AdrPage | RelocKind::Aarch64AdrGotPage => {
            let to = if kind == RelocKind::Aarch64AdrPage { target.symbol } else { target.got };
            insert(adrp((to as i64).wrapping_add(addend), place).ok_or_else(out_of_reach)?, field);
        }
        RelocKind::Aarch64AddLo12 => insert(low12((target.symbol as i64).wrapping_add(addend)) << 10, field),
        RelocKind::Aarch64MovwG0 => insert(chunk(target.symbol, addend, 0), field),
        RelocKind::Aarch64MovwG1 => insert(chunk(target.symbol, addend, 1), field),
        RelocKind::Aarch64MovwG2 => insert(chunk(target.symbol, addend, 2), field),
        RelocKind::Aarch64MovwG3 => insert(chunk(target.symbol, addend, 3), field),
        RelocKind::X86TlsGd
        | RelocKind::X86SecRel
        | RelocKind::Aarch64TlsDescAdrPage
        | RelocKind::Aarch64TlsDescLdLo12
        | RelocKind::Aarch64TlsDescAddLo12
        | RelocKind::Aarch64TlsDescCall
        | RelocKind::X86Tlv
        | RelocKind::Aarch64SecRelHi12
        | RelocKind::Aarch64SecRelLo12
        | RelocKind::Aarch64TlvPage
        | RelocKind::Aarch64TlvLo12 => return Err(LoadError::ThreadLocal(name.clone())),
        // The offset of a load is in units of its size.
        RelocKind::Aarch64Ld32Lo12 => insert((low12((target.symbol as i64).wrapping_add(addend)) >> 2) << 10, field),
        RelocKind::Aarch64Ld64Lo12 => insert((low12((target.symbol as i64).wrapping_add(addend)) >> 3) << 10, field),
        RelocKind::Aarch64Ld128Lo12 => insert((low12((target.symbol as i64).wrapping_add(addend)) >> 4) << 10, field),
        RelocKind::Aarch64LdGotLo12 => insert((low12((target.got as i64).wrapping_add(addend)) >> 3) << 10, field),
    }
    Ok(())
}

/// Adds a field to an instruction word whose bits are zero there.
fn insert(bits: u32, field: &mut [u8]) {
    let word = u32::from_le_bytes([field[0], field[1], field[2], field[3]]);
    field[..4].copy_from_slice(&(word | bits).to_le_bytes());
}

/// Returns the low `bits` bits of a signed number; `None` if it does not fit.
fn signed_field(value: i64, bits: u32) -> Option<u32> {
    let half = 1 << (bits - 1);
    (-half..half).contains(&value).then_some(value as u32 & ((1 << bits) - 1))
}

fn low12(address: i64) -> u32 {
    address as u32 & 0xfff
}

/// Returns the immediate field of a move of 16 bits of an address. `number` counts the groups of 16 bits from the low
/// end.
fn chunk(symbol: usize, addend: i64, number: u32) -> u32 {
    let address = (symbol as i64).wrapping_add(addend) as u64;
    ((address >> (16 * number)) as u32 & 0xffff) << 5
}

/// Returns the immediate fields of an `adrp` at `place`: the distance to the page of `address`, with its two low bits
/// at the top.
fn adrp(address: i64, place: usize) -> Option<u32> {
    let pages = signed_field((address >> 12) - (place as i64 >> 12), 21)?;
    Some((pages & 3) << 29 | (pages >> 2) << 5)
}

/// Returns the number of bytes that a relocation writes.
pub fn field_len(kind: RelocKind) -> usize {
    if kind == RelocKind::Abs8 { 8 } else { 4 }
}

/// Size of a stub in bytes.
pub const STUB_LEN: usize = 16;

/// Writes a stub for this machine: a jump to the address that is stored at `got`, which is near.
pub fn stub(at: usize, got: usize, out: &mut [u8]) {
    if cfg!(target_arch = "aarch64") { stub_aarch64(at, got, out) } else { stub_x64(at, got, out) }
}

/// Writes `jmp [rip + distance]`, and padding.
fn stub_x64(at: usize, got: usize, out: &mut [u8]) {
    let distance = (got as i64 - (at as i64 + 6)) as i32;
    out[..2].copy_from_slice(&[0xff, 0x25]);
    out[2..6].copy_from_slice(&distance.to_le_bytes());
    out[6..STUB_LEN].fill(0xcc);
}

/// Writes `adrp x16, got; ldr x16, [x16, low part of got]; br x16`, and padding.
fn stub_aarch64(at: usize, got: usize, out: &mut [u8]) {
    let page = adrp(got as i64, at).expect("the address table is near the code");
    let words = [0x9000_0010 | page, 0xf940_0210 | (low12(got as i64) >> 3) << 10, 0xd61f_0200, 0];
    out[..STUB_LEN].copy_from_slice(&words.map(u32::to_le_bytes).concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: RelocKind, word: u32, place: usize, expected: Result<u32, ()>) {
        let name = SymbolName::named("f");
        let target = Target { symbol: 0x1234_5678, stub: 0x40_0100, got: 0x40_1ff8 };
        let mut field = word.to_le_bytes();
        let applied = apply(kind, target, 8, place, &mut field, &name).map(|()| u32::from_le_bytes(field));
        let expected = expected.map_err(|()| LoadError::OutOfReach(name, kind));
        assert_eq!(applied, expected, "{kind:?}");
    }

    #[test]
    fn fields_of_instructions_are_filled() {
        let call = 0x9400_0000;
        check(RelocKind::Aarch64Call, call, 0x1234_0000, Ok(call | 0x15a0)); // bl 0x12345680
        check(RelocKind::Aarch64Call, call, 0x1234_6000, Ok(call | 0x3ff_fda0));
        check(RelocKind::Aarch64Call, call, 0x40_0000, Ok(call | 0x42)); // by way of the stub
        check(RelocKind::Aarch64Call, call, 0x4000_0000, Err(()));
        check(RelocKind::Aarch64AdrPage, 0x9000_0001, 0x1234_0000, Ok(0xb000_0021)); // adrp x1, 5 pages up
        check(RelocKind::Aarch64AdrPage, 0x9000_0001, 0x1234_6000, Ok(0xf0ff_ffe1)); // 1 page down
        check(RelocKind::Aarch64AddLo12, 0x9100_0021, 0, Ok(0x911a_0021)); // add x1, x1, #0x680
        check(RelocKind::Aarch64Ld32Lo12, 0xbd40_0201, 0, Ok(0xbd46_8201)); // ldr s1, [x16, #0x680]
        check(RelocKind::Aarch64Ld64Lo12, 0xfd40_0201, 0, Ok(0xfd43_4201)); // ldr d1, [x16, #0x680]
        check(RelocKind::Aarch64Ld128Lo12, 0x3dc0_0201, 0, Ok(0x3dc1_a201)); // ldr q1, [x16, #0x680]
        check(RelocKind::Aarch64MovwG0, 0xd280_0003, 0, Ok(0xd28a_d003)); // movz x3, #0x5680
        check(RelocKind::Aarch64MovwG1, 0xf2a0_0003, 0, Ok(0xf2a2_4683)); // movk x3, #0x1234, lsl #16
        check(RelocKind::Aarch64AdrGotPage, 0x9000_0001, 0x40_0000, Ok(0xd000_0001)); // 2 pages up
        check(RelocKind::Aarch64LdGotLo12, 0xf940_0021, 0, Ok(0xf940_0021)); // ldr x1, [x1]
        check(RelocKind::Aarch64AdrPage, 0x9000_0001, 1 << 40, Err(()));
    }

    /// Checks that four bytes hold an address without a sign, like in objects.
    #[test]
    fn absolute_addresses_have_no_sign() {
        let name = SymbolName::named("f");
        let written = |symbol: usize, addend| {
            let mut field = [0; 4];
            let target = Target { symbol, stub: 0, got: 0 };
            apply(RelocKind::Abs4, target, addend, 0, &mut field, &name).map(|()| u32::from_le_bytes(field)).ok()
        };
        assert_eq!([written(0xffff_fff0, 15), written(1, -2), written(1 << 32, 0)], [Some(u32::MAX), None, None]);
    }

    #[test]
    fn stubs_load_their_target() {
        let mut out = [0; STUB_LEN];
        stub_aarch64(0x40_0100, 0x40_1ff8, &mut out);
        // adrp x16, 1 page up; ldr x16, [x16, #0xff8]; br x16
        let words = [0xb000_0010_u32, 0xf947_fe10, 0xd61f_0200, 0];
        assert_eq!(out[..], words.map(u32::to_le_bytes).concat());
        stub_x64(0x40_0100, 0x40_1ff8, &mut out);
        assert_eq!(out[..6], [0xff, 0x25, 0xf2, 0x1e, 0, 0]);
    }
}
