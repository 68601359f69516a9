//! Interface to the lowering code that all targets share: names of rows, loads and stores, constants, widths.

use super::cx::Cx;
use super::{branch, vector};
use crate::emit::{fill_row, spill_row};
use crate::immediates;
use crate::regs::{AAPCS_CLOBBERS, AAPCS_KEPT_BYTES, AAPCS_PARTIAL, X15, x};
use crate::rows;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::{Inst, Value};
use kingpost_mach::lower::{CallRows, CommonRows, LowerBackend, PairRows, WideRows, use_widened};
use kingpost_mach::{Address, IndexExtend, LowerError, MInst, RowId};
use kingpost_regalloc::{Block, Clobbers, PReg, PRegSet, RegClass, VReg};

impl<'f> LowerBackend<'f> for Cx<'_, 'f> {
    const ROWS: CommonRows = CommonRows {
        entry: rows::ENTRY,
        ret: rows::RET,
        jump: rows::B,
        branch_if: [rows::B_IF, rows::B_IF_OR, rows::B_IF_AND],
        chain2: rows::B_CHAIN2_R,
        chain3: rows::B_CHAIN3_R,
        trap: rows::UDF,
        trap_if: [rows::TRAP_IF, rows::TRAP_IF_OR, rows::TRAP_IF_AND],
        breakpoint: rows::BRK,
        sequence_point: rows::SEQUENCE_POINT,
        // A linker inserts a veneer where a symbol is out of reach.
        call: CallRows { near: rows::BL_SYM, far: rows::BL_SYM, reg: rows::BLR_R },
        try_call: CallRows { near: rows::TRY_SYM, far: rows::TRY_SYM, reg: rows::TRY_R },
        block_address: rows::ADR_BLOCK,
        move32: rows::MOV_RR.of(32),
        move64: rows::MOV_RR.of(64),
        add64: rows::ADD_RRR.of(64),
        shift_right32: rows::LSR_RRI.of(32),
        shift_right64: rows::LSR_RRI.of(64),
        int_to_float32: rows::FMOV_FR.of(32),
        int_to_float64: rows::FMOV_FR.of(64),
        float_to_int32: rows::FMOV_RF.of(32),
        float_to_int64: rows::FMOV_RF.of(64),
        zero128: rows::MOVI128_ZERO,
        literal128: rows::LDR_FCONST.of(128),
        address: rows::ADDR64_CONST,
        address_got: rows::ADDR64_GOT,
        address_absolute: rows::ADDR64_ABS,
        tls_address: rows::TLS_ADDRESS,
        tls_of_index: (rows::TLS_OF_INDEX, PRegSet::EMPTY),
        // Apple's runtime is known to preserve all other registers that can hold values.
        tls_of_variable: (rows::TLS_OF_VARIABLE, PRegSet::EMPTY.with(x(9)).with(x(15))),
        stack_switch: rows::STACK_SWITCH,
        frame_pointer: rows::MOV64_FROM_FP,
        stack_pointer: rows::MOV64_FROM_SP,
        pinned: rows::MOV64_FROM_X21,
        set_pinned: rows::MOV64_TO_X21,
        wide: WideRows {
            add: [rows::ADDS_RRR.of(64), rows::ADC_RRR.of(64)],
            sub: [rows::SUBS_RRR.of(64), rows::SBC_RRR.of(64)],
            and: rows::AND_RRR.of(64),
            xor: rows::EOR_RRR.of(64),
            shift_right_signed: rows::ASR_RRI.of(64),
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
    const PAYLOADS: [PReg; 2] = [x(0), x(1)];
    const LIBCALL_CLOBBERS: Clobbers =
        Clobbers { lost: AAPCS_CLOBBERS, partial: AAPCS_PARTIAL, kept_bytes: AAPCS_KEPT_BYTES };
    const TLS_ROUTINE: Option<LibCall> = None;
    const TLS_CLOBBERS: PRegSet = PRegSet::EMPTY.with(x(1));
    const SWITCH_RESULT: PRegSet = PRegSet::EMPTY.with(x(0));
    const PROBE_CLOBBERS: PRegSet = PRegSet::EMPTY;
    const PROBE_ROUTINE_CLOBBERS: PRegSet = PRegSet::EMPTY.with(X15);
    const HAS_ENTRY_SCRATCH: bool = true;
    const LEAST_FLOAT_BYTES: u8 = 2;
    const SELECTS_FIRST: bool = true;
    const INDEXES_WITH_DISPLACEMENT: bool = false;

    fn tail_call_rows(&self) -> CallRows {
        let reg = if self.isa.flags.use_bti { rows::TAIL_X16_R } else { rows::TAIL_R };
        CallRows { near: rows::TAIL_SYM, far: rows::TAIL_SYM, reg }
    }

    fn memory_operand(&mut self, addr: Value, offset: i64, bytes: u8, inst: Inst) -> Result<Address, LowerError> {
        self.address(addr, offset, bytes, inst)
    }

    fn emit_lea(&mut self, def: VReg, address: Address) {
        match address {
            Address::Base { base, disp } => self.add_constant(def, base, i64::from(disp), 64),
            Address::Index { base, index, shift, extend, disp } => {
                let sum = if disp == 0 { def } else { self.int_temp(64) };
                self.emit_sum(sum, [base, index], extend, shift);
                if disp != 0 {
                    self.add_constant(def, sum, i64::from(disp), 64);
                }
            }
            // Lowering makes none, because no access of this machine has an index and a displacement.
            Address::SlotIndex { offset, index, shift } => {
                let base = self.int_temp(64);
                self.emit_mem(rows::ADDR64_CONST, &[base], Address::Slot(offset));
                self.emit_sum(def, [base, index], IndexExtend::None, shift);
            }
            Address::Symbol(_) | Address::Slot(_) | Address::Incoming(_) | Address::Outgoing(_) | Address::Table(_) => {
                self.emit_mem(rows::ADDR64_CONST, &[def], address);
            }
        }
    }

    fn add_offset(&mut self, def: VReg, base: VReg, offset: i64) {
        self.add_constant(def, base, offset, 64);
    }

    fn align_down(&mut self, def: VReg, source: VReg, align: u32) {
        let mask = immediates::logical(u64::from(align).wrapping_neg(), 64).expect("the upper bits are a pattern");
        self.emit_imm(rows::AND_RRI.of(64), &[def, source], mask);
    }

    fn load_row(class: RegClass, bytes: u8) -> RowId {
        fill_row(class, bytes)
    }

    fn store_row(class: RegClass, bytes: u8) -> RowId {
        spill_row(class, bytes)
    }

    fn widening_load_row(from: u32, to: u32, signed: bool) -> RowId {
        match (signed, from, to) {
            (false, 8, _) => rows::LDR_RM.of(8),
            (false, 16, _) => rows::LDR_RM.of(16),
            (false, _, _) => rows::LDR_RM.of(32),
            (true, 8, ..=32) => rows::LDRSB_RM.of(32),
            (true, 16, ..=32) => rows::LDRSH_RM.of(32),
            (true, 8, _) => rows::LDRSB_RM.of(64),
            (true, 16, _) => rows::LDRSH_RM.of(64),
            (true, _, _) => rows::LDRSW64_RM,
        }
    }

    fn load_constant(&mut self, def: VReg, value: u64, bits: u32) {
        let (row, mask) =
            if bits < 64 { (rows::CONST_I.of(32), (1 << bits) - 1) } else { (rows::CONST_I.of(64), u64::MAX) };
        self.emit(row, &[def]).set_imm64(value & mask);
    }

    fn load_float(&mut self, def: VReg, value: u64, bits: u32) {
        if value == 0 {
            self.emit(rows::MOVI64_ZERO, &[def]);
        } else if let Some(imm) = immediates::float(value, bits) {
            self.emit_imm(rows::FMOV_FI.of(bits), &[def], imm);
        } else {
            vector::load_vector(self, def, value.into(), bits);
        }
    }

    fn load_vector(&mut self, def: VReg, value: u128) {
        vector::load_vector(self, def, value, 128);
    }

    fn swap_bytes(&mut self, def: VReg, source: VReg, bits: u32) {
        let row = match bits {
            8 => rows::MOV_RR.of(32),
            16 => rows::REV16_RR.of(32),
            32 => rows::REV_RR.of(32),
            _ => rows::REV_RR.of(64),
        };
        self.emit(row, &[def, source]);
    }

    fn zero_extend(&mut self, def: VReg, source: VReg, bits: u32) {
        let row = match bits {
            8 => rows::UXTB32_RR,
            16 => rows::UXTH32_RR,
            32 => rows::MOVZX64_32_RR,
            _ => rows::MOV_RR.of(64),
        };
        self.emit(row, &[def, source]);
    }

    fn sign_extend(&mut self, def: VReg, source: VReg, from: u32, to: u32) {
        let row = match (from, to) {
            (8, ..=32) => rows::SXTB_RR.of(32),
            (16, ..=32) => rows::SXTH_RR.of(32),
            (8, _) => rows::SXTB_RR.of(64),
            (16, _) => rows::SXTH_RR.of(64),
            (32, _) => rows::SXTW64_RR,
            _ => rows::MOV_RR.of(64),
        };
        self.emit(row, &[def, source]);
    }

    fn use_zero_extended(&mut self, value: Value) -> VReg {
        if self.has_zeros(value) { self.use_reg(value) } else { use_widened(self, value, false) }
    }

    fn float_move_row(bits: u32) -> RowId {
        match bits {
            ..=32 => rows::FMOV_FF.of(32),
            64 => rows::FMOV_FF.of(64),
            _ => rows::MOV128_FF,
        }
    }

    fn join_halves(&mut self, def: VReg, low: VReg, high: VReg) {
        let image = self.float_temp(128);
        self.emit(rows::FMOV_FR.of(64), &[image, low]);
        self.emit(rows::INS64_HIGH_FR, &[def, image, high]);
    }

    fn memcpy_args(&self) -> ([PReg; 3], u32) {
        ([x(0), x(1), x(2)], 0)
    }

    fn float_bits(&mut self, def: VReg, source: VReg, bits: u32) {
        self.emit(rows::FMOV_RF.of(bits.max(32)), &[def, source]);
    }

    fn split_halves(&mut self, low: VReg, high: VReg, source: VReg) {
        self.emit(rows::FMOV_RF.of(64), &[low, source]);
        self.emit(rows::UMOV64_HIGH_RF, &[high, source]);
    }

    fn branch_if_below(&mut self, index: VReg, limit: u32, then: Block, other: Block) {
        branch::branch_if_below(self, index, limit, then, other);
    }

    fn jump_by_table(&mut self, index: VReg, table: u32, len: u32) {
        branch::jump_by_table(self, index, table, len);
    }

    fn pair_address(&mut self, addr: Value, inst: Inst) -> Result<Address, LowerError> {
        // Atomic instructions take no other kind of address.
        let base = self.address_in_register(addr, 0, inst)?;
        Ok(Address::Base { base, disp: 0 })
    }

    fn load_pair(&mut self, defs: [VReg; 2], address: Address) -> &mut MInst {
        if !self.isa.flags.has_lse {
            return self.emit_mem(rows::ATOMIC16_READ_M, &defs, address);
        }
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
        if self.isa.flags.has_lse {
            return self.emit_mem(rows::CASPAL64_MR, &[old, expected, new].concat(), address);
        }
        let stored = [self.int_temp(64), self.int_temp(64)];
        self.emit_mem(rows::ATOMIC16_CAS_M, &[old, stored, expected, new].concat(), address)
    }

    fn negate_pair(&mut self, defs: [VReg; 2], source: [VReg; 2]) {
        self.emit(rows::NEGS_RR.of(64), &[defs[0], source[0]]);
        self.emit(rows::NGC_RR.of(64), &[defs[1], source[1]]);
    }

    fn wide_product(&mut self, low: Option<VReg>, high: VReg, x: VReg, y: VReg) {
        if let Some(low) = low {
            self.emit(rows::MUL_RRR.of(64), &[low, x, y]);
        }
        self.emit(rows::UMULH_RRR, &[high, x, y]);
    }

    fn check_stack(&mut self, limit: VReg) {
        branch::check_stack(self, limit);
    }

    fn readjust_sp_after_pop(&mut self, bytes: u32) {
        self.code.moves_stack_pointer = true;
        let (low, high) = (bytes & 0xfff, bytes & !0xfff);
        if u64::from(high) >= 1 << 24 {
            let bytes = self.constant_temp(u64::from(bytes), 64);
            self.emit(rows::SUBSP_R, &[bytes]);
            return;
        }
        for part in [high, low].into_iter().filter(|&part| part > 0) {
            self.emit_imm(rows::SUBSP_I, &[], part as i32);
        }
    }
}
