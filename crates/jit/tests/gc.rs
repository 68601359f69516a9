//! Checks that a moving collector finds every reference of generated functions by their stack maps.
//!
//! The functions allocate objects, link them, call each other and add the numbers of objects, with their references
//! in stack slots. A collector runs at random calls: it walks the frames, copies reachable objects, writes the new
//! addresses into the frames and overwrites the old objects. The sums must equal the sums without a collector.
//!
//! With `KINGPOST_COLLECTIONS=1000000` there are that many collections with each allocator.
#![allow(unsafe_code, reason = "compiled functions are called, and their frames are read and written")]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use kingpost_codegen::module::{Linkage, Module};
use kingpost_codegen::{ALLOCATORS, Compiler, Settings};
use kingpost_ir::Function;
use kingpost_jit::JitModule;
use std::cell::RefCell;
use std::fmt::Write;
use std::ops::Range;
use target_lexicon::triple;

/// Number of functions, which call each other. Functions with odd numbers pop stack arguments.
const FUNCTIONS: usize = 6;
/// Number of places of a function that hold references.
const PLACES: usize = 6;
/// Maximum number of objects.
const ROOM: usize = 1 << 16;

/// A generator of pseudo-random numbers (Steele, Lea and Flood, 2014: SplitMix64).
struct Rng(u64);

impl Rng {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }
}

/// An object. A reference is its address, or 0 for none.
#[derive(Clone, Copy)]
enum Object {
    Present {
        number: u64,
        fields: [u64; 2],
    },
    /// The object was copied to this address.
    Moved(u64),
    /// There is no object here, or no longer.
    Gone,
}

/// Objects in order of allocation. A place is reused only after all others, so that a reference that was not updated
/// leads to a missing object.
struct Heap {
    objects: Box<[Object]>,
    /// Numbers of the present objects. The index of an object is its number modulo `ROOM`.
    present: Range<usize>,
}

impl Heap {
    fn place(&self, number: usize) -> u64 {
        &raw const self.objects[number % ROOM] as u64
    }

    fn at(&mut self, reference: u64) -> &mut Object {
        let offset = (reference as usize).wrapping_sub(self.objects.as_ptr() as usize);
        assert!(offset.is_multiple_of(size_of::<Object>()), "{reference:#x} is no reference");
        self.objects.get_mut(offset / size_of::<Object>()).expect("a reference is an address in the heap")
    }

    fn add(&mut self, object: Object) -> u64 {
        assert!(self.present.len() < ROOM, "too many objects for the test");
        let address = self.place(self.present.end);
        *self.at(address) = object;
        self.present.end += 1;
        address
    }

    /// Returns the reference to the copy of an object, and makes the copy if there is none yet.
    fn forwarded(&mut self, reference: u64) -> u64 {
        if reference == 0 {
            return 0;
        }
        match *self.at(reference) {
            Object::Moved(to) => to,
            object @ Object::Present { .. } => {
                let to = self.add(object);
                *self.at(reference) = Object::Moved(to);
                to
            }
            Object::Gone => panic!("a reference was not updated"),
        }
    }

    /// Copies everything that the copies since object `old.end` refer to, and drops the old objects.
    fn finish(&mut self, old: Range<usize>) {
        let mut next = old.end;
        while next < self.present.end {
            let place = self.place(next);
            let Object::Present { number, fields } = *self.at(place) else { unreachable!("copies are not moved") };
            let fields = fields.map(|field| self.forwarded(field));
            *self.at(place) = Object::Present { number, fields };
            next += 1;
        }
        for number in old.clone() {
            let place = self.place(number);
            *self.at(place) = Object::Gone;
        }
        self.present.start = old.end;
    }
}

struct World {
    module: JitModule,
    heap: Heap,
    rng: Rng,
    /// The collector runs at one of this many calls; 0 for never.
    period: usize,
    collections: usize,
    updated: usize,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

fn world<R>(f: impl FnOnce(&mut World) -> R) -> R {
    WORLD.with_borrow_mut(|world| f(world.as_mut().expect("the test has set it up")))
}

/// Runs the collector at some calls, with the stack and frame pointers of the caller.
extern "C" fn safepoint(stack_pointer: *mut u64, frame_pointer: *mut u64) {
    world(|world| {
        if world.period > 0 && world.rng.below(world.period) == 0 {
            // SAFETY: the caller is a compiled function, and these are its pointers.
            unsafe { world.collect(stack_pointer, frame_pointer) }
        }
    });
}

/// Returns a new object with this number, after a safepoint.
extern "C" fn allocate(stack_pointer: *mut u64, frame_pointer: *mut u64, number: u64) -> u64 {
    safepoint(stack_pointer, frame_pointer);
    world(|world| world.heap.add(Object::Present { number, fields: [0; 2] }))
}

/// Returns the number of an object.
extern "C" fn number(reference: u64) -> u64 {
    if reference == 0 { 0 } else { fields(reference).0 }
}

/// Returns one of the references in an object.
extern "C" fn follow(reference: u64, field: u64) -> u64 {
    if reference == 0 { 0 } else { fields(reference).1[field as usize] }
}

/// Sets one of the references in an object.
extern "C" fn link(reference: u64, field: u64, to: u64) {
    if reference != 0 {
        let (number, mut fields) = fields(reference);
        fields[field as usize] = to;
        world(|world| *world.heap.at(reference) = Object::Present { number, fields });
    }
}

fn fields(reference: u64) -> (u64, [u64; 2]) {
    world(|world| match *world.heap.at(reference) {
        Object::Present { number, fields } => (number, fields),
        Object::Moved(_) | Object::Gone => panic!("a reference was not updated"),
    })
}

impl World {
    /// Collects during a call by a function with these pointers.
    ///
    /// # Safety
    /// The pointers must belong to an active compiled function.
    unsafe fn collect(&mut self, stack_pointer: *mut u64, frame_pointer: *mut u64) {
        let old = self.heap.present.clone();
        let mut frame = frame_pointer;
        // SAFETY: the call has stored its return address below the caller's stack.
        let mut return_address = unsafe { *stack_pointer.sub(1) } as usize;
        while self.module.function_at(return_address).is_some() {
            if let Some(map) = self.module.stack_map_at(return_address) {
                for entry in map.entries {
                    // SAFETY: the call is active, and its frame has a reference there.
                    let place =
                        unsafe { &mut *frame.byte_sub(map.body_offset as usize).byte_add(entry.offset as usize) };
                    *place = self.heap.forwarded(*place);
                }
                self.updated += map.entries.len();
            }
            // SAFETY: the word at the frame pointer of a calling function is its caller's frame pointer, and the next
            // word is the return address.
            (return_address, frame) = unsafe { (*frame.add(1) as usize, *frame as *mut u64) };
        }
        self.heap.finish(old);
        self.collections += 1;
    }
}

/// State of the generator of one function.
struct Writer<'a> {
    rng: &'a mut Rng,
    text: String,
    values: usize,
    /// Whether each place has a reference.
    live: [bool; PLACES],
    /// The value that holds the sum.
    sum: usize,
}

/// Returns the slot and offset of a place. Half of the places are in one slot.
fn place(index: usize) -> String {
    if index < PLACES / 2 { format!("ss0+{}", 8 * index + 8) } else { format!("ss{index}") }
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line}").expect("a string takes everything");
    }

    fn value(&mut self, text: &str) -> usize {
        self.values += 1;
        self.line(&format!("v{} = {text}", self.values));
        self.values
    }

    fn read(&mut self, index: usize) -> usize {
        let address = self.value(&format!("stack_addr.i64 {}", place(index)));
        self.value(&format!("load.i64 v{address}"))
    }

    fn write(&mut self, index: usize, value: usize) {
        let address = self.value(&format!("stack_addr.i64 {}", place(index)));
        self.line(&format!("store v{value}, v{address}"));
        self.live[index] = true;
    }

    /// Returns the reference in a random place that has one.
    fn reference(&mut self) -> usize {
        let live: Vec<usize> = (0..PLACES).filter(|&index| self.live[index]).collect();
        match live.len() {
            0 => self.value("iconst.i64 0"),
            len => {
                let index = live[self.rng.below(len)];
                self.read(index)
            }
        }
    }

    /// Returns the text of a call. Some places lose their references during it.
    fn call(&mut self, callee: &str, args: &[usize]) -> String {
        for index in 0..PLACES {
            self.live[index] &= self.rng.below(8) > 0;
        }
        let live = (0..PLACES).filter(|&index| self.live[index]);
        let entries: Vec<String> = live.map(|index| format!("i64 @ {}", place(index))).collect();
        let args: Vec<String> = args.iter().map(|arg| format!("v{arg}")).collect();
        let map = if entries.is_empty() { String::new() } else { format!(", stack_map=[{}]", entries.join(", ")) };
        format!("call {callee}({}){map}", args.join(", "))
    }

    fn pointers(&mut self) -> [usize; 2] {
        ["get_stack_pointer.i64", "get_frame_pointer.i64"].map(|text| self.value(text))
    }

    fn add(&mut self, value: usize) {
        let factor = self.value("iconst.i64 31");
        let product = self.value(&format!("imul v{}, v{factor}", self.sum));
        self.sum = self.value(&format!("iadd v{product}, v{value}"));
    }

    fn step(&mut self) {
        let target = self.rng.below(PLACES);
        match self.rng.below(10) {
            0..3 => {
                let number = self.rng.bits() >> 40;
                let number = self.value(&format!("iconst.i64 {number}"));
                let [stack, frame] = self.pointers();
                let call = self.call("fn100", &[stack, frame, number]);
                let object = self.value(&call);
                self.write(target, object);
            }
            3 => {
                let pointers = self.pointers();
                let call = self.call("fn101", &pointers);
                self.line(&call);
            }
            4..6 => {
                let object = self.reference();
                let call = self.call("fn102", &[object]);
                let number = self.value(&call);
                self.add(number);
            }
            6 => {
                let (object, to) = (self.reference(), self.reference());
                let field = self.rng.below(2);
                let field = self.value(&format!("iconst.i64 {field}"));
                let call = self.call("fn104", &[object, field, to]);
                self.line(&call);
            }
            7 => {
                let object = self.reference();
                let field = self.rng.below(2);
                let field = self.value(&format!("iconst.i64 {field}"));
                let call = self.call("fn103", &[object, field]);
                let object = self.value(&call);
                self.write(target, object);
            }
            8 => {
                let object = self.reference();
                self.write(target, object);
            }
            _ => {
                let object = self.reference();
                let callee = self.rng.below(FUNCTIONS);
                let one = self.value("iconst.i64 1");
                let fuel = self.value(&format!("isub v0, v{one}"));
                let mut args = vec![fuel, object];
                args.resize(params(callee), fuel);
                let call = self.call(&format!("fn{callee}"), &args);
                let sum = self.value(&call);
                self.add(sum);
            }
        }
    }
}

/// Returns the number of a function's parameters: fuel, a reference, and some that are passed on the stack and
/// popped.
fn params(function: usize) -> usize {
    if function.is_multiple_of(2) { 2 } else { 9 }
}

fn signature(function: usize) -> String {
    let convention = if function.is_multiple_of(2) { "system_v" } else { "tail" };
    format!("({}) -> i64 {convention}", vec!["i64"; params(function)].join(", "))
}

/// Returns a function that stops when its fuel is used up.
fn function(index: usize, rng: &mut Rng) -> Function {
    let mut text = format!("function %f{index}{} {{\n    ss0 = explicit_slot {}\n", signature(index), 4 * PLACES + 8);
    for slot in PLACES / 2..PLACES {
        writeln!(text, "    ss{slot} = explicit_slot 8").expect("a string takes everything");
    }
    for callee in 0..FUNCTIONS {
        writeln!(text, "    fn{callee} = colocated %f{callee}{}", signature(callee))
            .expect("a string takes everything");
    }
    text += "    fn100 = %allocate(i64, i64, i64) -> i64 system_v
    fn101 = %safepoint(i64, i64) system_v
    fn102 = %number(i64) -> i64 system_v
    fn103 = %follow(i64, i64) -> i64 system_v
    fn104 = %link(i64, i64, i64) system_v\n";
    let names: Vec<String> = (0..params(index)).map(|n| format!("v{n}: i64")).collect();
    writeln!(text, "block0({}):\n    brif v0, block1, block2\nblock2:\n    return v0\nblock1:", names.join(", "))
        .expect("a string takes everything");
    let mut writer = Writer { rng, text, values: 100, live: [false; PLACES], sum: 0 };
    let none = writer.value("iconst.i64 0");
    (1..PLACES).for_each(|index| writer.write(index, none));
    writer.write(0, 1);
    for _ in 0..24 {
        writer.step();
    }
    writer.line(&format!("return v{}", writer.sum));
    writer.text += "}\n";
    kingpost_reader::parse_functions(&writer.text).unwrap().remove(0)
}

fn module(allocator: &str, seed: u64) -> JitModule {
    let settings = Settings::default().with(|settings| {
        settings.regalloc_algorithm = allocator.into();
        settings.preserve_frame_pointers = true;
        settings.verify_each = true;
    });
    let mut m = JitModule::new(Compiler::new(&triple!("x86_64-unknown-linux-gnu"), settings, &[]).unwrap());
    m.symbol("allocate", allocate as *const u8);
    m.symbol("safepoint", safepoint as *const u8);
    m.symbol("number", number as *const u8);
    m.symbol("follow", follow as *const u8);
    m.symbol("link", link as *const u8);
    let rng = &mut Rng(seed);
    let mut functions: Vec<Function> = (0..FUNCTIONS).map(|index| function(index, rng)).collect();
    let ids: Vec<_> = functions
        .iter()
        .map(|f| m.declare_function(&f.name.to_string()[1..], Linkage::Export, &f.signature).unwrap())
        .collect();
    ids.iter().zip(&mut functions).for_each(|(&id, f)| m.define_function(id, f).unwrap());
    m.finalize_definitions().unwrap();
    m
}

/// Runs a function with a collector of this period.
fn run(name: &str, fuel: u64, period: usize) -> u64 {
    let entry = world(|world| {
        world.period = period;
        let end = world.heap.present.end;
        world.heap.present = end..end;
        world.heap.objects.fill(Object::Gone);
        world.module.address(name).expect("a function of the module")
    });
    // SAFETY: the address belongs to a function of this type.
    let entry = unsafe { std::mem::transmute::<*const u8, extern "C" fn(u64, u64) -> u64>(entry) };
    entry(fuel, 0)
}

#[test]
fn a_moving_collector_finds_all_references() {
    let wanted = std::env::var("KINGPOST_COLLECTIONS").map_or(3000, |n| n.parse().expect("a number of collections"));
    for (allocator, _) in ALLOCATORS {
        let (mut collections, mut updated, mut seed) = (0, 0, 1);
        while collections < wanted {
            let module = module(allocator, seed);
            let heap = Heap { objects: vec![Object::Gone; ROOM].into(), present: 0..0 };
            let world = World { module, heap, rng: Rng(seed), period: 0, collections: 0, updated: 0 };
            WORLD.set(Some(world));
            for index in (0..FUNCTIONS).step_by(2) {
                let name = format!("f{index}");
                let expected = run(&name, 4, 0);
                for period in [1, 2, 5, 20] {
                    assert_eq!(run(&name, 4, period), expected, "{allocator}, seed {seed}, {name}, period {period}");
                }
            }
            let world = WORLD.take().expect("set above");
            (collections, updated, seed) = (collections + world.collections, updated + world.updated, seed + 1);
        }
        println!("{allocator}: {collections} collections, {updated} references updated, {} programs", seed - 1);
        assert!(updated > collections, "frames hold references");
    }
}
