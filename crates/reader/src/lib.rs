//! Reads CLIF text and filetest headers into the intermediate representation.
