//! Uses what WASI offers: files, folders, clocks, arguments, the environment, random numbers and an exit code.

use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::time::{Duration, Instant, SystemTime};

fn main() -> Result<()> {
    let start = Instant::now();
    println!("arguments {:?}", std::env::args().skip(1).collect::<Vec<_>>());
    println!("environment {:?}", std::env::var("PROGRAM_SETTING"));
    files()?;
    clocks(start)?;
    let random = |seed: &RandomState| seed.build_hasher().finish();
    println!("random {}", random(&RandomState::new()) != random(&RandomState::new()));
    eprintln!("to the error stream");
    std::process::exit(7)
}

fn files() -> Result<()> {
    fs::create_dir_all("folder/inner")?;
    let mut file = File::create("folder/inner/text")?;
    for number in 0..1000 {
        writeln!(file, "line {number}")?;
    }
    drop(file);
    let lines = BufReader::new(File::open("folder/inner/text")?).lines().collect::<Result<Vec<_>>>()?;
    println!("{} lines, last {:?}", lines.len(), lines.last());
    let mut file = OpenOptions::new().read(true).write(true).open("folder/inner/text")?;
    file.seek(SeekFrom::Start(5))?;
    file.write_all(b"zero")?;
    file.seek(SeekFrom::End(-4))?;
    let mut end = String::new();
    file.read_to_string(&mut end)?;
    println!("size {}, end {end:?}", file.metadata()?.len());
    fs::rename("folder/inner/text", "folder/moved")?;
    let mut names: Vec<_> =
        fs::read_dir("folder")?.map(|entry| entry.map(|entry| entry.file_name())).collect::<Result<_>>()?;
    names.sort();
    println!("{names:?}, sum {:x}", guests::sum(&fs::read("folder/moved")?));
    println!("{:?}", File::open("folder/inner/text").map_err(|error| error.kind()).err());
    fs::remove_dir_all("folder")
}

fn clocks(start: Instant) -> Result<()> {
    std::thread::sleep(Duration::from_millis(2));
    let wall =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    println!("slept {}, after 2020 {}", start.elapsed() >= Duration::from_millis(2), wall.as_secs() > 1_577_836_800);
    Ok(())
}
