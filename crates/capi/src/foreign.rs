//! Memory of C programs: texts, arrays and places for results. Only this file accesses it.
//!
//! The types here are pointers of a C program. Safe Rust code cannot make them from addresses. Functions of the
//! interface get them from a caller in C, whose contract is in the header: a pointer is null, or it points to as many
//! elements as the header says, which no thread changes during the call.

use crate::error::Failure;
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::slice;

/// A place for a result. Results for a null pointer are dropped.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<'a, T: Copy> Out<'a, T> {
    /// Returns the place of a variable.
    #[cfg(test)]
    pub(crate) fn of(place: &'a mut T) -> Out<'a, T> {
        Out(place, PhantomData)
    }

    /// Stores a result.
    pub(crate) fn put(self, value: T) {
        self.put_all(1, std::iter::once(value));
    }

    /// Returns the place if it is not null.
    pub(crate) fn required(self, name: &str) -> Result<Out<'a, T>, Failure> {
        match self.0.is_null() {
            true => Err(Failure::argument(format!("`{name}` is a null pointer"))),
            false => Ok(self),
        }
    }

    /// Stores the first `capacity` results in an array.
    pub(crate) fn put_all(self, capacity: usize, values: impl Iterator<Item = T>) {
        if self.0.is_null() {
            return;
        }
        for (index, value) in values.take(capacity).enumerate() {
            // SAFETY: by the contract of the interface the pointer points to memory for `capacity` elements, and
            // `index` is below `capacity`. `write` neither reads nor drops what was there.
            unsafe { self.0.add(index).write(value) }
        }
    }
}

/// A text that ends in a zero byte.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    /// Returns the text; `None` for a null pointer.
    pub(crate) fn get(self, name: &str) -> Result<Option<&'a str>, Failure> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: by the contract of the interface a zero byte ends the text, and no thread changes it during the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        let text = text.to_str().map_err(|_| Failure::argument(format!("`{name}` is not UTF-8")))?;
        Ok(Some(text))
    }

    /// Returns the text of an argument that may not be null.
    pub(crate) fn required(self, name: &str) -> Result<&'a str, Failure> {
        self.get(name)?.ok_or_else(|| Failure::argument(format!("`{name}` is a null pointer")))
    }

    /// Returns the text of an argument that may be neither null nor empty.
    pub(crate) fn not_empty(self, name: &str) -> Result<&'a str, Failure> {
        match self.required(name)? {
            "" => Err(Failure::argument(format!("`{name}` is empty"))),
            text => Ok(text),
        }
    }
}

/// Elements of an array, whose length is another argument.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, T>(*const T, PhantomData<&'a [T]>);

impl<'a, T: Copy> Array<'a, T> {
    /// Returns the first `length` elements. A null pointer is an array without elements.
    pub(crate) fn get(self, length: usize, name: &str) -> Result<&'a [T], Failure> {
        if length == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err(Failure::argument(format!("`{name}` is a null pointer, but its length is {length}")));
        }
        if !self.0.is_aligned() || length > isize::MAX as usize / size_of::<T>() {
            return Err(Failure::argument(format!("`{name}` is not an array of {length} elements")));
        }
        // SAFETY: by the contract of the interface there are `length` elements, which no thread changes during the call.
        // The pointer is aligned, and the bytes fit the address space.
        Ok(unsafe { slice::from_raw_parts(self.0, length) })
    }
}

/// An address in the process, which the interface passes on and does not access.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Address(*const c_void);

impl Address {
    /// The null pointer.
    pub(crate) const NULL: Address = Address(std::ptr::null());

    /// Returns this address.
    pub(crate) fn of(address: *const u8) -> Address {
        Address(address.cast())
    }

    /// Returns the address as a number.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// Returns the address as a pointer to bytes.
    pub(crate) fn bytes(self) -> *const u8 {
        self.0.cast()
    }
}

/// Bytes that the interface lends to a C program.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Lent(*const c_char);

impl Lent {
    /// Returns the address of the bytes.
    pub(crate) fn of(bytes: &[u8]) -> Lent {
        Lent(bytes.as_ptr().cast())
    }
}

/// A pointer of a C program that callbacks get back.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct User(*mut c_void);

// SAFETY: the library does not access what the pointer points to. By the contract of the interface, the callback that
// gets it may be called in every thread.
unsafe impl Send for User {}

// SAFETY: see `Send`.
unsafe impl Sync for User {}
