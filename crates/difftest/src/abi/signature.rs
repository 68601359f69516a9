//! Signatures, and their texts in CLIF and C.

use kingpost_testgen::rng::Rng;
use std::fmt::Write;

/// A parameter or result that is no struct: CLIF type, C type, C type that sees the extension, bytes.
type Scalar = (&'static str, &'static str, &'static str, usize);

const SCALARS: &[Scalar] = &[
    ("i8", "int8_t", "int8_t", 1),
    ("i8 sext", "int8_t", "int32_t", 1),
    ("i8 uext", "uint8_t", "uint32_t", 1),
    ("i16 sext", "int16_t", "int32_t", 2),
    ("i16 uext", "uint16_t", "uint32_t", 2),
    ("i32", "int32_t", "int32_t", 4),
    ("i32", "int32_t", "int32_t", 4),
    ("i64", "int64_t", "int64_t", 8),
    ("i64", "int64_t", "int64_t", 8),
    ("f32", "float", "float", 4),
    ("f64", "double", "double", 8),
    ("f64", "double", "double", 8),
    ("i128", "__int128", "__int128", 16),
    ("f16", "_Float16", "_Float16", 2),
    ("f128", "_Float128", "_Float128", 16),
    ("i8x16", "v16", "v16", 16),
    ("f32x4", "v4f", "v4f", 16),
    ("i16x4", "v8", "v8", 8),
];

/// To C the context is an ordinary first argument.
const VMCTX: Scalar = ("i64 vmctx", "uint64_t", "uint64_t", 8);

/// Structs that are returned in two registers: their C type and the two CLIF results, on x86-64.
const PAIRS: &[(&str, [&str; 2])] = &[
    ("struct pii", ["i64", "i64"]),
    ("struct pid", ["i64", "f64"]),
    ("struct pdi", ["f64", "i64"]),
    ("struct pdd", ["f64", "f64"]),
];

/// Rules of C on a machine, beyond the choice of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rules {
    /// System V on x86-64: structs are copied to the stack, narrow integers are extended as compilers agree.
    SystemV,
    /// AAPCS64: large structs are passed by address, no integer is extended, and only pairs of two floats are
    /// returned in float registers.
    Aapcs64,
    /// Microsoft's rules on x86-64: structs are passed by address, and all of them are returned in memory.
    Microsoft,
    /// Tail calls, which C does not have.
    Tail,
}

impl Rules {
    /// Returns the CLIF convention.
    fn convention(self) -> &'static str {
        match self {
            Rules::SystemV | Rules::Aapcs64 => "system_v",
            Rules::Microsoft => "windows_fastcall",
            Rules::Tail => "tail",
        }
    }

    /// Returns the attribute with which C functions of the convention are declared.
    fn attribute(self) -> &'static str {
        if self == Rules::Microsoft { "__attribute__((ms_abi)) " } else { "" }
    }

    /// Returns `true` if structs are passed by address.
    fn by_address(self) -> bool {
        matches!(self, Rules::Aapcs64 | Rules::Microsoft)
    }

    /// Returns the CLIF results for a pair.
    fn pair(self, index: usize) -> [&'static str; 2] {
        match (self, PAIRS[index].1) {
            (Rules::Aapcs64, ["i64", "f64"] | ["f64", "i64"]) => ["i64", "i64"],
            (_, pair) => pair,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Param {
    Scalar(Scalar),
    /// The given number of words, by value.
    Struct(usize),
    /// A member of [`PAIRS`]; only as a result.
    Pair(usize),
}

impl Param {
    /// Parameter to which all others are simplified.
    pub(super) const SIMPLEST: Param = Param::Scalar(("i64", "int64_t", "int64_t", 8));
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Signature {
    /// Seed of the values.
    pub(super) seed: u64,
    pub(super) params: Vec<Param>,
    pub(super) result: Option<Param>,
}

/// Returns a parameter or result that is no struct.
pub(super) fn scalar(rng: &mut Rng) -> Param {
    Param::Scalar(SCALARS[rng.range(0..SCALARS.len())])
}

/// Returns the signature of a seed.
pub(super) fn signature(seed: u64) -> Signature {
    let rng = &mut Rng::new(seed);
    let count = rng.range(0..21);
    let param = |rng: &mut Rng| {
        if rng.chance(8) { Param::Struct(rng.range(3..7)) } else { scalar(rng) }
    };
    let context = rng.chance(15).then_some(Param::Scalar(VMCTX));
    let params = context.into_iter().chain((0..count).map(|_| param(rng))).collect();
    let result = match rng.range(0..9) {
        0 => None,
        1 => Some(Param::Struct(rng.range(3..7))),
        2 => Some(Param::Pair(rng.range(0..PAIRS.len()))),
        _ => Some(scalar(rng)),
    };
    Signature { seed, params, result }
}

impl Param {
    pub(super) fn words(self) -> usize {
        match self {
            Param::Scalar((.., bytes)) => bytes.div_ceil(8),
            Param::Struct(words) => words,
            Param::Pair(_) => 2,
        }
    }

    fn c(self) -> String {
        match self {
            Param::Scalar((_, c, ..)) => c.into(),
            Param::Struct(words) => format!("struct s{words}"),
            Param::Pair(index) => PAIRS[index].0.into(),
        }
    }

    /// Returns the declaration in C for calls with an extended value.
    fn c_extended(self, rules: Rules) -> String {
        match self {
            Param::Scalar((_, _, c, _)) if rules != Rules::Aapcs64 => c.into(),
            Param::Scalar(_) | Param::Struct(_) | Param::Pair(_) => self.c(),
        }
    }
}

/// Returns the index of each parameter's first word. Scalars are aligned.
pub(super) fn places(params: &[Param]) -> Vec<usize> {
    let mut next: usize = 0;
    let place = |param: &Param| {
        if let Param::Scalar(_) = param {
            next = next.next_multiple_of(param.words());
        }
        next += param.words();
        next - param.words()
    };
    params.iter().map(place).collect()
}

/// Returns a type without its annotations.
pub(super) fn bare(ty: &'static str) -> &'static str {
    ty.split(' ').next().unwrap_or(ty)
}

impl Signature {
    /// Returns the signature with the types that `rules` do not support replaced.
    pub(super) fn under(&self, rules: Rules) -> Signature {
        let mut signature = self.clone();
        match rules {
            Rules::SystemV | Rules::Aapcs64 => {}
            Rules::Microsoft => {
                // Compilers do not agree on these.
                let halves = signature.params.iter_mut().chain(&mut signature.result);
                halves
                    .filter(|param| matches!(param, Param::Scalar(("f16" | "i16x4", ..))))
                    .for_each(|param| *param = Param::SIMPLEST);
                match signature.result {
                    Some(Param::Pair(_)) => signature.result = Some(Param::Struct(3)),
                    // C returns it in memory.
                    Some(Param::Scalar(("f128", ..))) => signature.result = Some(Param::SIMPLEST),
                    _ => {}
                }
            }
            Rules::Tail => {
                let structs = signature.params.iter_mut().chain(&mut signature.result);
                structs.filter(|param| matches!(param, Param::Struct(_))).for_each(|param| *param = Param::SIMPLEST);
            }
        }
        signature
    }

    /// Returns the CLIF parameter list, with the hidden result pointer.
    fn ours(&self, rules: Rules) -> String {
        let mut params: Vec<String> = Vec::new();
        if let Some(Param::Struct(_)) = self.result {
            params.push("i64 sret".into());
        }
        params.extend(self.params.iter().map(|param| match param {
            Param::Scalar((ty, ..)) => (*ty).to_string(),
            Param::Struct(_) if rules.by_address() => "i64".to_string(),
            Param::Struct(words) => format!("i64 sarg({})", words * 8),
            Param::Pair(_) => unreachable!("pairs are results only"),
        }));
        let result = match self.result {
            Some(Param::Scalar((ty, ..))) => format!(" -> {ty}"),
            Some(Param::Pair(index)) => format!(" -> {}", rules.pair(index).join(", ")),
            _ => String::new(),
        };
        format!("({}){result} {}", params.join(", "), rules.convention())
    }

    /// Returns the CLIF callee and caller.
    pub(super) fn clif(&self, n: usize, rules: Rules) -> String {
        let globals = "    gv0 = symbol %sent\n    gv1 = symbol %seen\n    gv2 = symbol %ret\n    gv3 = symbol %got\n";
        let sret = matches!(self.result, Some(Param::Struct(_)));
        let mut names: Vec<String> = sret.then(|| "v0: i64".to_string()).into_iter().collect();
        let mut body = "    v1000 = symbol_value.i64 gv1\n    v1001 = symbol_value.i64 gv2\n".to_string();
        let mut temp = 2000;
        for (k, (param, place)) in self.params.iter().zip(places(&self.params)).enumerate() {
            let (value, at) = (k + 1, place * 8);
            match *param {
                Param::Scalar((ty, ..)) => {
                    names.push(format!("v{value}: {}", bare(ty)));
                    body += &format!("    store v{value}, v1000+{at}\n");
                }
                Param::Struct(words) => {
                    names.push(format!("v{value}: i64"));
                    for word in 0..words {
                        temp += 1;
                        let (from, to) = (word * 8, at + word * 8);
                        body += &format!("    v{temp} = load.i64 v{value}+{from}\n    store v{temp}, v1000+{to}\n");
                    }
                }
                Param::Pair(_) => unreachable!("pairs are results only"),
            }
        }
        body += &match self.result {
            None => "    return\n".to_string(),
            Some(Param::Scalar((ty, ..))) => format!("    v1002 = load.{} v1001\n    return v1002\n", bare(ty)),
            Some(Param::Pair(index)) => {
                let [first, second] = rules.pair(index);
                format!("    v1002 = load.{first} v1001\n    v1003 = load.{second} v1001+8\n    return v1002, v1003\n")
            }
            Some(Param::Struct(words)) => {
                let copy = |word: usize| {
                    let (value, at) = (1002 + word, word * 8);
                    format!("    v{value} = load.i64 v1001+{at}\n    store v{value}, v0+{at}\n")
                };
                (0..words).map(copy).collect::<String>() + "    return\n"
            }
        };
        let mut text =
            format!("function %k_{n}{} {{\n{globals}\nblock0({}):\n{body}}}\n\n", self.ours(rules), names.join(", "));

        let mut body = "    v1000 = symbol_value.i64 gv0\n    v1001 = symbol_value.i64 gv3\n".to_string();
        let mut args: Vec<String> = sret.then(|| "v1001".to_string()).into_iter().collect();
        for (k, (param, place)) in self.params.iter().zip(places(&self.params)).enumerate() {
            let at = place * 8;
            args.push(format!("v{}", k + 1));
            body += &match *param {
                // From whole words, so that there are bits above narrow values.
                Param::Scalar((ty, _, _, 1 | 2 | 4)) if ty.starts_with('i') => {
                    let wide = 3000 + k;
                    format!("    v{wide} = load.i64 v1000+{at}\n    v{} = ireduce.{} v{wide}\n", k + 1, bare(ty))
                }
                Param::Scalar((ty, ..)) => format!("    v{} = load.{} v1000+{at}\n", k + 1, bare(ty)),
                Param::Struct(_) | Param::Pair(_) => {
                    format!("    v{0} = iconst.i64 {at}\n    v{1} = iadd v1000, v{0}\n", 3000 + k, k + 1)
                }
            };
        }
        let call = format!("call fn0({})", args.join(", "));
        body += &match self.result {
            Some(Param::Scalar(_)) => format!("    v1002 = {call}\n    store v1002, v1001\n"),
            Some(Param::Pair(_)) => {
                format!("    v1002, v1003 = {call}\n    store v1002, v1001\n    store v1003, v1001+8\n")
            }
            _ => format!("    {call}\n"),
        };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "function %kc_{n}() system_v {{\n{globals}    sig0 = {}\n    fn0 = %c_{n} sig0\n\nblock0:\n{body}    return\n}}\n\n",
            self.ours(rules)
        );
        text
    }

    /// Returns the callee in C, and a function that makes both calls and compares.
    pub(super) fn c(&self, n: usize, rules: Rules) -> String {
        let Signature { seed, .. } = self;
        let result = self.result.map_or("void".into(), Param::c);
        let list = |ty: &dyn Fn(Param) -> String| {
            let params = self.params.iter().enumerate().map(|(k, &param)| format!("{} p{k}", ty(param)));
            let params = params.collect::<Vec<_>>().join(", ");
            if params.is_empty() { "void".to_string() } else { params }
        };
        let attribute = rules.attribute();
        let mut text = format!("{attribute}{result} k_{n}({});\nvoid kc_{n}(void);\n", list(&Param::c));
        text += &format!("{attribute}{result} c_{n}({}) {{\n", list(&|param| param.c_extended(rules)));
        for (k, place) in places(&self.params).iter().enumerate() {
            text += &format!("  memcpy(&seen[{place}], &p{k}, sizeof p{k});\n");
        }
        if self.result.is_some() {
            text += &format!("  {result} r; memcpy(&r, ret, sizeof r); return r;\n");
        }
        text += &format!("}}\nint check_{n}(void) {{\n  fill({seed}u);\n");
        let args = self.params.iter().zip(places(&self.params));
        let args: Vec<String> = args.map(|(param, place)| format!("*({} *)&sent[{place}]", param.c())).collect();
        let call = format!("k_{n}({})", args.join(", "));
        text += &match self.result {
            None => format!("  {call};\n"),
            Some(_) => format!("  {{ {result} r = {call}; memcpy(got, &r, sizeof r); }}\n"),
        };
        let compare = |extended: bool| {
            let mut text = String::new();
            for (&param, place) in self.params.iter().zip(places(&self.params)) {
                let (from, to) = (param.c(), if extended { param.c_extended(rules) } else { param.c() });
                text += &match param {
                    Param::Scalar((ty, _, _, 1 | 2 | 4 | 8)) if ty.starts_with('i') => {
                        format!(
                            "  {{ {to} e = *({from} *)&sent[{place}]; if (memcmp(&e, &seen[{place}], sizeof e)) return 1; }}\n"
                        )
                    }
                    _ => format!("  if (memcmp(&sent[{place}], &seen[{place}], sizeof({from}))) return 1;\n"),
                };
            }
            if self.result.is_some() {
                text += &format!("  if (memcmp(ret, got, sizeof({result}))) return 2;\n");
            }
            text
        };
        text + &compare(false)
            + &format!("  fill({seed}u);\n  kc_{n}();\n")
            + &compare(true).replace("return ", "return 2 + ")
            + "  return 0;\n}\n"
    }
}

/// Head of every C text.
pub(super) const HEAD: &str = "#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct pii { int64_t a, b; }; struct pid { int64_t a; double b; }; struct pdi { double a; int64_t b; };
struct pdd { double a, b; };
struct s3 { uint64_t w[3]; }; struct s4 { uint64_t w[4]; }; struct s5 { uint64_t w[5]; }; struct s6 { uint64_t w[6]; };
typedef unsigned char v16 __attribute__((vector_size(16)));
typedef float v4f __attribute__((vector_size(16)));
typedef short v8 __attribute__((vector_size(8)));
_Alignas(16) uint64_t sent[128], seen[128], passed[128], ret[32], got[32];
static void fill(uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
  for (int i = 0; i < 128; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; sent[i] = x; seen[i] = passed[i] = 0; }
  for (int i = 0; i < 32; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; ret[i] = x; got[i] = 0; }
}
void leaf(void) {}
";
