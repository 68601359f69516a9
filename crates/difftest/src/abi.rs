//! Generated signatures: compiled code and C call each other.
//!
//! For each signature there are four functions: a callee and a caller of ours, and a callee and a caller in C. A caller
//! takes the arguments from `sent`; a callee puts what it gets into `seen` and returns what is in `ret`; a caller puts
//! what comes back into `got`. The C program compares. Arguments are integers of all widths with and without extension,
//! floats, and structs by value; results are scalars, or a struct through `sret`.

use crate::failure::{Failure, Report};
use crate::native::{Lane, runs_here, triple};
use kingpost_emit_object::ObjectOptions;
use kingpost_testgen::rng::Rng;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};

/// A parameter or result that is no struct: our type, the C type, the C type that sees the extension, bytes.
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
];

#[derive(Clone, Copy)]
enum Param {
    Scalar(Scalar),
    /// So many words, by value.
    Struct(usize),
}

struct Signature {
    params: Vec<Param>,
    result: Option<Param>,
}

fn signature(rng: &mut Rng) -> Signature {
    let count = rng.range(0..21);
    let scalar = |rng: &mut Rng| SCALARS[rng.range(0..SCALARS.len())];
    let param = |rng: &mut Rng| {
        if rng.chance(8) { Param::Struct(rng.range(3..7)) } else { Param::Scalar(scalar(rng)) }
    };
    let params = (0..count).map(|_| param(rng)).collect();
    let result = match rng.range(0..8) {
        0 => None,
        1 => Some(Param::Struct(rng.range(3..7))),
        _ => Some(Param::Scalar(scalar(rng))),
    };
    Signature { params, result }
}

impl Param {
    fn words(self) -> usize {
        if let Param::Struct(words) = self { words } else { 1 }
    }

    fn c(self) -> String {
        match self {
            Param::Scalar((_, c, ..)) => c.into(),
            Param::Struct(words) => format!("struct s{words}"),
        }
    }

    /// As C is told when it is called with an extended value.
    fn c_extended(self) -> String {
        match self {
            Param::Scalar((_, _, c, _)) => c.into(),
            Param::Struct(_) => self.c(),
        }
    }
}

/// The word at which each parameter's value is.
fn places(params: &[Param]) -> Vec<usize> {
    let mut next = 0;
    let place = |param: &Param| {
        next += param.words();
        next - param.words()
    };
    params.iter().map(place).collect()
}

impl Signature {
    /// Our parameter list, with the hidden result pointer.
    fn ours(&self) -> String {
        let mut params: Vec<String> = Vec::new();
        if let Some(Param::Struct(_)) = self.result {
            params.push("i64 sret".into());
        }
        params.extend(self.params.iter().map(|param| match param {
            Param::Scalar((ty, ..)) => (*ty).to_string(),
            Param::Struct(words) => format!("i64 sarg({})", words * 8),
        }));
        let result = match self.result {
            Some(Param::Scalar((ty, ..))) => format!(" -> {ty}"),
            _ => String::new(),
        };
        format!("({}){result} system_v", params.join(", "))
    }

    /// Our callee and our caller.
    fn clif(&self, n: usize) -> String {
        let bare = |ty: &'static str| ty.split(' ').next().unwrap_or(ty);
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
            }
        }
        body += &match self.result {
            None => "    return\n".to_string(),
            Some(Param::Scalar((ty, ..))) => format!("    v1002 = load.{} v1001\n    return v1002\n", bare(ty)),
            Some(Param::Struct(words)) => {
                let copy = |word: usize| {
                    let (value, at) = (1002 + word, word * 8);
                    format!("    v{value} = load.i64 v1001+{at}\n    store v{value}, v0+{at}\n")
                };
                (0..words).map(copy).collect::<String>() + "    return\n"
            }
        };
        let mut text =
            format!("function %k_{n}{} {{\n{globals}\nblock0({}):\n{body}}}\n\n", self.ours(), names.join(", "));

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
                Param::Struct(_) => {
                    format!("    v{0} = iconst.i64 {at}\n    v{1} = iadd v1000, v{0}\n", 3000 + k, k + 1)
                }
            };
        }
        let call = format!("call fn0({})", args.join(", "));
        body += &match self.result {
            Some(Param::Scalar(_)) => format!("    v1002 = {call}\n    store v1002, v1001\n"),
            _ => format!("    {call}\n"),
        };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "function %kc_{n}() system_v {{\n{globals}    sig0 = {}\n    fn0 = %c_{n} sig0\n\nblock0:\n{body}    return\n}}\n\n",
            self.ours()
        );
        text
    }

    /// The callee in C, and a function that makes both calls and compares.
    fn c(&self, n: usize, seed: u64) -> String {
        let result = self.result.map_or("void".into(), Param::c);
        let list = |ty: fn(Param) -> String| {
            let params = self.params.iter().enumerate().map(|(k, &param)| format!("{} p{k}", ty(param)));
            let params = params.collect::<Vec<_>>().join(", ");
            if params.is_empty() { "void".to_string() } else { params }
        };
        let mut text = format!("{result} k_{n}({});\nvoid kc_{n}(void);\n", list(Param::c));
        text += &format!("{result} c_{n}({}) {{\n", list(Param::c_extended));
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
                let (from, to) = (param.c(), if extended { param.c_extended() } else { param.c() });
                text += &match param {
                    Param::Scalar((ty, ..)) if ty.starts_with('i') => {
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

const HEAD: &str = "#include <stdint.h>
#include <stdio.h>
#include <string.h>
struct s3 { uint64_t w[3]; }; struct s4 { uint64_t w[4]; }; struct s5 { uint64_t w[5]; }; struct s6 { uint64_t w[6]; };
uint64_t sent[128], seen[128], ret[8], got[8];
static void fill(uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15 + 1;
  for (int i = 0; i < 128; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; sent[i] = x; seen[i] = 0; }
  for (int i = 0; i < 8; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; ret[i] = x; got[i] = 0; }
}
";

/// Compiles the signatures of `seeds` under every allocator, links them with C, and lets them call each other.
///
/// # Errors
/// A signature with which the two disagree; or what keeps the comparison from being made.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let has_cc = Command::new("cc").arg("--version").output().is_ok();
    if !runs_here() || !has_cc {
        let reason = "there is no C compiler for this machine's code";
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        eprintln!("calls to and from C are not compared: {reason}");
        report.skip(reason);
        return Ok(report);
    }
    let signatures: Vec<Signature> = seeds.clone().map(|seed| signature(&mut Rng::new(seed))).collect();
    let fail = |n: usize, what: String| {
        let seed = seeds.start + n as u64;
        let what = format!("{what}\nrepeat with: make fuzz TARGET=abi N=1 SEED={seed}");
        let text = signatures.get(n).map_or_else(String::new, |signature| signature.clif(n));
        Box::new(Failure { seed, what, text })
    };
    let mut c = HEAD.to_string();
    for ((n, signature), seed) in signatures.iter().enumerate().zip(seeds.clone()) {
        c += &signature.c(n, seed);
    }
    c += "int main(void) {\n  int r;\n";
    for n in 0..signatures.len() {
        c += &format!("  if ((r = check_{n}())) {{ printf(\"{n} %d\", r); return 1; }}\n");
    }
    c += "  return 0;\n}\n";
    let folder = tempfile::tempdir().map_err(|error| fail(0, error.to_string()))?;
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("c.c"), c).map_err(|error| fail(0, error.to_string()))?;
    let level = if seeds.start.is_multiple_of(2) { "-O1" } else { "-O0" };
    cc(folder.path(), &["-c", level, "-fno-strict-aliasing", "c.c"]).map_err(|what| fail(0, what))?;
    let text: String = signatures.iter().enumerate().map(|(n, signature)| signature.clif(n)).collect();
    let functions = kingpost_reader::parse_functions(&text).map_err(|error| fail(0, error.to_string()))?;
    for mut lane in Lane::all(false) {
        let module = lane.compile(&functions).map_err(|(name, error)| fail(0, format!("{lane}: {name}: {error}")))?;
        let object = kingpost_emit_object::write(&triple(), &module, &[], ObjectOptions::default());
        let object = object.map_err(|error| fail(0, error.to_string()))?;
        std::fs::write(at("k.o"), object).map_err(|error| fail(0, error.to_string()))?;
        cc(folder.path(), &["-o", "test", "c.o", "k.o"]).map_err(|what| fail(0, what))?;
        let output = Command::new(at("test")).output().map_err(|error| fail(0, error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let n = said.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            let what = "1: our callee's arguments, 2: its result, 3: C's arguments, 4: C's result";
            return Err(fail(n, format!("{lane}: {said}, {}; {what}", output.status)));
        }
        report.functions += functions.len() as u64;
        report.calls += 2 * signatures.len() as u64;
    }
    report.cases += signatures.len() as u64;
    Ok(report)
}

fn cc(folder: &Path, args: &[&str]) -> Result<Output, String> {
    let output = Command::new("cc").current_dir(folder).args(args).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("cc {}:\n{}", args.join(" "), String::from_utf8_lossy(&output.stderr)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let report = run(0..60).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(report.cases == 60 || !report.skipped.is_empty(), "{report}");
    }
}
