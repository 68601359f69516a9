//! Runs .clif tests: subtests, directives, expectations.
