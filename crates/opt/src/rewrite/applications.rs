//! Counts and limits of the applications of rules.

use super::Rule;
use kingpost_meter::heap_bytes;

/// Limits to the application of rules, for finding a wrong rule by name or by bisection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct RuleLimits {
    /// The only rule that may be applied.
    pub only: Option<Rule>,
    /// Largest number of applications in all functions.
    pub most: Option<u64>,
}

/// Counter of applications, which refuses them beyond the limits.
#[derive(Clone, Debug)]
pub struct Applications {
    limits: RuleLimits,
    counts: Vec<u64>,
    total: u64,
    exhausted: u64,
}

heap_bytes!(Applications { counts } without { limits, total, exhausted });

impl Default for Applications {
    fn default() -> Applications {
        Applications::new(RuleLimits::default())
    }
}

impl Applications {
    /// Returns a counter without applications.
    pub fn new(limits: RuleLimits) -> Applications {
        Applications { limits, counts: vec![0; Rule::ALL.len()], total: 0, exhausted: 0 }
    }

    /// Returns `true` if a rule may be applied, and counts the application in that case.
    pub(crate) fn may_apply(&mut self, rule: Rule) -> bool {
        let RuleLimits { only, most } = self.limits;
        let allowed = only.is_none_or(|only| only == rule) && most.is_none_or(|most| self.total < most);
        if allowed {
            self.counts[rule as usize] += 1;
            self.total += 1;
        }
        allowed
    }

    /// Records a request on which no rules are tried, because its instruction has caused too many requests.
    pub(crate) fn exhaust(&mut self) {
        self.exhausted += 1;
    }

    /// Returns the number of requests on which no rules were tried, because their instruction had caused too many.
    pub fn exhausted(&self) -> u64 {
        self.exhausted
    }

    /// Returns the rules that were applied and how often, in the order in which they are tried.
    pub fn counts(&self) -> impl Iterator<Item = (Rule, u64)> {
        Rule::ALL.iter().map(|&rule| (rule, self.counts[rule as usize])).filter(|(_, count)| *count > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        let mut all = Applications::default();
        assert!(all.may_apply(Rule::AddZero) && all.may_apply(Rule::AddZero) && all.may_apply(Rule::SubZero));
        assert_eq!(all.counts().collect::<Vec<_>>(), [(Rule::AddZero, 2), (Rule::SubZero, 1)]);
        let mut few = Applications::new(RuleLimits { only: Some(Rule::SubZero), most: Some(1) });
        assert!(!few.may_apply(Rule::AddZero) && few.may_apply(Rule::SubZero) && !few.may_apply(Rule::SubZero));
    }
}
