//! Computes digests of SHA-256 and SHA-512.

use sha2::{Digest, Sha256, Sha512};

fn main() {
    let text = guests::text(100_000);
    let (mut short, mut long) = (Sha256::new(), Sha512::new());
    for _ in 0..60 {
        short.update(&text);
        long.update(&text);
    }
    println!("{:x} {:x}", guests::sum(&short.finalize()), guests::sum(&long.finalize()));
}
