//! Tests of the interface from outside: the header, programs in C and Python, their use of memory, and the cost.

mod cost;
mod header;
mod memory;
mod programs;
mod python;
mod python_allocator;
mod sprig;
