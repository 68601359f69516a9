//! Types of function pointers for calls of compiled functions.

/// A type of function pointers, such as `extern "C" fn(i64) -> i64`, with up to eight arguments. On x86-64, functions of the
/// convention `system_v` are `extern "sysv64"` on every system, and functions of `windows_fastcall` are `extern "win64"`.
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

macro_rules! for_all_numbers_of_arguments {
    ($($abi:literal)+) => {
        $(entry_points! {
            $abi ();
            $abi (A);
            $abi (A, B);
            $abi (A, B, C);
            $abi (A, B, C, D);
            $abi (A, B, C, D, E);
            $abi (A, B, C, D, E, F);
            $abi (A, B, C, D, E, F, G);
            $abi (A, B, C, D, E, F, G, H);
        })+
    };
}

for_all_numbers_of_arguments! { "C" "C-unwind" }
#[cfg(target_arch = "x86_64")]
for_all_numbers_of_arguments! { "sysv64" "sysv64-unwind" "win64" "win64-unwind" }
