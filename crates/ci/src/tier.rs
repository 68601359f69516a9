//! The tiers.

/// Extent of the tests; each tier has the stages of the tiers before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Tier {
    /// Before a commit.
    Quick,
    /// In CI.
    Test,
    /// Everything.
    Deep,
}

impl Tier {
    pub(crate) const ALL: [Tier; 3] = [Tier::Quick, Tier::Test, Tier::Deep];

    /// Returns the name of the tier on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tier::Quick => "quick",
            Tier::Test => "test",
            Tier::Deep => "deep",
        }
    }

    /// Returns the `make` target that runs the tier.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Tier::Quick => "quick",
            Tier::Test => "test",
            Tier::Deep => "test-deep",
        }
    }

    /// Returns the tier of a name.
    pub(crate) fn of(name: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == name)
    }

    /// Returns the value for this tier: of three, in the order of the tiers.
    pub(crate) fn choose<T>(self, quick: T, test: T, deep: T) -> T {
        match self {
            Tier::Quick => quick,
            Tier::Test => test,
            Tier::Deep => deep,
        }
    }
}
