//! Functions that compiled programs call, and a heap with a collector that moves every object.
//!
//! An object is a header and its fields, one word each. The header is odd: twice the number of fields plus one, and
//! in its upper half one bit for each field that is a reference. The header of an object that has moved is replaced
//! by its new address.

use kingpost::jit::JitModule;
use std::cell::RefCell;

/// Words of each half of the heap.
const WORDS: usize = 1 << 16;

/// Overwrites objects that have moved away, so that a stale reference is noticed.
const GONE: u64 = 0xdead;

/// The heap of one run.
pub(crate) struct Heap {
    module: *const JitModule,
    /// The half that holds the objects, and the other one.
    halves: [Box<[u64]>; 2],
    /// Number of used words.
    used: usize,
    /// Whether every allocation runs the collector.
    collects_always: bool,
    pub(crate) collections: usize,
}

thread_local! {
    static HEAP: RefCell<Option<Heap>> = const { RefCell::new(None) };
}

/// Returns the functions that compiled programs import, with their names.
pub(crate) fn symbols() -> [(&'static str, *const u8); 3] {
    [
        ("sprig_allocate", allocate as *const u8),
        ("sprig_print_text", print_text as *const u8),
        ("sprig_print_number", print_number as *const u8),
    ]
}

/// Runs `program` with an empty heap. Returns its result and the heap.
pub(crate) fn with_heap<R>(module: &JitModule, collects_always: bool, program: impl FnOnce() -> R) -> (R, Heap) {
    let halves = [(); 2].map(|()| vec![GONE; WORDS].into());
    let heap = Heap { module, halves, used: 0, collects_always, collections: 0 };
    HEAP.set(Some(heap));
    let result = program();
    (result, HEAP.take().expect("it was set"))
}

extern "C" fn print_text(text: *const u64) {
    // SAFETY: the compiler passes the address of a string: its length, then its bytes.
    let bytes = unsafe { std::slice::from_raw_parts(text.add(1).cast(), *text as usize) };
    println!("{}", String::from_utf8_lossy(bytes));
}

extern "C" fn print_number(number: i64) {
    println!("{number}");
}

/// Allocates an object for a compiled function with these pointers.
extern "C" fn allocate(stack_pointer: *const u64, frame_pointer: *mut u64, header: u64) -> *mut u64 {
    HEAP.with_borrow_mut(|heap| {
        let heap = heap.as_mut().expect("`with_heap` has set it");
        let words = words_of(header);
        // The position of the call's return address is known only on x86-64. On other machines, nothing is collected.
        if cfg!(target_arch = "x86_64") && (heap.collects_always || heap.used + words > WORDS) {
            // SAFETY: the caller is a compiled function, and these are its pointers.
            unsafe { heap.collect(stack_pointer, frame_pointer) };
        }
        if heap.used + words > WORDS {
            eprintln!("the heap is full");
            std::process::abort();
        }
        let object = &mut heap.halves[0][heap.used..heap.used + words];
        heap.used += words;
        object.fill(0);
        object[0] = header;
        object.as_mut_ptr()
    })
}

/// Returns the words of an object, header included.
fn words_of(header: u64) -> usize {
    (header as u32 >> 1) as usize + 1
}

impl Heap {
    /// Moves every object that is reachable from the frames of compiled functions.
    ///
    /// # Safety
    /// The pointers are of a compiled function that is calling.
    unsafe fn collect(&mut self, stack_pointer: *const u64, frame_pointer: *mut u64) {
        let mut used = 0;
        // SAFETY: the module outlives the run of its functions.
        let module = unsafe { &*self.module };
        let mut frame = frame_pointer;
        // SAFETY: the call has stored its return address below the caller's stack pointer.
        let mut return_address = unsafe { *stack_pointer.sub(1) } as usize;
        while module.function_at(return_address).is_some() {
            if let Some(map) = module.stack_map_at(return_address) {
                for entry in map.entries {
                    // SAFETY: the call is active, and its frame has a reference there.
                    let place =
                        unsafe { &mut *frame.byte_sub(map.body_offset as usize).byte_add(entry.offset as usize) };
                    *place = self.forward(*place, &mut used);
                }
            }
            // SAFETY: the word at a frame pointer is the caller's frame pointer, and the next one the return address.
            (return_address, frame) = unsafe { (*frame.add(1) as usize, *frame as *mut u64) };
        }
        // Objects that have moved may refer to objects that have not moved yet.
        let mut at = 0;
        while at < used {
            let header = self.halves[1][at];
            for field in (0..words_of(header) - 1).filter(|field| header >> (32 + field) & 1 != 0) {
                self.halves[1][at + field + 1] = self.forward(self.halves[1][at + field + 1], &mut used);
            }
            at += words_of(header);
        }
        self.halves[0].fill(GONE);
        self.halves.swap(0, 1);
        self.used = used;
        self.collections += 1;
    }

    /// Returns the new address of an object, and moves it if it has not moved yet.
    fn forward(&mut self, reference: u64, used: &mut usize) -> u64 {
        if reference == 0 {
            return 0;
        }
        let offset = reference.wrapping_sub(self.halves[0].as_ptr() as u64) / 8;
        let old = offset as usize;
        let header = self.halves[0][old];
        if header.is_multiple_of(2) {
            return header;
        }
        assert_ne!(header, GONE, "a reference was not updated");
        let words = words_of(header);
        let [from, to] = &mut self.halves;
        to[*used..*used + words].copy_from_slice(&from[old..old + words]);
        from[old] = to[*used..].as_ptr() as u64;
        *used += words;
        from[old]
    }
}
