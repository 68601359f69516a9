//! Checks that damaged rules are errors with a position, and that none causes a panic or takes long.

use kingpost_rules::types::Typings;
use kingpost_rules::{clif, parse, scope};

const LLVM: &[&str] = &[
    "Name: a\nPre: isPowerOf2(C) && (C1 u< width(%x) || !(C2 /u 2 == -1))\n%a = shl nsw i8 %x, C1\n%r = udiv exact %a, C2\n  =>\n%r = lshr %x, log2(C) - C1 ; end\n",
    "Name: b\n%c = icmp ult %x, [2 x i8]* %p\nbr i1 %c, label %t, label %f\nt:\n%v = load i8* %p, align 4\nstore %v, %q\nf:\nret %v\n=>\nunreachable\n",
    "Name: c\n%p = alloca [4 x i8], i32 2, align 8\n%q = getelementptr inbounds [4 x i8]* %p, i32 0, i32 1\n%r = select %c, undef, null\n=>\n%q = bitcast Ty1* %p to Ty2*\nskip\n",
];
const CLIF: &[&str] = &[
    "rule a : iadd(iadd(x, C1), C2) => iadd(x, C1 + C2) at lanes\n",
    "rule b : icmp !cc (uextend.W(x: N), -1) => icmp swap(cc) (0, x)\n  where C u<= ~(C1 * 2) && isPowerOf2(C) at N < M < W, cc = eq | ne, T = i8 | i64\n",
    "rule d : brif(icmp eq (x, 0), a, b) => brif(x, b, a)\nrule e : trapz(C) => nop where C != 0\n",
    "rule f : store(x, iadd(p: i64, C), O) => store(x, p, O + C) where O != 8 at any\n",
    "rule c : cond(select(icmp slt (x, y), x, y)) => cond(smin(x, y)) ; last\n",
];

/// A small generator (Marsaglia, Xorshift RNGs, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }

    /// Returns a text with parts removed, repeated, moved or replaced.
    fn mutant(&mut self, texts: &[&str]) -> String {
        let mut chars: Vec<char> = texts[self.below(texts.len())].chars().collect();
        for _ in 0..1 + self.below(4) {
            let (from, len) = (self.below(chars.len()), 1 + self.below(8));
            let to = (from + len).min(chars.len());
            let piece: Vec<char> = chars[from..to].to_vec();
            match self.below(5) {
                0 => drop(chars.drain(from..to)),
                1 => drop(chars.splice(from..from, piece)),
                2 => {
                    let at = self.below(chars.len());
                    chars.splice(at..at, piece);
                }
                3 => {
                    let other: Vec<char> = texts[self.below(texts.len())].chars().collect();
                    let start = self.below(other.len());
                    chars.splice(from..to, other[start..(start + len).min(other.len())].to_vec());
                }
                _ => {
                    let odd = ['(', ')', '%', '\n', '-', '9', 'C', ':', '\u{e9}', '\0', '=', '*'];
                    chars.splice(from..to, [odd[self.below(odd.len())]]);
                }
            }
        }
        chars.into_iter().collect()
    }
}

#[test]
fn damaged_rules_are_errors() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut sound, mut errors) = (0, 0);
    for _ in 0..4000 {
        let text = random.mutant(LLVM);
        for parsed in parse(&text) {
            let checked = parsed.rule.and_then(|rule| {
                scope::check(&rule)?;
                Typings::infer(&rule, 1..=8).map(|_| ())
            });
            let counter = if checked.is_ok() { &mut sound } else { &mut errors };
            *counter += 1;
        }
        for parsed in clif::parse(&random.mutant(CLIF)) {
            let checked = parsed.rule.and_then(|rule| clif::typings(&rule));
            let counter = if checked.is_ok() { &mut sound } else { &mut errors };
            *counter += 1;
        }
    }
    assert!(sound > 50 && errors > 1000, "{sound} rules, {errors} errors");
}

#[test]
fn depth_is_limited() {
    for open in ["(", "-", "~", "log2("] {
        let deep = open.repeat(100_000);
        for text in
            [format!("%r = add %x, {deep}"), format!("Pre: {deep}\n%r = %x"), format!("Pre: {}", "!".repeat(100_000))]
        {
            assert!(parse(&text).iter().all(|parsed| parsed.rule.is_err()));
        }
        for text in [format!("rule r : iadd(x, {deep}"), format!("rule r : {}", "bnot(".repeat(100_000))] {
            assert!(clif::parse(&text).iter().all(|parsed| parsed.rule.is_err()));
        }
    }
}
