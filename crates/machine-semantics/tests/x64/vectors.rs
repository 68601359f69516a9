//! Forms of instructions on packed vectors.

use super::forms::memory;

/// Instructions of two operands; with VEX, of three.
const TWO: [&str; 66] = [
    "paddb",
    "paddw",
    "paddd",
    "paddq",
    "psubb",
    "psubw",
    "psubd",
    "psubq",
    "paddsb",
    "paddsw",
    "paddusb",
    "paddusw",
    "psubsb",
    "psubsw",
    "psubusb",
    "psubusw",
    "pavgb",
    "pavgw",
    "pminsb",
    "pminsw",
    "pminsd",
    "pmaxsb",
    "pmaxsw",
    "pmaxsd",
    "pminub",
    "pminuw",
    "pminud",
    "pmaxub",
    "pmaxuw",
    "pmaxud",
    "pmullw",
    "pmulld",
    "pmulhw",
    "pmulhuw",
    "pmuludq",
    "pmuldq",
    "pmaddwd",
    "pmaddubsw",
    "pmulhrsw",
    "psadbw",
    "pcmpeqb",
    "pcmpeqw",
    "pcmpeqd",
    "pcmpeqq",
    "pcmpgtb",
    "pcmpgtw",
    "pcmpgtd",
    "pcmpgtq",
    "psllw",
    "pslld",
    "psllq",
    "psrlw",
    "psrld",
    "psrlq",
    "psraw",
    "psrad",
    "punpcklbw",
    "punpcklwd",
    "punpckldq",
    "punpcklqdq",
    "punpckhbw",
    "punpckhwd",
    "punpckhdq",
    "punpckhqdq",
    "pshufb",
    "packsswb",
];

const MORE_TWO: [&str; 3] = ["packssdw", "packuswb", "packusdw"];

/// Instructions of two operands, with and without VEX, and the size of the source in memory.
const ONE: [(&str, u32); 16] = [
    ("pabsb", 128),
    ("pabsw", 128),
    ("pabsd", 128),
    ("movddup", 64),
    ("pmovsxbw", 64),
    ("pmovsxwd", 64),
    ("pmovsxdq", 64),
    ("pmovzxbw", 64),
    ("pmovzxwd", 64),
    ("pmovzxdq", 64),
    ("cvtdq2ps", 128),
    ("cvttps2dq", 128),
    ("cvtdq2pd", 64),
    ("cvttpd2dq", 128),
    ("cvtps2pd", 64),
    ("cvtpd2ps", 128),
];

/// Returns all forms as lines of assembly.
pub(crate) fn all() -> Vec<String> {
    let mut forms = Vec::new();
    let at = |size: u32| memory(size, "rsi + 8");
    let whole = at(128);
    for op in TWO.into_iter().chain(MORE_TWO) {
        forms.extend([format!("{op} xmm1, xmm9"), format!("{op} xmm9, {whole}"), format!("{op} xmm4, xmm4")]);
        forms.extend([format!("v{op} xmm1, xmm9, xmm3"), format!("v{op} xmm9, xmm2, {whole}")]);
    }
    for (op, size) in ONE {
        forms.extend([format!("{op} xmm1, xmm9"), format!("{op} xmm9, {}", at(size)), format!("v{op} xmm1, xmm9")]);
    }
    for op in ["psllw", "pslld", "psllq", "psrlw", "psrld", "psrlq", "psraw", "psrad", "pslldq", "psrldq"] {
        for count in [0, 1, 7, 8, 15, 16, 31, 63, 200] {
            forms.extend([format!("{op} xmm9, {count}"), format!("v{op} xmm1, xmm9, {count}")]);
        }
    }
    for op in ["pshufd", "pshuflw", "pshufhw"] {
        for selector in [0, 0x1b, 0x93, 0xe4] {
            forms.extend([format!("{op} xmm1, xmm9, {selector}"), format!("v{op} xmm9, {whole}, {selector}")]);
        }
    }
    for op in ["shufps", "shufpd", "palignr", "pblendw"] {
        for selector in [0, 1, 2, 3, 7, 0x1b, 0x93] {
            forms.extend([format!("{op} xmm1, xmm9, {selector}"), format!("v{op} xmm9, xmm2, {whole}, {selector}")]);
        }
    }
    for (mode, op) in [(0, "roundps"), (9, "roundps"), (2, "roundpd"), (11, "roundpd")] {
        forms.extend([format!("{op} xmm1, xmm9, {mode}"), format!("v{op} xmm1, {whole}, {mode}")]);
    }
    lanes(&mut forms);
    for op in ["pmovmskb", "movmskps", "movmskpd"] {
        forms.extend([format!("{op} r9d, xmm9"), format!("v{op} eax, xmm1")]);
    }
    forms.extend(["ptest xmm1, xmm9", "vptest xmm4, xmm4"].map(String::from));
    forms.push(format!("ptest xmm9, {whole}"));
    forms.extend(["movlhps xmm1, xmm9", "movhlps xmm9, xmm1", "vmovlhps xmm1, xmm2, xmm9"].map(String::from));
    forms.extend(["vmovhlps xmm1, xmm2, xmm9".to_string(), format!("movhps {}, xmm9", at(64))]);
    forms.extend(["movlps", "movhps"].map(|op| format!("{op} xmm9, {}", at(64))));
    forms.extend([format!("movlps {}, xmm1", at(64)), format!("vmovhps xmm1, xmm2, {}", at(64))]);
    for (op, size) in [("vpbroadcastb", 8), ("vpbroadcastw", 16)] {
        forms.extend([format!("{op} xmm1, xmm9"), format!("{op} xmm9, {}", at(size))]);
    }
    forms.push(format!("vbroadcastss xmm1, {}", at(32)));
    forms
}

/// Adds insertions and extractions of lanes.
fn lanes(forms: &mut Vec<String>) {
    for (suffix, register, size, lane) in
        [("b", "r9d", 8, 13), ("w", "edx", 16, 5), ("d", "r9d", 32, 2), ("q", "rdx", 64, 1)]
    {
        let at = memory(size, "rsi + 8");
        for lane in [0, lane] {
            forms.extend([
                format!("pinsr{suffix} xmm1, {register}, {lane}"),
                format!("pinsr{suffix} xmm9, {at}, {lane}"),
            ]);
            forms.extend([
                format!("vpinsr{suffix} xmm1, xmm9, {register}, {lane}"),
                format!("pextr{suffix} {register}, xmm9, {lane}"),
            ]);
            forms.extend([
                format!("pextr{suffix} {at}, xmm1, {lane}"),
                format!("vpextr{suffix} {register}, xmm9, {lane}"),
            ]);
        }
    }
    let at = memory(32, "rsi + 8");
    for selector in [0x10, 0x95, 0xfa, 0x21] {
        forms.extend([format!("insertps xmm1, xmm9, {selector}"), format!("vinsertps xmm9, xmm2, {at}, {selector}")]);
    }
}
