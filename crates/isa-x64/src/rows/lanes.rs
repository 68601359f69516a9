//! Lanes of vector registers: shifts by an immediate, single lanes, signs, tests, and operations that only AVX and
//! FMA have.

use super::line::{AVX, AVX2, FMA, SSE41};
use crate::encoding::{of, of3a66, of66, of3866, off2, off3, vex38};
use kingpost_mach::operands::{D4, D8, FD16, FM16, FT16, FU4, FU8, FU16, M4, M8, U4};
use kingpost_mach::{RowKind, rows};

rows! {
    crate::rows::vector::END;

    // Shifts of all lanes by an immediate, and of the whole register by bytes.
    PSLL_RI[w d q] = None "psll* {0}, {i}" [FT16, FU16] of66(0x70 + LOG).digit(6).rm(0).ib(), .upgrade(VPSLL_RRI);
    PSRL_RI[w d q] = None "psrl* {0}, {i}" [FT16, FU16] of66(0x70 + LOG).digit(2).rm(0).ib(), .upgrade(VPSRL_RRI);
    PSRA_RI[w d] = None "psra* {0}, {i}" [FT16, FU16] of66(0x70 + LOG).digit(4).rm(0).ib(), .upgrade(VPSRA_RRI);
    PSLLDQ_RI = None "pslldq {0}, {i}" [FT16, FU16] of66(0x73).digit(7).rm(0).ib(), .upgrade(VPSLLDQ_RRI);
    PSRLDQ_RI = None "psrldq {0}, {i}" [FT16, FU16] of66(0x73).digit(3).rm(0).ib(), .upgrade(VPSRLDQ_RRI);
    VPSLL_RRI[w d q] = None "vpsll* {0}, {1}, {i}" [FD16, FU16] of66(0x70 + LOG).vex().digit(6).v(0).rm(1).ib(), .needs(AVX);
    VPSRL_RRI[w d q] = None "vpsrl* {0}, {1}, {i}" [FD16, FU16] of66(0x70 + LOG).vex().digit(2).v(0).rm(1).ib(), .needs(AVX);
    VPSRA_RRI[w d] = None "vpsra* {0}, {1}, {i}" [FD16, FU16] of66(0x70 + LOG).vex().digit(4).v(0).rm(1).ib(), .needs(AVX);
    VPSLLDQ_RRI = None "vpslldq {0}, {1}, {i}" [FD16, FU16] of66(0x73).vex().digit(7).v(0).rm(1).ib(), .needs(AVX);
    VPSRLDQ_RRI = None "vpsrldq {0}, {1}, {i}" [FD16, FU16] of66(0x73).vex().digit(3).v(0).rm(1).ib(), .needs(AVX);
    // Operand 1 with the lowest lane of operand 2; operand 1 with the low half of operand 2 as its high half; the
    // high halves of operand 2 and operand 1.
    MOVSS_RR = None "movss {0}, {2}" [FT16, FU16, FU4] off3(0x10).reg(0).rm(2);
    MOVSD_RR = None "movsd {0}, {2}" [FT16, FU16, FU8] off2(0x10).reg(0).rm(2);
    MOVLHPS_RR = None "movlhps {0}, {2}" [FT16, FU16, FU8] of(0x16).reg(0).rm(2), .upgrade(VMOVLHPS_RRR);
    MOVHLPS_RR = None "movhlps {0}, {2}" [FT16, FU16, FU16] of(0x12).reg(0).rm(2), .upgrade(VMOVHLPS_RRR);
    VMOVLHPS_RRR = None "vmovlhps {0}, {1}, {2}" [FD16, FU16, FU8] of(0x16).vex().reg(0).v(1).rm(2), .needs(AVX);
    VMOVHLPS_RRR = None "vmovhlps {0}, {1}, {2}" [FD16, FU16, FU16] of(0x12).vex().reg(0).v(1).rm(2), .needs(AVX);
    // The low half alone, zeros above it.
    MOVQ_RR = None "movq {0}, {1}" [FD16, FU8] off3(0x7e).reg(0).rm(1);
    // Insertion of one lane from an integer, by number; from memory.
    PINSRB_RRI = None "pinsrb {0}, {2}, {i}" [FT16, FU16, U4] of3a66(0x20).reg(0).rm(2).ib(), .needs(SSE41), .upgrade(VPINSRB_RRI);
    PINSRW_RRI = None "pinsrw {0}, {2}, {i}" [FT16, FU16, U4] of66(0xc4).reg(0).rm(2).ib(), .upgrade(VPINSRW_RRI);
    PINSRD_RRI = None "pinsrd {0}, {2}, {i}" [FT16, FU16, M4] of3a66(0x22).reg(0).rm(2).ib(), .twin(2, PINSRD_RMI), .needs(SSE41), .upgrade(VPINSRD_RRI);
    PINSRQ_RRI = None "pinsrq {0}, {2}, {i}" [FT16, FU16, M8] of3a66(0x22).w().reg(0).rm(2).ib(), .twin(2, PINSRQ_RMI), .needs(SSE41), .upgrade(VPINSRQ_RRI);
    PINSRB_RMI = None "pinsrb {0}, {m}, {i}" [FT16, FU16] of3a66(0x20).reg(0).mem(1).ib(), .needs(SSE41), .upgrade(VPINSRB_RMI);
    PINSRW_RMI = None "pinsrw {0}, {m}, {i}" [FT16, FU16] of66(0xc4).reg(0).mem(2).ib(), .upgrade(VPINSRW_RMI);
    PINSRD_RMI = None "pinsrd {0}, {m}, {i}" [FT16, FU16] of3a66(0x22).reg(0).mem(4).ib(), .needs(SSE41), .upgrade(VPINSRD_RMI);
    PINSRQ_RMI = None "pinsrq {0}, {m}, {i}" [FT16, FU16] of3a66(0x22).w().reg(0).mem(8).ib(), .needs(SSE41), .upgrade(VPINSRQ_RMI);
    VPINSRB_RRI = None "vpinsrb {0}, {1}, {2}, {i}" [FD16, FU16, U4] of3a66(0x20).vex().reg(0).v(1).rm(2).ib(), .needs(AVX);
    VPINSRW_RRI = None "vpinsrw {0}, {1}, {2}, {i}" [FD16, FU16, U4] of66(0xc4).vex().reg(0).v(1).rm(2).ib(), .needs(AVX);
    VPINSRD_RRI = None "vpinsrd {0}, {1}, {2}, {i}" [FD16, FU16, M4] of3a66(0x22).vex().reg(0).v(1).rm(2).ib(), .twin(2, VPINSRD_RMI), .needs(AVX);
    VPINSRQ_RRI = None "vpinsrq {0}, {1}, {2}, {i}" [FD16, FU16, M8] of3a66(0x22).w().vex().reg(0).v(1).rm(2).ib(), .twin(2, VPINSRQ_RMI), .needs(AVX);
    VPINSRB_RMI = None "vpinsrb {0}, {1}, {m}, {i}" [FD16, FU16] of3a66(0x20).vex().reg(0).v(1).mem(1).ib(), .needs(AVX);
    VPINSRW_RMI = None "vpinsrw {0}, {1}, {m}, {i}" [FD16, FU16] of66(0xc4).vex().reg(0).v(1).mem(2).ib(), .needs(AVX);
    VPINSRD_RMI = None "vpinsrd {0}, {1}, {m}, {i}" [FD16, FU16] of3a66(0x22).vex().reg(0).v(1).mem(4).ib(), .needs(AVX);
    VPINSRQ_RMI = None "vpinsrq {0}, {1}, {m}, {i}" [FD16, FU16] of3a66(0x22).w().vex().reg(0).v(1).mem(8).ib(), .needs(AVX);
    // Insertion of one lane from the lowest lane of operand 2: the immediate is 16 times its number.
    INSERTPS_RRI = None "insertps {0}, {2}, {i}" [FT16, FU16, FU16] of3a66(0x21).reg(0).rm(2).ib(), .needs(SSE41), .upgrade(VINSERTPS_RRI);
    INSERTPS_RMI = None "insertps {0}, {m}, {i}" [FT16, FU16] of3a66(0x21).reg(0).mem(4).ib(), .needs(SSE41), .upgrade(VINSERTPS_RMI);
    VINSERTPS_RRI = None "vinsertps {0}, {1}, {2}, {i}" [FD16, FU16, FU16] of3a66(0x21).vex().reg(0).v(1).rm(2).ib(), .needs(AVX);
    VINSERTPS_RMI = None "vinsertps {0}, {1}, {m}, {i}" [FD16, FU16] of3a66(0x21).vex().reg(0).v(1).mem(4).ib(), .needs(AVX);
    // One lane to an integer, zero-extended; to memory.
    PEXTRB_RRI = None "pextrb {0}, {1}, {i}" [D4, FU16] of3a66(0x14).reg(1).rm(0).ib(), .needs(SSE41);
    PEXTRW_RRI = None "pextrw {0}, {1}, {i}" [D4, FU16] of66(0xc5).reg(0).rm(1).ib();
    PEXTRD_RRI = None "pextrd {0}, {1}, {i}" [D4, FU16] of3a66(0x16).reg(1).rm(0).ib(), .needs(SSE41);
    PEXTRQ_RRI = None "pextrq {0}, {1}, {i}" [D8, FU16] of3a66(0x16).w().reg(1).rm(0).ib(), .needs(SSE41);
    PEXTRB_MRI = None "pextrb {m}, {0}, {i}" [FU16] of3a66(0x14).reg(0).mem(1).ib(), .needs(SSE41), .stores();
    PEXTRW_MRI = None "pextrw {m}, {0}, {i}" [FU16] of3a66(0x15).reg(0).mem(2).ib(), .needs(SSE41), .stores();
    PEXTRD_MRI = None "pextrd {m}, {0}, {i}" [FU16] of3a66(0x16).reg(0).mem(4).ib(), .needs(SSE41), .stores();
    PEXTRQ_MRI = None "pextrq {m}, {0}, {i}" [FU16] of3a66(0x16).w().reg(0).mem(8).ib(), .needs(SSE41), .stores();
    MOVHPS_MR = None "movhps {m}, {0}" [FU16] of(0x17).reg(0).mem(8), .stores();
    // The top bits of all lanes.
    PMOVMSKB_RR = None "pmovmskb {0}, {1}" [D4, FU16] of66(0xd7).reg(0).rm(1);
    MOVMSKP_RR[ss sd] = None "movmskp* {0}, {1}" [D4, FU16] of(0x50).reg(0).rm(1).packed(W);
    // The zero flag is set if no bit is set in both operands.
    PTEST_RR = Def "ptest {0}, {1}" [FU16, FM16] of3866(0x17).reg(0).rm(1), .twin(1, PTEST_RM), .needs(SSE41), .upgrade(VPTEST_RR);
    PTEST_RM = Def "ptest {0}, {m}" [FU16] of3866(0x17).reg(0).mem(16), .needs(SSE41), .upgrade(VPTEST_RM);
    VPTEST_RR = Def "vptest {0}, {1}" [FU16, FM16] of3866(0x17).vex().reg(0).rm(1), .twin(1, VPTEST_RM), .needs(AVX);
    VPTEST_RM = Def "vptest {0}, {m}" [FU16] of3866(0x17).vex().reg(0).mem(16), .needs(AVX);
    // The lowest lane in all lanes.
    VPBROADCASTB_RR = None "vpbroadcastb {0}, {1}" [FD16, FU16] vex38(0x66, 0x78).reg(0).rm(1), .needs(AVX2);
    VPBROADCASTB_RM = None "vpbroadcastb {0}, {m}" [FD16] vex38(0x66, 0x78).reg(0).mem(1), .needs(AVX2);
    VPBROADCASTW_RR = None "vpbroadcastw {0}, {1}" [FD16, FU16] vex38(0x66, 0x79).reg(0).rm(1), .needs(AVX2);
    VPBROADCASTW_RM = None "vpbroadcastw {0}, {m}" [FD16] vex38(0x66, 0x79).reg(0).mem(2), .needs(AVX2);
    VBROADCASTSS_RM = None "vbroadcastss {0}, {m}" [FD16] vex38(0x66, 0x18).reg(0).mem(4), .needs(AVX);
    VBROADCASTSS_CONST = None "vbroadcastss {0}, {m}" [FD16] vex38(0x66, 0x18).reg(0).mem(4), .needs(AVX), .kind(RowKind::Remat);
    // FMA: operand 1 times operand 2, plus or minus operand 3.
    VFMADD213P_RRR[ss sd] = None "vfmadd213p* {0}, {2}, {3}" [FT16, FU16, FU16, FM16] vex38(0x66, 0xa8).reg(0).v(2).rm(3).size(W), .twin(3, VFMADD213P_RRM), .needs(FMA);
    VFMADD213P_RRM[ss sd] = None "vfmadd213p* {0}, {2}, {m}" [FT16, FU16, FU16] vex38(0x66, 0xa8).reg(0).v(2).mem(16).size(W), .needs(FMA);
    VFMSUB213P_RRR[ss sd] = None "vfmsub213p* {0}, {2}, {3}" [FT16, FU16, FU16, FM16] vex38(0x66, 0xaa).reg(0).v(2).rm(3).size(W), .twin(3, VFMSUB213P_RRM), .needs(FMA);
    VFMSUB213P_RRM[ss sd] = None "vfmsub213p* {0}, {2}, {m}" [FT16, FU16, FU16] vex38(0x66, 0xaa).reg(0).v(2).mem(16).size(W), .needs(FMA);
    VFNMADD213P_RRR[ss sd] = None "vfnmadd213p* {0}, {2}, {3}" [FT16, FU16, FU16, FM16] vex38(0x66, 0xac).reg(0).v(2).rm(3).size(W), .twin(3, VFNMADD213P_RRM), .needs(FMA);
    VFNMADD213P_RRM[ss sd] = None "vfnmadd213p* {0}, {2}, {m}" [FT16, FU16, FU16] vex38(0x66, 0xac).reg(0).v(2).mem(16).size(W), .needs(FMA);
    VFNMSUB213P_RRR[ss sd] = None "vfnmsub213p* {0}, {2}, {3}" [FT16, FU16, FU16, FM16] vex38(0x66, 0xae).reg(0).v(2).rm(3).size(W), .twin(3, VFNMSUB213P_RRM), .needs(FMA);
    VFNMSUB213P_RRM[ss sd] = None "vfnmsub213p* {0}, {2}, {m}" [FT16, FU16, FU16] vex38(0x66, 0xae).reg(0).v(2).mem(16).size(W), .needs(FMA);
}
