//! Forms of instructions that are compared with the processor.

/// Names of general registers by size, in the order of their numbers.
const NAMES: [(u32, [&str; 16]); 4] = [
    (
        8,
        [
            "al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b",
            "r15b",
        ],
    ),
    (
        16,
        ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"],
    ),
    (
        32,
        [
            "eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d",
            "r14d", "r15d",
        ],
    ),
    (
        64,
        ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"],
    ),
];

const WORDS: [(u32, &str); 5] = [(8, "byte"), (16, "word"), (32, "dword"), (64, "qword"), (128, "xmmword")];

const CONDITIONS: [&str; 16] = ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"];

fn name(size: u32, number: usize) -> &'static str {
    NAMES.iter().find(|(bits, _)| *bits == size).unwrap().1[number]
}

/// Returns a memory operand of `size` bits.
pub(crate) fn memory(size: u32, address: &str) -> String {
    format!("{} ptr [{address}]", WORDS.iter().find(|(bits, _)| *bits == size).unwrap().1)
}

/// Returns all forms as lines of assembly. The target of a branch is `7f`.
pub(crate) fn all() -> Vec<String> {
    let mut forms = Vec::new();
    arithmetic(&mut forms);
    moves(&mut forms);
    shifts(&mut forms);
    products(&mut forms);
    bits(&mut forms);
    exchanges(&mut forms);
    control(&mut forms);
    floats(&mut forms);
    forms
}

fn arithmetic(forms: &mut Vec<String>) {
    let addresses = ["r8 + 8", "rip + memory + 8", "rbp + r12*4 - 5", "rsp", "r13 + rcx*8 + 1000", "memory + r15*2"];
    for op in ["add", "or", "adc", "sbb", "and", "sub", "xor", "cmp", "test"] {
        for size in [8, 16, 32, 64] {
            let at = memory(size, addresses[forms.len() % addresses.len()]);
            let [a, b, c, d] = [0, 3, 9, 6].map(|number| name(size, number));
            forms.extend([format!("{op} {a}, {b}"), format!("{op} {c}, {d}"), format!("{op} {d}, {d}")]);
            if op != "test" {
                forms.extend([format!("{{load}} {op} {b}, {c}"), format!("{op} {b}, {at}")]);
                forms.push(format!("{op} {d}, -3"));
            }
            forms.extend([format!("{op} {at}, {c}"), format!("{op} {c}, 100"), format!("{op} {at}, -7")]);
            let long = [0, 0x71, 0x1234, 0x1234_5678, -0x1234_5678][(size.ilog2() - 2) as usize];
            forms.extend([format!("{op} {a}, {long}"), format!("{op} {d}, {long}"), format!("{op} {at}, {long}")]);
            if op != "cmp" && op != "test" {
                forms.extend([format!("lock {op} {at}, {c}"), format!("lock {op} {at}, 5")]);
            }
        }
        forms.extend([format!("{op} ah, bl"), format!("{op} dl, ch"), format!("{op} bh, bh"), format!("{op} dh, 200")]);
    }
    for op in ["inc", "dec", "neg", "not"] {
        for size in [8, 16, 32, 64] {
            let at = memory(size, "r14 + 3");
            forms.extend([format!("{op} {}", name(size, 1)), format!("{op} {}", name(size, 10))]);
            forms.extend([format!("{op} {at}"), format!("lock {op} {at}")]);
        }
        forms.push(format!("{op} ah"));
    }
    forms.extend(["cbw", "cwde", "cdqe", "cwd", "cdq", "cqo", "clc", "stc", "cmc"].map(String::from));
}

fn moves(forms: &mut Vec<String>) {
    for size in [8, 16, 32, 64] {
        let at = memory(size, "r11 + rdx - 100");
        let [a, b, c] = [0, 7, 9].map(|number| name(size, number));
        forms.extend([format!("mov {a}, {b}"), format!("{{load}} mov {c}, {b}"), format!("mov {c}, {at}")]);
        forms.extend([format!("mov {at}, {b}"), format!("mov {at}, -77"), format!("mov {b}, -77")]);
    }
    forms.extend(
        ["mov rbx, 0x123456789abcdef0", "mov r9d, 0x89abcdef", "mov r9, -2", "mov ah, 5", "mov ch, dl"]
            .map(String::from),
    );
    for extension in ["movzx", "movsx"] {
        for (from, to) in [(8, 16), (8, 32), (8, 64), (16, 32), (16, 64)] {
            let (target, at) = (name(to, 12), memory(from, "rbx + rsi*2"));
            forms.extend([format!("{extension} {target}, {}", name(from, 6)), format!("{extension} {target}, {at}")]);
        }
        forms.push(format!("{extension} eax, ah"));
    }
    forms.extend(["movsxd rax, r9d", "movsxd rcx, dword ptr [rdi]", ".byte 0x63, 0xc1"].map(String::from));
    for address in ["rax + 5", "rax + rcx*8", "rip + 100", "r13", "rsp + rbp*4 - 1000000", "rdx*8 + 12345", "r12 + r12"]
    {
        forms.extend([16, 32, 64].map(|size| format!("lea {}, [{address}]", name(size, 9))));
    }
    for condition in CONDITIONS {
        forms.extend([
            format!("set{condition} r9b"),
            format!("set{condition} ah"),
            format!("set{condition} byte ptr [r10]"),
        ]);
        forms.extend([16, 32, 64].map(|size| format!("cmov{condition} {}, {}", name(size, 9), name(size, 1))));
        forms.push(format!("cmov{condition} edx, dword ptr [r10 + 4]"));
    }
    forms.extend(
        ["push rcx", "push rsp", "push 100", "push -100000", "push qword ptr [rsp + 8]", "push qword ptr [r9]"]
            .map(String::from),
    );
    forms.extend(
        ["pop rcx", "pop r12", "pop rsp", "pop qword ptr [rsp - 8]", "pop qword ptr [r9]", "leave"].map(String::from),
    );
}

fn shifts(forms: &mut Vec<String>) {
    for op in ["rol", "ror", "shl", "shr", "sar"] {
        for size in [8, 16, 32, 64] {
            let at = memory(size, "rsi + 8");
            let registers = [0, 9, 1].map(|number| name(size, number));
            for count in ["1", "cl", "0", "2", "7", "8", "9", "15", "16", "17", "31", "33", "63"] {
                forms.push(format!("{op} {}, {count}", registers[forms.len() % 3]));
            }
            forms.extend([format!("{op} {at}, 1"), format!("{op} {at}, cl"), format!("{op} {at}, 3")]);
            // Without the form for a count of 1, whose flags are the same.
            let rex = if size == 64 { "0x48, " } else { "" };
            let prefix = if size == 16 { "0x66, " } else { "" };
            let digit = ["rol", "ror", "", "", "shl", "shr", "", "sar"].iter().position(|&other| other == op).unwrap();
            let opcode = if size == 8 { 0xc0 } else { 0xc1 };
            forms.push(format!(".byte {prefix}{rex}{opcode}, {}, 1", 0xc0 + 8 * digit + 3));
        }
        forms.extend([format!("{op} ah, 3"), format!("{op} bh, cl"), format!("{op} ch, cl")]);
    }
    for op in ["shld", "shrd"] {
        for size in [32, 64] {
            for count in ["1", "cl", "0", "2", "17", "31", "33"] {
                forms.push(format!("{op} {}, {}, {count}", name(size, 9), name(size, 2)));
                forms.push(format!("{op} {}, {}, {count}", memory(size, "rdi"), name(size, 1)));
            }
        }
    }
    for size in [32, 64] {
        let [a, b, c] = [8, 3, 9].map(|number| name(size, number));
        let at = memory(size, "rsi + 8");
        for op in ["shlx", "shrx", "sarx"] {
            forms.extend([format!("{op} {a}, {b}, {c}"), format!("{op} {a}, {at}, {c}")]);
        }
        forms.extend(["0", "1", "13", "31", "40"].map(|count| format!("rorx {a}, {b}, {count}")));
        forms.push(format!("rorx {c}, {at}, 5"));
    }
}

fn products(forms: &mut Vec<String>) {
    for size in [8, 16, 32, 64] {
        let at = memory(size, "r10 + 8");
        for op in ["mul", "imul", "div", "idiv"] {
            forms.extend([3, 9, 0, 2].map(|number| format!("{op} {}", name(size, number))));
            forms.push(format!("{op} {at}"));
        }
        if size > 8 {
            let [a, b] = [9, 2].map(|number| name(size, number));
            forms.extend([format!("imul {a}, {b}"), format!("imul {a}, {at}"), format!("imul {b}, {b}")]);
            forms.extend([
                format!("imul {a}, {b}, 3"),
                format!("imul {b}, {at}, -9"),
                format!("imul {a}, {b}, 0x1235"),
            ]);
        }
        if size > 16 {
            let [a, b, c] = [8, 3, 9].map(|number| name(size, number));
            forms.extend([
                format!("mulx {a}, {b}, {c}"),
                format!("mulx {a}, {a}, {at}"),
                format!("mulx {b}, {c}, {b}"),
            ]);
        }
    }
    forms.extend(["mul ah", "imul ch", "div bh", "idiv bh", "idiv ch"].map(String::from));
    // Dividends that are extended, as compilers write them.
    for text in ["xor edx, edx; div r9", "cqo; idiv r9", "cdq; idiv r9d", "cwd; idiv r9w", "xor edx, edx; div r9d"] {
        forms.push(text.to_string());
    }
    forms.extend(["cbw; idiv r9b", "movzx eax, al; div r9b", "movsx eax, al; idiv r9b"].map(String::from));
}

fn bits(forms: &mut Vec<String>) {
    for size in [16, 32, 64] {
        let [a, b] = [9, 3].map(|number| name(size, number));
        let at = memory(size, "r10 + 8");
        for op in ["bt", "bts", "btr", "btc"] {
            forms.extend([format!("{op} {a}, {b}"), format!("{op} {a}, {a}"), format!("{op} {a}, 13")]);
            forms.extend([format!("{op} {b}, 40"), format!("{op} {at}, 9")]);
            if op != "bt" {
                forms.push(format!("lock {op} {at}, 3"));
            }
        }
        for op in ["bsf", "bsr", "tzcnt", "lzcnt", "popcnt"] {
            forms.extend([format!("{op} {a}, {b}"), format!("{op} {a}, {at}"), format!("{op} {b}, {b}")]);
        }
    }
    for size in [32, 64] {
        let [a, b, c] = [8, 3, 9].map(|number| name(size, number));
        let at = memory(size, "rsi + 8");
        forms.extend([format!("bswap {a}"), format!("bswap {b}")]);
        forms.extend([format!("andn {a}, {b}, {c}"), format!("andn {a}, {b}, {at}")]);
        for op in ["bextr", "bzhi"] {
            forms.extend([format!("{op} {a}, {b}, {c}"), format!("{op} {a}, {at}, {c}")]);
        }
        for op in ["blsi", "blsr", "blsmsk"] {
            forms.extend([format!("{op} {a}, {b}"), format!("{op} {a}, {at}")]);
        }
    }
}

fn exchanges(forms: &mut Vec<String>) {
    for size in [8, 16, 32, 64] {
        let [a, b, c] = [0, 9, 2].map(|number| name(size, number));
        let at = memory(size, "r10 + 8");
        for op in ["xchg", "xadd", "cmpxchg"] {
            let operands = [(b, c), (a, c), (b, a), (c, c), (a, a)].into_iter();
            let operands = operands.filter(|_| op != "cmpxchg" || size != 32);
            forms.extend(operands.map(|(first, second)| format!("{op} {first}, {second}")));
            forms.push(format!("{op} {at}, {c}"));
            forms.push(format!("lock {op} {at}, {b}"));
        }
    }
    forms
        .extend(["xchg ah, al", "xadd bh, bl", "cmpxchg ah, dl", "cmpxchg dh, ah", "cmpxchg bl, ah"].map(String::from));
    forms.extend(
        ["cmpxchg8b [r10]", "lock cmpxchg8b [r10]", "cmpxchg16b [r10]", "lock cmpxchg16b [r10]"].map(String::from),
    );
}

fn control(forms: &mut Vec<String>) {
    for condition in CONDITIONS {
        forms.push(format!("j{condition} 7f"));
        forms.push(format!("{{disp32}} j{condition} 7f"));
        // Conditions as comparisons of operands.
        forms.extend([
            format!("cmp r9d, r10d; j{condition} 7f"),
            format!("cmp cl, -128; set{condition} dl"),
            format!("test rax, rax; cmov{condition} rbx, rcx"),
            format!("sub r9, r10; cmov{condition} rbx, rcx"),
            format!("add r9w, r10w; set{condition} ah"),
            format!("dec r9d; set{condition} ah"),
        ]);
    }
    forms.extend(
        [
            "jmp 7f",
            "{disp32} jmp 7f",
            "call 7f",
            "jmp rax",
            "call r11",
            "call [r9]",
            "jmp [r9 + rcx]",
            "call [rsp + 8]",
        ]
        .map(String::from),
    );
    forms.extend(["ret", "ret 8", "nop", "endbr64", "pause", "mfence", "data16 nop", ".nops 9"].map(String::from));
}

fn floats(forms: &mut Vec<String>) {
    let at = |size: u32| memory(size, "rsi + 8");
    for (suffix, size) in [("ss", 32), ("sd", 64), ("ps", 128), ("pd", 128)] {
        let at = at(size);
        for op in ["add", "sub", "mul", "div", "min", "max"] {
            forms.extend([format!("{op}{suffix} xmm1, xmm9"), format!("{op}{suffix} xmm10, {at}")]);
            forms.extend([format!("v{op}{suffix} xmm1, xmm9, xmm3"), format!("v{op}{suffix} xmm9, xmm2, {at}")]);
            forms.push(format!("{op}{suffix} xmm4, xmm4"));
        }
        for op in 0..8 {
            forms.extend([format!("cmp{suffix} xmm1, xmm9, {op}"), format!("vcmp{suffix} xmm8, xmm9, {at}, {op}")]);
        }
        forms.extend((8..32).map(|op| format!("vcmp{suffix} xmm8, xmm9, xmm1, {op}")));
        forms.extend([format!("sqrt{suffix} xmm1, xmm9"), format!("sqrt{suffix} xmm9, {at}")]);
        let v = if size == 128 { "" } else { "xmm3, " };
        forms.push(format!("vsqrt{suffix} xmm1, {v}xmm9"));
        for op in ["fmadd", "fmsub", "fnmadd", "fnmsub"] {
            for order in [132, 213, 231] {
                forms.push(format!("v{op}{order}{suffix} xmm1, xmm9, xmm3"));
                forms.push(format!("v{op}{order}{suffix} xmm9, xmm2, {at}"));
            }
        }
    }
    for (suffix, size) in [("ss", 32), ("sd", 64)] {
        let at = at(size);
        for mode in [0, 1, 2, 3, 8, 9, 10, 11] {
            forms.extend([
                format!("round{suffix} xmm1, xmm9, {mode}"),
                format!("vround{suffix} xmm1, xmm9, {at}, {mode}"),
            ]);
        }
        for op in ["ucomi", "comi", "vucomi"] {
            forms.extend([format!("{op}{suffix} xmm1, xmm9"), format!("{op}{suffix} xmm9, {at}")]);
        }
        for condition in CONDITIONS {
            forms.push(format!("ucomi{suffix} xmm1, xmm2; set{condition} al"));
        }
        forms.extend([format!("mov{suffix} xmm1, xmm9"), format!("{{store}} mov{suffix} xmm1, xmm9")]);
        forms.extend([format!("mov{suffix} xmm1, {at}"), format!("mov{suffix} {at}, xmm9")]);
        forms.extend([format!("vmov{suffix} xmm1, xmm9, xmm3"), format!("{{store}} vmov{suffix} xmm9, xmm2, xmm10")]);
        forms.extend([format!("vmov{suffix} xmm1, {at}"), format!("vmov{suffix} {at}, xmm9")]);
        for general in [32, 64] {
            let (a, b) = (name(general, 9), memory(general, "r8"));
            forms.extend([format!("cvtsi2{suffix} xmm1, {a}"), format!("cvtsi2{suffix} xmm9, {b}")]);
            forms.extend([format!("vcvtsi2{suffix} xmm1, xmm2, {a}"), format!("cvtt{suffix}2si {a}, xmm9")]);
            forms.extend([format!("cvtt{suffix}2si {a}, {at}"), format!("vcvtt{suffix}2si {a}, xmm1")]);
        }
    }
    let (single, double, whole) = (at(32), at(64), at(128));
    forms.extend(
        ["cvtss2sd xmm1, xmm9", "cvtsd2ss xmm9, xmm1", "vcvtss2sd xmm1, xmm2, xmm3", "vcvtsd2ss xmm1, xmm2, xmm9"]
            .map(String::from),
    );
    forms.extend([format!("cvtss2sd xmm1, {single}"), format!("cvtsd2ss xmm1, {double}")]);
    for op in ["movaps", "movups", "movapd", "movupd", "movdqa", "movdqu"] {
        for v in ["", "v"] {
            forms.extend([
                format!("{v}{op} xmm1, xmm9"),
                format!("{v}{op} xmm9, {whole}"),
                format!("{v}{op} {whole}, xmm9"),
            ]);
        }
        forms.push(format!("{{store}} {op} xmm9, xmm2"));
    }
    for op in ["andps", "andnps", "orps", "xorps", "andpd", "andnpd", "orpd", "xorpd", "pand", "pandn", "por", "pxor"] {
        forms.extend([format!("{op} xmm1, xmm9"), format!("{op} xmm9, {whole}"), format!("{op} xmm9, xmm9")]);
        forms.extend([format!("v{op} xmm1, xmm9, xmm3"), format!("v{op} xmm1, xmm9, {whole}")]);
    }
    for v in ["", "v"] {
        forms.extend(
            ["movd xmm1, r9d", "movd eax, xmm9", "movq xmm9, rcx", "movq r10, xmm1", "movq xmm1, xmm9"]
                .map(|text| format!("{v}{text}")),
        );
        forms.extend([format!("{v}movd xmm1, {single}"), format!("{v}movd {single}, xmm9")]);
        forms.extend([format!("{v}movq xmm1, {double}"), format!("{v}movq {double}, xmm9")]);
    }
    forms.extend(["{store} movq xmm1, xmm9".to_string(), ".byte 0x66, 0x48, 0x0f, 0x6e, 0x4e, 8".to_string()]);
}
