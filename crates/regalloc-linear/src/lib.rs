//! Linear scan register allocation on SSA form with interval splitting.
