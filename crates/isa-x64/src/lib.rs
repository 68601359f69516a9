//! The x86-64 instruction set: lowering, instruction rows, encoding, calling conventions.
