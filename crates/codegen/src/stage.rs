//! The list of stages. A new stage is a row here and a line in `pipeline.rs`.

use kingpost_opt::Pass;
use std::fmt;

macro_rules! stages {
    ($($variant:ident $name:literal $extension:literal $doc:literal;)+) => {
        /// A stage of the compiler. Its name is used on the command line, in dumps and in timings.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Stage { $(#[doc = $doc] $variant,)+ }

        impl Stage {
            /// All stages in the order of execution.
            pub const ALL: &'static [Stage] = &[$(Stage::$variant),+];

            /// Returns the stage's name.
            pub fn name(self) -> &'static str {
                match self { $(Stage::$variant => $name),+ }
            }

            /// Returns the file extension for the stage's text. Tools that read such files expect it.
            pub fn extension(self) -> &'static str {
                match self { $(Stage::$variant => $extension),+ }
            }

            /// Returns a description of the stage.
            pub fn doc(self) -> &'static str {
                match self { $(Stage::$variant => $doc),+ }
            }
        }
    };
}

stages! {
    Verify "verify" "clif" "Check the rules of the intermediate representation.";
    Expand "expand" "clif" "Replace global values by plain instructions.";
    SimplifyCfg "simplify_cfg" "clif" "Remove unreachable blocks and constant block parameters, merge blocks (opt_level=speed).";
    Mem2Reg "mem2reg" "clif" "Turn stack slots that are only loaded and stored into values (opt_level=speed).";
    Gvn "gvn" "clif" "Make equal values one and apply rewrite rules (opt_level=speed).";
    Unroll "unroll" "clif" "Make the rounds of short inner loops follow one another (opt_level=speed).";
    CodeMotion "code_motion" "clif" "Remove unused instructions, move others to where they run least often (opt_level=speed).";
    StrengthReduction "strength_reduction" "clif" "Turn products of counters into counters (opt_level=speed).";
    Cleanup "cleanup" "clif" "Remove repeated loads of constant memory, unreachable blocks and constant block parameters (opt_level=none).";
    Lower "lower" "mach" "Select machine instructions over virtual registers.";
    Regalloc "regalloc" "ra" "Assign every operand a register or a slot.";
    Check "check" "mach" "Prove the allocation right.";
    Emit "emit" "lst" "Lay out the frame and emit bytes.";
    Validate "validate" "txt" "Prove that the bytes mean what the function means (validate_code).";
}

impl Stage {
    /// Returns the stage of a pass of the optimizer.
    pub fn of_pass(pass: Pass) -> Stage {
        match pass {
            Pass::SimplifyCfg => Stage::SimplifyCfg,
            Pass::Mem2Reg => Stage::Mem2Reg,
            Pass::Gvn => Stage::Gvn,
            Pass::CodeMotion => Stage::CodeMotion,
            Pass::Unroll => Stage::Unroll,
            Pass::StrengthReduction => Stage::StrengthReduction,
        }
    }

    /// Returns the stage's earlier name, if it had one.
    pub fn former_name(self) -> Option<&'static str> {
        match self {
            Stage::SimplifyCfg => Some("shape"),
            Stage::Mem2Reg => Some("slots"),
            Stage::Gvn => Some("simplify"),
            Stage::CodeMotion => Some("place"),
            Stage::Cleanup => Some("tidy"),
            Stage::Verify
            | Stage::Expand
            | Stage::Unroll
            | Stage::StrengthReduction
            | Stage::Lower
            | Stage::Regalloc
            | Stage::Check
            | Stage::Emit
            | Stage::Validate => None,
        }
    }

    /// Returns the stage with this current or former name.
    pub fn named(name: &str) -> Option<Stage> {
        Stage::ALL.iter().copied().find(|stage| stage.name() == name || stage.former_name() == Some(name))
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
