//! Tests of the interface from outside: the header, programs in C, and the cost.

mod cost;
mod header;
mod programs;
mod python;
