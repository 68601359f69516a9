//! Library routines that a file may call by name.

use kingpost_ir::TrapCode;
use kingpost_ir::libcall::LibCall;

use crate::address::DecodedAddress;
use crate::error::{Fault, Stop};
use crate::float;
use crate::memory::{Memory, OutOfBounds};

/// Calls a library routine and returns its results. Missing arguments count as zero.
pub(crate) fn call(memory: &mut Memory, libcall: LibCall, arguments: &[u128]) -> Result<Box<[u128]>, Stop> {
    let [x, y, z] = [0, 1, 2].map(|index| arguments.get(index).copied().unwrap_or(0));
    let result = match libcall {
        LibCall::CeilF32 => Ok(float::ceil(32, x)),
        LibCall::CeilF64 => Ok(float::ceil(64, x)),
        LibCall::FloorF32 => Ok(float::floor(32, x)),
        LibCall::FloorF64 => Ok(float::floor(64, x)),
        LibCall::TruncF32 => Ok(float::trunc(32, x)),
        LibCall::TruncF64 => Ok(float::trunc(64, x)),
        LibCall::NearestF32 => Ok(float::nearest(32, x)),
        LibCall::NearestF64 => Ok(float::nearest(64, x)),
        LibCall::FmaF32 => Ok(float::fma(32, x, y, z)),
        LibCall::FmaF64 => Ok(float::fma(64, x, y, z)),
        LibCall::Memcpy | LibCall::Memmove => in_bounds(copy(memory, x, y, z)),
        LibCall::Memset => in_bounds(fill(memory, x, y, z)),
        LibCall::Memcmp => in_bounds(compare(memory, x, y, z)),
        // Calls made by the expansion of opcodes have the meaning of these opcodes only.
        _ => Err(Fault::NotSupported),
    };
    match result {
        Ok(result) => Ok([result].into()),
        Err(Fault::Trap(code)) => Err(Stop::Trap(code)),
        Err(Fault::NotSupported) => Err(Stop::UnknownFunction { name: format!("%{libcall}") }),
    }
}

/// Returns the number of bytes that a library routine accesses.
pub(crate) fn bytes(libcall: LibCall, arguments: &[u128]) -> u64 {
    match libcall {
        LibCall::Memcpy | LibCall::Memmove | LibCall::Memset | LibCall::Memcmp => {
            arguments.get(2).map_or(0, |&size| size as u64)
        }
        _ => 0,
    }
}

/// Returns the place of a 64-bit address, which library routines take.
fn place(address: u128) -> DecodedAddress {
    DecodedAddress::decode(64, address as u64)
}

fn in_bounds(result: Result<u128, OutOfBounds>) -> Result<u128, Fault> {
    result.map_err(|_| Fault::Trap(TrapCode::HEAP_OUT_OF_BOUNDS))
}

fn copy(memory: &mut Memory, to: u128, from: u128, size: u128) -> Result<u128, OutOfBounds> {
    let bytes = memory.bytes(place(from), size as u64)?.to_vec();
    memory.bytes_mut(place(to), size as u64)?.copy_from_slice(&bytes);
    Ok(to)
}

fn fill(memory: &mut Memory, to: u128, byte: u128, size: u128) -> Result<u128, OutOfBounds> {
    memory.bytes_mut(place(to), size as u64)?.fill(byte as u8);
    Ok(to)
}

/// Returns -1, 0 or 1.
fn compare(memory: &Memory, x: u128, y: u128, size: u128) -> Result<u128, OutOfBounds> {
    let [x, y] = [memory.bytes(place(x), size as u64)?, memory.bytes(place(y), size as u64)?];
    Ok(x.cmp(y) as i128 as u128)
}
