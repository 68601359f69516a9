//! Seeded generators of functions and of allocation problems, shrinker, fault injection.
