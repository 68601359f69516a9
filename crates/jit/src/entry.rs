//! Types of function pointers for calls of compiled functions.

/// A type of function pointers, such as `extern "C" fn(i64) -> i64`, with up to eight arguments.
///
/// # Safety
/// A value of the type must be the address of the function's first instruction.
pub unsafe trait EntryPoint: Copy {
    /// Returns the function at `address`.
    ///
    /// # Safety
    /// `address` must be the address of a function of this type, which stays there while the result is in use.
    unsafe fn at(address: usize) -> Self;
}

macro_rules! entry_points {
    ($($abi:literal ($($arg:ident),*);)+) => {
        $(
            entry_points!(@implement extern $abi fn($($arg),*) -> R; $($arg),*);
            entry_points!(@implement unsafe extern $abi fn($($arg),*) -> R; $($arg),*);
        )+
    };
    (@implement $pointer:ty; $($arg:ident),*) => {
        // SAFETY: a function pointer of Rust is the address of the function.
        unsafe impl<R, $($arg),*> EntryPoint for $pointer {
            unsafe fn at(address: usize) -> Self {
                // SAFETY: the caller promises it.
                unsafe { std::mem::transmute::<usize, Self>(address) }
            }
        }
    };
}

entry_points! {
    "C" ();
    "C" (A);
    "C" (A, B);
    "C" (A, B, C);
    "C" (A, B, C, D);
    "C" (A, B, C, D, E);
    "C" (A, B, C, D, E, F);
    "C" (A, B, C, D, E, F, G);
    "C" (A, B, C, D, E, F, G, H);
    "C-unwind" ();
    "C-unwind" (A);
    "C-unwind" (A, B);
    "C-unwind" (A, B, C);
    "C-unwind" (A, B, C, D);
    "C-unwind" (A, B, C, D, E);
    "C-unwind" (A, B, C, D, E, F);
    "C-unwind" (A, B, C, D, E, F, G);
    "C-unwind" (A, B, C, D, E, F, G, H);
}
