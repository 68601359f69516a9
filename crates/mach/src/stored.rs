//! Compiled functions as bytes, for stores that outlive the process.
//!
//! Numbers are little-endian and have their own width. Lists have their length in front. There is no version and no
//! checksum, because a store has both for its whole entry.

use crate::literal::Literal;
use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_ir::{TrapCode, Type};
use kingpost_regalloc::PReg;
use std::sync::Arc;

/// A value that bytes store.
pub(crate) trait Stored: Sized {
    /// Appends the value to `out`.
    fn write(&self, out: &mut Vec<u8>);

    /// Removes a value from the beginning of `input`. Returns `None` if there is no value of this type.
    fn read(input: &mut &[u8]) -> Option<Self>;

    /// Appends a list to `out`.
    fn write_list(list: &[Self], out: &mut Vec<u8>) {
        write_len(list.len(), out);
        list.iter().for_each(|item| item.write(out));
    }

    /// Removes a list from the beginning of `input`, and appends its items to `list`.
    fn read_list(input: &mut &[u8], list: &mut Vec<Self>) -> Option<()> {
        let len = u64::read(input)?;
        (0..len).try_for_each(|_| {
            list.push(Self::read(input)?);
            Some(())
        })
    }
}

fn write_len(len: usize, out: &mut Vec<u8>) {
    (len as u64).write(out);
}

/// Removes the first `len` bytes of `input`.
fn split<'a>(input: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (first, rest) = input.split_at_checked(len)?;
    *input = rest;
    Some(first)
}

/// Bytes are copied as a whole.
impl Stored for u8 {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn read(input: &mut &[u8]) -> Option<u8> {
        split(input, 1).map(|bytes| bytes[0])
    }

    fn write_list(list: &[u8], out: &mut Vec<u8>) {
        write_len(list.len(), out);
        out.extend_from_slice(list);
    }

    fn read_list(input: &mut &[u8], list: &mut Vec<u8>) -> Option<()> {
        list.extend_from_slice(read_bytes(input)?);
        Some(())
    }
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Stored for $number {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(input: &mut &[u8]) -> Option<$number> {
                split(input, size_of::<$number>())?.try_into().ok().map(<$number>::from_le_bytes)
            }
        })+
    };
}
numbers!(u16, u32, u64, i64);

/// Stores a type as a value of another one, from which not every value has to be one of the type.
macro_rules! converted {
    ($($ty:ty: $stored:ty, $to:expr, $from:expr;)+) => {
        $(impl Stored for $ty {
            fn write(&self, out: &mut Vec<u8>) {
                let to: fn(&$ty) -> $stored = $to;
                to(self).write(out);
            }

            fn read(input: &mut &[u8]) -> Option<$ty> {
                let from: fn($stored) -> Option<$ty> = $from;
                from(<$stored>::read(input)?)
            }
        })+
    };
}
converted! {
    bool: u8, |&flag| flag.into(), |byte| (byte < 2).then_some(byte == 1);
    Type: u16, |ty| ty.code(), Type::try_from_code;
    TrapCode: u8, |code| code.byte(), TrapCode::from_byte;
    PReg: u8, |reg| reg.index() as u8, |index| (usize::from(index) < PReg::COUNT).then(|| PReg::from_index(index.into()));
    LibCall: u8, |&libcall| libcall as u8, |index| LibCall::ALL.get(usize::from(index)).copied();
    KnownSymbol: u8, |&symbol| symbol as u8, |index| KnownSymbol::ALL.get(usize::from(index)).copied();
}

/// Removes a list of bytes from the beginning of `input`.
fn read_bytes<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(u64::read(input)?).ok()?;
    split(input, len)
}

impl Stored for Literal {
    fn write(&self, out: &mut Vec<u8>) {
        u8::write_list(self.bytes(), out);
    }

    fn read(input: &mut &[u8]) -> Option<Literal> {
        Literal::new(read_bytes(input)?)
    }
}

impl Stored for Arc<str> {
    fn write(&self, out: &mut Vec<u8>) {
        u8::write_list(self.as_bytes(), out);
    }

    fn read(input: &mut &[u8]) -> Option<Arc<str>> {
        std::str::from_utf8(read_bytes(input)?).ok().map(Arc::from)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        self.iter().for_each(|value| value.write(out));
    }

    fn read(input: &mut &[u8]) -> Option<Option<T>> {
        if bool::read(input)? { T::read(input).map(Some) } else { Some(None) }
    }
}
