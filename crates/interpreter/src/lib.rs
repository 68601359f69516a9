//! The meaning of every opcode: runs functions without compiling them.
