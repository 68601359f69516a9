//! Machine code vocabulary shared by all instruction sets.
