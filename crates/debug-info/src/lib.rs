//! Tables about compiled functions that objects and code in memory share: DWARF debug information, and frames for the
//! unwinder of Windows.
//!
//! | file | holds |
//! |---|---|
//! | `unit.rs` | the compilation unit: functions, lines, variables |
//! | `source.rs` | names of the source file and its folder |
//! | `windows.rs`, `windows_frame.rs` | frames for the unwinder of Windows |
//! | `windows_x64.rs`, `windows_aarch64.rs` | their formats |
//!
//! [`describe`] returns the information for the writer of the library `gimli`. The caller chooses how addresses of
//! functions are written: as relocations in an object, as numbers in memory.

mod source;
mod unit;
mod windows;
mod windows_aarch64;
mod windows_frame;
mod windows_x64;

pub use source::{InvalidName, Source};
pub use unit::{describe, is_wanted};
pub use windows::windows_unwinding;
pub use windows_frame::WindowsUnwinding;
