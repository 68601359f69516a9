//! Form of the description of a frame for the unwinder of Windows.

/// Description of the frame of a function for the unwinder of Windows. The table of functions has one word for it, after the
/// addresses of the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WindowsUnwinding {
    /// The word itself.
    Packed(u32),
    /// Bytes that the word refers to by their address. They are aligned to four bytes.
    Record(Vec<u8>),
}
