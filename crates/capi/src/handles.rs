//! Handles: the names by which C programs refer to objects. A handle is a number, never an address.
//!
//! A handle has a generation (32 bits), a kind (8 bits) and the index of a slot (24 bits). Invariants:
//! 1. A slot's generation grows when its object is freed, so that handles of freed objects stay errors. A slot whose
//!    generation cannot grow is not used again.
//! 2. Generations begin at 1, so that 0 is no handle.
//! 3. An object is used by one call at a time. A call that finds it in use fails, and does not wait, because the
//!    other call may be further up in this thread's stack.

use crate::error::{Failure, Status};
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};

/// A reference of a C program to an object of type `K`. Null refers to none.
#[repr(transparent)]
pub struct Handle<K>(u64, PhantomData<fn() -> K>);

impl<K> Handle<K> {
    /// The null handle.
    pub const NULL: Handle<K> = Handle(0, PhantomData);

    pub(crate) const fn from_bits(bits: u64) -> Handle<K> {
        Handle(bits, PhantomData)
    }

    /// Returns the number.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl<K> Clone for Handle<K> {
    fn clone(&self) -> Handle<K> {
        *self
    }
}

impl<K> Copy for Handle<K> {}

impl<K> Default for Handle<K> {
    fn default() -> Handle<K> {
        Handle::NULL
    }
}

impl<K> PartialEq for Handle<K> {
    fn eq(&self, other: &Handle<K>) -> bool {
        self.0 == other.0
    }
}

impl<K> fmt::Debug for Handle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A kind of object that handles refer to.
pub(crate) trait Object: Send + Sized + 'static {
    /// Number of the kind, from 1.
    const KIND: u8;
    /// Name of the kind in messages.
    const NAME: &'static str;

    /// Returns the table of all objects of the kind.
    fn table() -> &'static Table<Self>;
}

/// Maximum number of objects of one kind that exist at once.
const MAX_OBJECTS: usize = 1 << 24;

struct Slot<K> {
    generation: u32,
    object: Option<Arc<Mutex<K>>>,
}

/// All objects of a kind.
pub(crate) struct Table<K>(RwLock<Slots<K>>);

struct Slots<K> {
    slots: Vec<Slot<K>>,
    free: Vec<u32>,
}

impl<K: Object> Table<K> {
    pub(crate) const fn new() -> Table<K> {
        Table(RwLock::new(Slots { slots: Vec::new(), free: Vec::new() }))
    }
}

impl<K: Object> Slots<K> {
    /// Returns the slot of a handle whose object exists.
    fn slot(&self, handle: Handle<K>) -> Result<u32, Failure> {
        let (index, kind, generation) = (handle.0 as u32 & 0xff_ffff, (handle.0 >> 24) as u8, (handle.0 >> 32) as u32);
        let fail = |what: &str| Err(Failure::new(Status::Handle, format!("the handle of a {} {what}", K::NAME)));
        if handle.0 == 0 {
            return fail("is null");
        }
        match self.slots.get(index as usize) {
            Some(slot) if kind == K::KIND && slot.generation == generation && slot.object.is_some() => Ok(index),
            Some(slot) if kind == K::KIND && generation != 0 && generation < slot.generation => {
                fail("is stale: the object was freed")
            }
            _ => fail("is no handle of this kind"),
        }
    }
}

#[allow(private_bounds, reason = "the methods are private too")]
impl<K: Object> Handle<K> {
    /// Returns a handle of a new object.
    pub(crate) fn create(object: K) -> Result<Handle<K>, Failure> {
        let mut table = K::table().0.write().unwrap_or_else(PoisonError::into_inner);
        let object = Some(Arc::new(Mutex::new(object)));
        let index = match table.free.pop() {
            Some(index) => index as usize,
            None if table.slots.len() < MAX_OBJECTS => {
                table.slots.push(Slot { generation: 1, object: None });
                table.slots.len() - 1
            }
            None => return Err(Failure::new(Status::Limit, format!("there are {MAX_OBJECTS} objects already"))),
        };
        table.slots[index].object = object;
        let generation = u64::from(table.slots[index].generation);
        Ok(Handle::from_bits(generation << 32 | u64::from(K::KIND) << 24 | index as u64))
    }

    /// Runs `body` on the object.
    pub(crate) fn with<R>(self, body: impl FnOnce(&mut K) -> Result<R, Failure>) -> Result<R, Failure> {
        let object = {
            let table = K::table().0.read().unwrap_or_else(PoisonError::into_inner);
            let index = table.slot(self)?;
            table.slots[index as usize].object.clone().expect("the slot has an object")
        };
        match object.try_lock() {
            Ok(mut object) => body(&mut object),
            Err(TryLockError::WouldBlock) => Err(busy::<K>()),
            Err(TryLockError::Poisoned(_)) => {
                let message = format!("the {} is unusable because of an earlier bug of the library", K::NAME);
                Err(Failure::new(Status::Bug, message))
            }
        }
    }

    /// Returns the object, and frees its slot.
    pub(crate) fn take(self) -> Result<K, Failure> {
        let mut table = K::table().0.write().unwrap_or_else(PoisonError::into_inner);
        let index = table.slot(self)?;
        let slot = &mut table.slots[index as usize];
        let object = slot.object.take().expect("the slot has an object");
        // No call can find the object while the table is locked for writing.
        match Arc::try_unwrap(object) {
            Ok(object) => {
                if slot.generation < u32::MAX {
                    slot.generation += 1;
                    table.free.push(index);
                }
                Ok(object.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Err(object) => {
                slot.object = Some(object);
                Err(busy::<K>())
            }
        }
    }
}

fn busy<K: Object>() -> Failure {
    Failure::new(Status::Busy, format!("the {} is in use by another call", K::NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(u32);

    static THINGS: Table<Thing> = Table::new();

    impl Object for Thing {
        const KIND: u8 = 200;
        const NAME: &'static str = "thing";

        fn table() -> &'static Table<Thing> {
            &THINGS
        }
    }

    fn error<R>(result: Result<R, Failure>) -> (Status, String) {
        let failure = result.err().expect("an error");
        (failure.status, failure.message)
    }

    #[test]
    fn only_handles_of_living_objects_work() {
        let thing = Handle::create(Thing(7)).unwrap();
        assert_eq!(thing.with(|thing| Ok(thing.0)).unwrap(), 7);
        // While a call uses the object, no other does.
        let inside = thing.with(|_| Ok((error(thing.with(|_| Ok(()))), error(thing.take())))).unwrap();
        assert_eq!((inside.0.0, inside.1.0), (Status::Busy, Status::Busy));
        assert_eq!(thing.take().unwrap().0, 7);
        let stale = "the handle of a thing is stale: the object was freed";
        assert_eq!(error(thing.take()), (Status::Handle, stale.into()));
        // The slot is used again, by another handle.
        let next = Handle::create(Thing(8)).unwrap();
        assert_eq!(error(thing.with(|_| Ok(()))), (Status::Handle, stale.into()));
        assert_ne!(next, thing);
        for bits in
            [1, u64::MAX, next.bits() ^ 1 << 24, next.bits() + (1 << 32), next.bits() + 5, next.bits() << 32 >> 32]
        {
            let (status, message) = error(Handle::<Thing>::from_bits(bits).take());
            assert_eq!((status, message.as_str()), (Status::Handle, "the handle of a thing is no handle of this kind"));
        }
        assert_eq!(error(Handle::<Thing>::NULL.take()).1, "the handle of a thing is null");
        next.take().unwrap();
    }

    #[test]
    fn an_object_that_a_panic_left_is_unusable() {
        let thing = Handle::create(Thing(7)).unwrap();
        let caught = std::panic::catch_unwind(|| thing.with(|_| -> Result<(), Failure> { panic!("planted") }));
        assert!(caught.is_err());
        assert_eq!(error(thing.with(|_| Ok(()))).0, Status::Bug);
        assert!(thing.take().is_ok());
    }
}
