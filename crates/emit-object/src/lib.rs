//! Relocatable object files from compiled functions.
