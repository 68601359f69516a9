//! A function of a test in memory.

use kingpost_codegen::{Compiler, Settings};
use kingpost_jit::Image;
use kingpost_mach::{ModuleBuffer, SymbolName};

/// Compiles the function `%f` of a text for this machine. Returns its image and its address.
pub(crate) fn of(text: &str) -> (Image, usize) {
    let compiler = Compiler::host(Settings::default().with(|settings| settings.is_pic = false)).unwrap();
    let mut module = ModuleBuffer::default();
    let mut function = kingpost_reader::parse_functions(text).unwrap().remove(0);
    compiler.compile(&mut compiler.context(), &mut function, &mut module).unwrap();
    let image = Image::load(&module, &[], &mut |_| None).unwrap();
    let address = image.address(&SymbolName::named("f")).unwrap();
    (image, address)
}
