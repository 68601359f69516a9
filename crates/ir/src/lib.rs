//! SSA intermediate representation: functions, types, the opcode table, printer, verifier and analyses.
