//! Proves one register allocation right by abstract interpretation.
