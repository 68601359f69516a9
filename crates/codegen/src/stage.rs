//! The list of stages. Who adds one adds a row here and a line to `pipeline.rs`.

use std::fmt;

macro_rules! stages {
    ($($variant:ident $name:literal $doc:literal;)+) => {
        /// A stage of the compiler. Its name is the one on the command line, in dumps and in timings.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Stage { $(#[doc = $doc] $variant,)+ }

        impl Stage {
            /// All stages in the order in which they run.
            pub const ALL: &'static [Stage] = &[$(Stage::$variant),+];

            /// The stage's name.
            pub fn name(self) -> &'static str {
                match self { $(Stage::$variant => $name),+ }
            }

            /// What the stage does.
            pub fn doc(self) -> &'static str {
                match self { $(Stage::$variant => $doc),+ }
            }
        }
    };
}

stages! {
    Verify "verify" "Check the rules of the intermediate representation.";
    Expand "expand" "Replace global values and aliases by plain instructions.";
    Lower "lower" "Select machine instructions over virtual registers.";
    Regalloc "regalloc" "Give every operand a register or a slot.";
    Check "check" "Prove the allocation right.";
    Emit "emit" "Lay out the frame and emit bytes.";
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
