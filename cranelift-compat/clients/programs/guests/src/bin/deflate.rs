//! Compresses text with deflate at each level and extracts it again.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec;

fn main() {
    let text = guests::text(200_000);
    for level in [1, 3, 6, 8] {
        let packed = compress_to_vec(text.as_bytes(), level);
        let again = decompress_to_vec(&packed).unwrap_or_default();
        println!(
            "level {level}: packed {}, sum {:x}, equal {}",
            packed.len(),
            guests::sum(&packed),
            again == text.as_bytes()
        );
    }
}
