//! Buffers: bytes and texts of the library, and texts that callbacks write.

use crate::entry::entries;
use crate::error::{Error, Failure, Status};
use crate::foreign::{Array, Lent, Out, Text};
use crate::handles::{Handle, Object, Table};

/// Bytes that the library or a callback wrote, followed by a zero byte that does not count.
pub struct Buffer(Vec<u8>);

static BUFFERS: Table<Buffer> = Table::new();

impl Object for Buffer {
    const KIND: u8 = 2;
    const NAME: &'static str = "buffer";

    fn table() -> &'static Table<Buffer> {
        &BUFFERS
    }
}

impl Buffer {
    /// Returns a handle of a buffer with these bytes.
    pub(crate) fn create(mut bytes: Vec<u8>) -> Result<Handle<Buffer>, Failure> {
        bytes.push(0);
        Handle::create(Buffer(bytes))
    }

    /// Returns the bytes without the final zero.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.0.pop();
        self.0
    }

    fn append(&mut self, bytes: &[u8]) {
        self.0.pop();
        self.0.extend_from_slice(bytes);
        self.0.push(0);
    }
}

entries! {
    /// Stores address and length of the bytes of a buffer. A zero byte follows them, which the length does not count,
    /// so that a text is a string of C.
    ///
    /// Ownership: the bytes belong to the buffer. The address is valid until the buffer is freed or appended to.
    fn kp_buffer_bytes(buffer: Handle<Buffer>, bytes: Out<'_, Lent>, length: Out<'_, usize>; error) {
        buffer.with(|buffer| {
            bytes.put(Lent::of(&buffer.0));
            length.put(buffer.0.len() - 1);
            Ok(())
        })
    }

    /// Appends bytes to a buffer. An allocator of the caller writes its answer so.
    fn kp_buffer_append(buffer: Handle<Buffer>, bytes: Array<'_, u8>, length: usize; error) {
        let bytes = bytes.get(length, "bytes")?;
        buffer.with(|buffer| {
            buffer.append(bytes);
            Ok(())
        })
    }

    /// Writes the bytes of a buffer to a file, which is created or replaced.
    fn kp_buffer_write(buffer: Handle<Buffer>, path: Text<'_>; error) {
        let path = path.required("path")?;
        buffer.with(|buffer| {
            let bytes = &buffer.0[..buffer.0.len() - 1];
            std::fs::write(path, bytes).map_err(|error| Failure::new(Status::System, format!("{path}: {error}")))
        })
    }

    /// Frees a buffer.
    fn kp_buffer_free(buffer: Handle<Buffer>; error) {
        buffer.take().map(drop)
    }
}
