//! Types by which compiled functions are called.

/// A type of function pointers: `extern "C" fn(i64) -> i64` or the like, with up to eight arguments.
///
/// # Safety
/// A value is the address of the function's first instruction.
pub unsafe trait EntryPoint: Copy {
    /// Returns the function at `address`.
    ///
    /// # Safety
    /// A function of this type is at `address`, and stays there while the result is in use.
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
                // SAFETY: promised by the caller.
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
