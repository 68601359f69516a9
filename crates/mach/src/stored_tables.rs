//! Tables of compiled functions as bytes.

use crate::compiled::{
    BlockEdge, BlockHead, CallSite, ContextPlace, ControlFlowGuards, DebugTag, DebugTagSite, FrameInfo, FunctionHead,
    HandlerSite, KeyedSlot, PatchableCall, Reloc, RelocKind, SrcLocSite, StackMapEntry, SymbolName, TrapSite, UnwindOp,
    UnwindSite, ValueConstant, ValueSite,
};
use crate::stored::Stored;

/// Stores the fields of a struct in order. A struct with another field does not compile.
macro_rules! records {
    ($($name:ident { $($field:ident),+ })+) => {
        $(impl Stored for $name {
            fn write(&self, out: &mut Vec<u8>) {
                let $name { $($field),+ } = self;
                $($field.write(out);)+
            }

            fn read(input: &mut &[u8]) -> Option<$name> {
                Some($name { $($field: Stored::read(input)?),+ })
            }
        })+
    };
}
records! {
    Reloc { offset, kind, symbol, addend }
    TrapSite { offset, code }
    SrcLocSite { offset, srcloc }
    CallSite { return_offset }
    StackMapEntry { return_offset, offset, ty }
    DebugTagSite { offset, of_call, tag }
    PatchableCall { return_offset, bytes }
    KeyedSlot { key, offset, bytes }
    HandlerSite { return_offset, tag, handler_offset, context }
    ValueSite { from, to, value, ty, place }
    ValueConstant { value, ty, bits }
    BlockHead { block, offset }
    BlockEdge { from, to }
    UnwindSite { offset, op }
    FrameInfo { size, incoming_bytes, body_offset, checks_limit, slots_offset }
    ControlFlowGuards { landing_pads, signed_returns }
    FunctionHead { name, align, frame, guards }
}

/// Stores an enum as the number of its variant, and the fields of the variant.
macro_rules! variants {
    ($($name:ident { $($tag:literal $variant:ident $(($($field:ident),+))?),+ })+) => {
        $(impl Stored for $name {
            fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($($field),+))? => {
                        out.push($tag);
                        $($($field.write(out);)+)?
                    })+
                }
            }

            fn read(input: &mut &[u8]) -> Option<$name> {
                match u8::read(input)? {
                    $($tag => {
                        $($(let $field = Stored::read(input)?;)+)?
                        Some($name::$variant $(($($field),+))?)
                    })+
                    _ => None,
                }
            }
        })+
    };
}
variants! {
    SymbolName { 0 Named(word), 1 User(namespace, index), 2 LibCall(libcall), 3 KnownSymbol(symbol), 4 Literal(literal) }
    DebugTag { 0 User(number), 1 StackSlot(offset) }
    ContextPlace { 0 Reg(reg), 1 Stack(offset) }
    UnwindOp {
        0 CfaStackPointer(bytes), 1 CfaPopped(bytes), 2 CfaFramePointer(bytes), 3 Saved(reg, bytes), 4 Allocated(bytes),
        5 Restored(reg), 6 SignedReturnToggled, 7 EpilogueBegin, 8 EpilogueEnd
    }
    RelocKind {
        0 Abs8, 1 Abs4, 2 X86PcRel4, 3 X86CallPcRel4, 4 X86CallPltRel4, 5 X86GotPcRel4, 6 X86TlsGd, 7 X86SecRel,
        8 Aarch64Call, 9 Aarch64AdrPage, 10 Aarch64AddLo12, 11 Aarch64Ld32Lo12, 12 Aarch64Ld64Lo12, 13 Aarch64Ld128Lo12,
        14 Aarch64MovwG0, 15 Aarch64MovwG1, 16 Aarch64MovwG2, 17 Aarch64MovwG3, 18 Aarch64AdrGotPage,
        19 Aarch64LdGotLo12, 20 Aarch64TlsDescAdrPage, 21 Aarch64TlsDescLdLo12, 22 Aarch64TlsDescAddLo12,
        23 Aarch64TlsDescCall, 24 Aarch64SecRelHi12, 25 Aarch64SecRelLo12, 26 X86Tlv, 27 Aarch64TlvPage, 28 Aarch64TlvLo12
    }
}
