//! Vectors: functions that are proved, and code with other lanes or alignments than the function.

use crate::written::{fault, leaf, words};
use kingpost_validate::{Fault, Verdict};

#[test]
fn lanes_have_the_width_of_the_type() {
    let text = "function %f(i32x4, i32x4) -> i32x4 { block0(v0: i32x4, v1: i32x4): v2 = iadd v0, v1 return v2 }";
    assert_eq!(leaf(text, &[0x66, 0x0f, 0xfe, 0xc1]), Verdict::Proved); // paddd xmm0, xmm1
    for other in [0xfc, 0xfd, 0xd4, 0xfa] {
        // paddb, paddw, paddq, psubd
        assert_eq!(fault(leaf(text, &[0x66, 0x0f, other, 0xc1])), Some(Fault::Result(0)));
    }
    assert_eq!(words(text, &[0x4ea1_8400]), Verdict::Proved); // add v0.4s, v0.4s, v1.4s
    assert_eq!(fault(words(text, &[0x4ee1_8400])), Some(Fault::Result(0))); // add v0.2d, v0.2d, v1.2d
    assert_eq!(fault(words(text, &[0x0ea1_8400])), Some(Fault::Result(0))); // add v0.2s, v0.2s, v1.2s
    assert_eq!(fault(words(text, &[0x6ea1_8400])), Some(Fault::Result(0))); // sub v0.4s, v0.4s, v1.4s
}

#[test]
fn shuffles_have_the_mask_of_the_function() {
    let text = "function %f(i8x16, i8x16) -> i8x16 { block0(v0: i8x16, v1: i8x16):
        v2 = shuffle v0, v1, [0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23] return v2 }";
    assert_eq!(leaf(text, &[0x66, 0x0f, 0x62, 0xc1]), Verdict::Proved); // punpckldq xmm0, xmm1
    assert_eq!(fault(leaf(text, &[0x66, 0x0f, 0x61, 0xc1])), Some(Fault::Result(0))); // punpcklwd xmm0, xmm1
    assert_eq!(words(text, &[0x4e81_3800]), Verdict::Proved); // zip1 v0.4s, v0.4s, v1.4s
    assert_eq!(fault(words(text, &[0x4e81_7800])), Some(Fault::Result(0))); // zip2 v0.4s, v0.4s, v1.4s
}

/// Loads 16 bytes by an instruction that faults unless they are aligned.
#[test]
fn aligned_accesses_need_a_promise() {
    let text =
        |flags: &str| format!("function %f(i64) -> i8x16 {{ block0(v0: i64): v1 = load.i8x16 {flags} v0 return v1 }}");
    let (aligned, any) = ([0x0f, 0x28, 0x07], [0x0f, 0x10, 0x07]); // movaps, movups xmm0, [rdi]
    assert_eq!(leaf(&text("notrap"), &any), Verdict::Proved);
    assert_eq!(leaf(&text("notrap aligned"), &aligned), Verdict::Proved);
    assert_eq!(fault(leaf(&text("notrap"), &aligned)), Some(Fault::Alignment));
}

/// Compares lanes of floats by another predicate.
#[test]
fn comparisons_of_float_lanes_are_masks() {
    let text = "function %f(f32x4, f32x4) -> i32x4 { block0(v0: f32x4, v1: f32x4): v2 = fcmp lt v0, v1 return v2 }";
    assert_eq!(leaf(text, &[0x0f, 0xc2, 0xc1, 1]), Verdict::Proved); // cmpltps xmm0, xmm1
    assert_eq!(fault(leaf(text, &[0x0f, 0xc2, 0xc1, 2])), Some(Fault::Result(0))); // cmpleps xmm0, xmm1
    assert_eq!(words(text, &[0x6ea0_e420]), Verdict::Proved); // fcmgt v0.4s, v1.4s, v0.4s
    assert_eq!(fault(words(text, &[0x6ea1_e400])), Some(Fault::Result(0))); // fcmgt v0.4s, v0.4s, v1.4s
}
