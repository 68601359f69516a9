//! Compresses text with bzip2 and extracts it again.

use bzip2::Compression;
use bzip2::read::{BzDecoder, BzEncoder};
use std::io::Read;

fn main() -> std::io::Result<()> {
    let text = guests::text(400_000);
    let mut packed = Vec::new();
    BzEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut packed)?;
    let mut again = Vec::new();
    BzDecoder::new(&packed[..]).read_to_end(&mut again)?;
    println!(
        "{} bytes, packed {}, sum {:x}, equal {}",
        text.len(),
        packed.len(),
        guests::sum(&packed),
        again == text.as_bytes()
    );
    Ok(())
}
