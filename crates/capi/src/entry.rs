//! The frame of every function of the interface: no panic crosses it, and errors become values.

use crate::error::{Error, Failure, Status};
use crate::foreign::Out;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs the body of a function that can fail. Stores the error, or the absence of one.
pub(crate) fn fallible(error: Out<'_, Error>, body: impl FnOnce() -> Result<(), Failure>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(Failure::bug(&*panic)));
    let value = result.err().map_or(Error::NONE, |failure| failure.error());
    error.put(value);
    value.status
}

/// Runs the body of a function that cannot fail. A panic, which would be a bug of the library, becomes the default
/// value.
pub(crate) fn total<T: Default>(body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_default()
}

/// Defines functions of the interface. Each gets the name that C programs link with, and a frame that lets no panic
/// through. There are three kinds:
///
/// - `fn kp_name(arguments; error) { … }` has the parameter `kp_error *error` last, and the result `kp_status`. The
///   body has the type `Result<(), Failure>`.
/// - `fn kp_name(arguments) -> Type { … }` cannot fail.
/// - `fn kp_name[builder](arguments) -> Type { … }` has a function builder first, under this name in the body. The
///   body has the type `Result<Type, Failure>`. The builder keeps the first error.
macro_rules! entries {
    () => {};
    (
        $(#[$attribute:meta])*
        fn $name:ident($($parameter:ident: $type:ty),*; error) $body:block
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($parameter: $type,)* error: Out<'_, Error>) -> Status {
            $crate::entry::fallible(error, || $body)
        }
        entries! { $($rest)* }
    };
    (
        $(#[$attribute:meta])*
        fn $name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($parameter: $type),*) $(-> $result)? {
            $crate::entry::total(|| $body)
        }
        entries! { $($rest)* }
    };
    (
        $(#[$attribute:meta])*
        fn $name:ident[$builder:ident]($($parameter:ident: $type:ty),*) $(-> $result:ty)? $body:block
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(builder: Handle<Builder>, $($parameter: $type),*) $(-> $result)? {
            $crate::entry::total(|| building(builder, stringify!($name), |$builder| $body))
        }
        entries! { $($rest)* }
    };
}
pub(crate) use entries;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let mut error = Error::NONE;
        let status = fallible(Out::of(&mut error), || panic!("planted {}", 7));
        assert_eq!((status, error.status), (Status::Bug, Status::Bug));
        assert_eq!(error.text(), "a bug of the library: planted 7");
        assert_eq!(total(|| -> u32 { panic!("planted") }), 0);
    }
}
