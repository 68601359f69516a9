//! Interface to the lowering code that all targets share: names of rows, loads and stores, constants, widths.

use super::branch;
use super::convert::sign_extend_rows;
use super::cx::Cx;
use super::vector::repeated;
use crate::abi::SHADOW_BYTES;
use crate::edit::{fill_row, spill_row};
use crate::frame::PROBE_CLOBBERS;
use crate::regs::{R8, RAX, RCX, RDI, RDX, RSI, SYSV_CLOBBERED_INTS, SYSV_CLOBBERS};
use crate::rows;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::signature::CallConv;
use kingpost_ir::{Inst, TrapCode, Value};
use kingpost_mach::lower::{CallRows, CommonRows, LowerBackend, PairRows, WideRows};
use kingpost_mach::{Address, LowerError, MInst, RowId};
use kingpost_regalloc::{Block, Clobbers, PReg, PRegSet, RegClass, VReg};

impl<'f> LowerBackend<'f> for Cx<'_, 'f> {
    const ROWS: CommonRows = CommonRows {
        entry: rows::ENTRY,
        ret: rows::RET,
        jump: rows::JMP,
        branch_if: [rows::JCC, rows::JCC_OR, rows::JCC_AND],
        chain2: rows::JCHAIN2_R,
        chain3: rows::JCHAIN3_R,
        trap: rows::UD2,
        trap_if: [rows::TRAP_IF, rows::TRAP_IF_OR, rows::TRAP_IF_AND],
        breakpoint: rows::INT3,
        sequence_point: rows::SEQUENCE_POINT,
        call: CallRows { near: rows::CALL_SYM, far: rows::CALL_PLT, reg: rows::CALL_R },
        try_call: CallRows { near: rows::TRY_SYM, far: rows::TRY_PLT, reg: rows::TRY_R },
        block_address: rows::LEA64_BLOCK,
        move32: rows::MOV_RR.of(32),
        move64: rows::MOV_RR.of(64),
        add64: rows::ADD_RR.of(64),
        shift_right32: rows::SHR_RI.of(32),
        shift_right64: rows::SHR_RI.of(64),
        int_to_float32: rows::MOV_FR.of(32),
        int_to_float64: rows::MOV_FR.of(64),
        float_to_int32: rows::MOV_RF.of(32),
        float_to_int64: rows::MOV_RF.of(64),
        zero128: rows::XORPS_ZERO,
        literal128: rows::MOVUPS_CONST,
        address: rows::LEA64_CONST,
        address_got: rows::MOV64_GOT,
        address_absolute: rows::MOVABS_ABS,
        tls_address: rows::TLS_ADDRESS,
        tls_of_index: (rows::TLS_OF_INDEX, PRegSet::EMPTY.with(RCX)),
        // The routine is only known to preserve the other integer registers.
        tls_of_variable: (rows::TLS_OF_VARIABLE, SYSV_CLOBBERS.difference(SYSV_CLOBBERED_INTS).with(RDI)),
        stack_switch: rows::STACK_SWITCH,
        frame_pointer: rows::MOV64_FROM_RBP,
        stack_pointer: rows::MOV64_FROM_RSP,
        pinned: rows::MOV64_FROM_R15,
        set_pinned: rows::MOV64_TO_R15,
        wide: WideRows {
            add: [rows::ADD_RR.of(64), rows::ADC_RR.of(64)],
            sub: [rows::SUB_RR.of(64), rows::SBB_RR.of(64)],
            and: rows::AND_RR.of(64),
            xor: rows::XOR_RR.of(64),
            shift_right_signed: rows::SAR_RI.of(64),
        },
        pairs: PairRows {
            swap: rows::ATOMIC16_SWAP_M,
            and: rows::ATOMIC16_AND_M,
            nand: rows::ATOMIC16_NAND_M,
            or: rows::ATOMIC16_OR_M,
            xor: rows::ATOMIC16_XOR_M,
            add: [rows::ATOMIC16_ADD_M, rows::ATOMIC16_ADD_BIG_M],
            umin: [rows::ATOMIC16_UMIN_M, rows::ATOMIC16_UMIN_BIG_M],
            umax: [rows::ATOMIC16_UMAX_M, rows::ATOMIC16_UMAX_BIG_M],
            smin: [rows::ATOMIC16_SMIN_M, rows::ATOMIC16_SMIN_BIG_M],
            smax: [rows::ATOMIC16_SMAX_M, rows::ATOMIC16_SMAX_BIG_M],
        },
    };
    const PAYLOADS: [PReg; 2] = [RAX, RDX];
    const LIBCALL_CLOBBERS: Clobbers = Clobbers { lost: SYSV_CLOBBERS, partial: PRegSet::EMPTY, kept_bytes: 0 };
    const TLS_ROUTINE: Option<LibCall> = Some(LibCall::ElfTlsGetAddr);
    const TLS_CLOBBERS: PRegSet = SYSV_CLOBBERS.difference(PRegSet::EMPTY.with(RAX));
    const SWITCH_RESULT: PRegSet = PRegSet::EMPTY.with(RDI);
    const PROBE_CLOBBERS: PRegSet = PROBE_CLOBBERS;
    const PROBE_ROUTINE_CLOBBERS: PRegSet = PRegSet::EMPTY;
    const HAS_ENTRY_SCRATCH: bool = false;
    const LEAST_FLOAT_BYTES: u8 = 4;
    const SELECTS_FIRST: bool = false;
    const INDEXES_WITH_DISPLACEMENT: bool = true;

    fn tail_call_rows(&self) -> CallRows {
        CallRows { near: rows::TAIL_SYM, far: rows::TAIL_PLT, reg: rows::TAIL_R }
    }

    fn memory_operand(&mut self, addr: Value, offset: i64, _bytes: u8, inst: Inst) -> Result<Address, LowerError> {
        self.address(addr, offset, inst)
    }

    fn emit_lea(&mut self, def: VReg, address: Address) {
        let row = match address {
            Address::Base { .. } | Address::Index { .. } | Address::SlotIndex { .. } => rows::LEA_RM.of(64),
            Address::Symbol(_) | Address::Slot(_) | Address::Incoming(_) | Address::Outgoing(_) | Address::Table(_) => {
                rows::LEA64_CONST
            }
        };
        self.emit_mem(row, &[def], address);
    }

    fn add_offset(&mut self, def: VReg, base: VReg, offset: i64) {
        match i32::try_from(offset) {
            Ok(disp) => self.emit_lea(def, Address::Base { base, disp }),
            Err(_) => {
                let far = self.constant_temp(offset as u64, 64);
                self.emit(rows::ADD_RR.of(64), &[def, base, far]);
            }
        }
    }

    fn align_down(&mut self, def: VReg, source: VReg, align: u32) {
        self.emit_imm(rows::AND_RI.of(64), &[def, source], (align as i32).wrapping_neg());
    }

    fn load_row(class: RegClass, bytes: u8) -> RowId {
        fill_row(class, bytes)
    }

    fn store_row(class: RegClass, bytes: u8) -> RowId {
        spill_row(class, bytes)
    }

    fn widening_load_row(from: u32, to: u32, signed: bool) -> RowId {
        match (signed, from) {
            (true, _) => sign_extend_rows(from, to).1,
            (false, 8) => rows::MOVZX32_RM.of(8),
            (false, 16) => rows::MOVZX32_RM.of(16),
            (false, _) => rows::MOV_RM.of(32),
        }
    }

    fn load_constant(&mut self, def: VReg, value: u64, bits: u32) {
        let value = if bits < 64 { value & ((1 << bits) - 1) } else { value };
        if u32::try_from(value).is_ok() {
            self.emit_imm(rows::MOV32_RI, &[def], value as u32 as i32);
        } else if i32::try_from(value as i64).is_ok() {
            self.emit_imm(rows::MOV64_RI, &[def], value as i32);
        } else {
            self.emit(rows::MOVABS_RI, &[def]).set_imm64(value);
        }
    }

    fn load_float(&mut self, def: VReg, value: u64, bits: u32) {
        if value == 0 {
            self.emit(rows::XORPS_ZERO, &[def]);
            return;
        }
        let row = if bits == 32 { rows::MOVS_CONST.of(32) } else { rows::MOVS_CONST.of(64) };
        let literal = self.literal(&value.to_le_bytes()[..bits as usize / 8]);
        self.emit_mem(row, &[def], literal);
    }

    fn load_vector(&mut self, def: VReg, value: u128) {
        match value {
            0 => self.emit(rows::XORPS_ZERO, &[def]),
            u128::MAX => self.emit(rows::PCMPEQD_ONES, &[def]),
            _ if value == repeated(value as u64, 32) && self.can(rows::VBROADCASTSS_CONST) => {
                let literal = self.literal(&value.to_le_bytes()[..4]);
                self.emit_mem(rows::VBROADCASTSS_CONST, &[def], literal)
            }
            _ => {
                let literal = self.literal(&value.to_le_bytes());
                self.emit_mem(rows::MOVUPS_CONST, &[def], literal)
            }
        };
    }

    fn swap_bytes(&mut self, def: VReg, source: VReg, bits: u32) {
        match bits {
            8 => self.emit(rows::MOV_RR.of(32), &[def, source]),
            16 => self.emit_imm(rows::ROL_RI.of(16), &[def, source], 8),
            32 => self.emit(rows::BSWAP_R.of(32), &[def, source]),
            _ => self.emit(rows::BSWAP_R.of(64), &[def, source]),
        };
    }

    fn zero_extend(&mut self, def: VReg, source: VReg, bits: u32) {
        let row = match bits {
            8 => rows::MOVZX32_RR.of(8),
            16 => rows::MOVZX32_RR.of(16),
            32 => rows::MOVZX64_32_RR,
            _ => rows::MOV_RR.of(64),
        };
        self.emit(row, &[def, source]);
    }

    fn sign_extend(&mut self, def: VReg, source: VReg, from: u32, to: u32) {
        self.emit(sign_extend_rows(from, to).0, &[def, source]);
    }

    fn float_move_row(_bits: u32) -> RowId {
        rows::MOVAPS_RR
    }

    fn join_halves(&mut self, def: VReg, low: VReg, high: VReg) {
        let (low_half, high_half) = (self.float_temp(128), self.float_temp(128));
        self.emit(rows::MOV_FR.of(64), &[low_half, low]);
        self.emit(rows::MOV_FR.of(64), &[high_half, high]);
        self.emit(rows::MOVLHPS_RR, &[def, low_half, high_half]);
    }

    fn memcpy_args(&self) -> ([PReg; 3], u32) {
        match self.settings.libcall_convention() {
            CallConv::WindowsFastcall => ([RCX, RDX, R8], SHADOW_BYTES as u32),
            _ => ([RDI, RSI, RDX], 0),
        }
    }

    fn float_bits(&mut self, def: VReg, source: VReg, bits: u32) {
        self.emit(rows::MOV_RF.of(bits.max(32)), &[def, source]);
    }

    fn split_halves(&mut self, low: VReg, high: VReg, source: VReg) {
        let high_half = self.float_temp(128);
        self.emit(rows::MOV_RF.of(64), &[low, source]);
        self.emit_imm(rows::PSHUFD, &[high_half, source], 0xee);
        self.emit(rows::MOV_RF.of(64), &[high, high_half]);
    }

    fn branch_if_below(&mut self, index: VReg, limit: u32, then: Block, other: Block) {
        branch::branch_if_below(self, index, limit, then, other);
    }

    fn jump_by_table(&mut self, index: VReg, table: u32, len: u32) {
        branch::jump_by_table(self, index, table, len);
    }

    fn pair_address(&mut self, addr: Value, inst: Inst) -> Result<Address, LowerError> {
        if self.isa.flags.has_cmpxchg16b { self.address(addr, 0, inst) } else { Err(self.unsupported(inst)) }
    }

    fn load_pair(&mut self, defs: [VReg; 2], address: Address) -> &mut MInst {
        // Compare-and-exchange of zero with zero reads the value.
        let [a, b, c, d] = [(); 4].map(|()| self.constant_temp(0, 64));
        self.compare_exchange_pair(defs, [a, b], [c, d], address)
    }

    fn compare_exchange_pair(
        &mut self,
        old: [VReg; 2],
        expected: [VReg; 2],
        new: [VReg; 2],
        address: Address,
    ) -> &mut MInst {
        self.emit_mem(rows::LOCK_CMPXCHG16B_M, &[old, expected, new].concat(), address)
    }

    fn negate_pair(&mut self, defs: [VReg; 2], source: [VReg; 2]) {
        let zero = self.constant_temp(0, 64);
        self.emit(rows::NEG_R.of(64), &[defs[0], source[0]]);
        self.emit(rows::SBB_RR.of(64), &[defs[1], zero, source[1]]);
    }

    fn wide_product(&mut self, low: Option<VReg>, high: VReg, x: VReg, y: VReg) {
        let low = low.unwrap_or_else(|| self.int_temp(64));
        self.emit(rows::MULWIDE_R.of(64), &[low, high, x, y]);
    }

    fn check_stack(&mut self, limit: VReg) {
        self.emit(rows::STACK_CHECK_R, &[limit]).set_trap(Some(TrapCode::STACK_OVERFLOW));
    }

    fn readjust_sp_after_pop(&mut self, bytes: u32) {
        self.code.moves_stack_pointer = true;
        self.emit_imm(rows::SUBRSP_I, &[], bytes as i32);
    }
}
