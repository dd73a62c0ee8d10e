//! Buffers of Rust as an array of the Arrow C data interface, in a capsule as pyarrow imports it.
#![allow(unsafe_code)]

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_void};
use std::ptr::{NonNull, null, null_mut};

const NAME: &CStr = c"arrow_array";

/// The memory of one buffer.
pub enum Buffer {
    None,
    U8(Vec<u8>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Buffer {
    fn address(&self) -> *const c_void {
        match self {
            Buffer::None => null(),
            Buffer::U8(values) => values.as_ptr().cast(),
            Buffer::I32(values) => values.as_ptr().cast(),
            Buffer::I64(values) => values.as_ptr().cast(),
        }
    }
}

/// An array: its buffers and children are those that Arrow's format lists for its type.
pub struct Node {
    pub length: usize,
    pub nulls: usize,
    pub buffers: Vec<Buffer>,
    pub children: Vec<Node>,
}

/// `struct ArrowArray` of the C data interface.
#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// What an exported array keeps alive until it is released.
struct Owned {
    _buffers: Vec<Buffer>,
    addresses: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: the consumer calls this once, with an array that `exported` made and that it may have moved. `private_data` is the
    // box put there. A consumer that moved a child out has set the child's `release` to None; the child's own box is still ours.
    unsafe {
        let owned = Box::from_raw((*array).private_data.cast::<Owned>());
        for &child in &owned.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

fn exported(node: Node) -> Box<ArrowArray> {
    let addresses = node.buffers.iter().map(Buffer::address).collect();
    let children = node.children.into_iter().map(|child| Box::into_raw(exported(child))).collect();
    let mut owned = Box::new(Owned { _buffers: node.buffers, addresses, children });
    let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX); // no allocation has more bytes
    Box::new(ArrowArray {
        length: count(node.length),
        null_count: count(node.nulls),
        offset: 0,
        n_buffers: count(owned.addresses.len()),
        n_children: count(owned.children.len()),
        buffers: owned.addresses.as_mut_ptr(),
        children: owned.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release),
        private_data: Box::into_raw(owned).cast(),
    })
}

unsafe extern "C" fn drop_capsule(capsule: *mut pyo3::ffi::PyObject) {
    // SAFETY: called once, by Python, for a capsule that `capsule` made, whose pointer is the box put there. A consumer that took
    // the array has set `release` to None.
    unsafe {
        let array = pyo3::ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast::<ArrowArray>();
        if array.is_null() {
            return;
        }
        if let Some(release) = (*array).release {
            release(array);
        }
        drop(Box::from_raw(array));
    }
}

/// The array as a capsule `arrow_array`; its memory is freed with the capsule, or by who imports it.
pub fn capsule(py: Python<'_>, node: Node) -> PyResult<Bound<'_, PyCapsule>> {
    let array = NonNull::from(Box::leak(exported(node)));
    // SAFETY: the array lives until `drop_capsule`, which frees it; nothing else refers to it.
    unsafe { PyCapsule::new_with_pointer_and_destructor(py, array.cast(), NAME, Some(drop_capsule)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(values: [i32; 2]) -> Node {
        Node { length: 2, nulls: 0, buffers: vec![Buffer::None, Buffer::I32(values.into())], children: vec![] }
    }

    fn batch() -> Box<ArrowArray> {
        exported(Node { length: 2, nulls: 0, buffers: vec![Buffer::None], children: vec![pair([1, 2]), pair([3, 4])] })
    }

    /// Releases it, as a consumer does.
    fn released(array: &mut ArrowArray) {
        let release = array.release.unwrap();
        // SAFETY: it was not released before, or there was no function.
        unsafe { release(array) };
        assert!(array.release.is_none());
    }

    #[test]
    fn an_array_frees_all_that_it_has() {
        released(&mut batch());
    }

    #[test]
    fn a_child_that_was_moved_out_outlives_its_array() {
        let mut array = batch();
        // SAFETY: the array has two children, and a consumer may move them out if it marks them as released.
        let mut moved = unsafe {
            let child = *array.children.add(1);
            let moved = child.read();
            (*child).release = None;
            moved
        };
        released(&mut array);
        // SAFETY: the child has two buffers, and the second one two numbers.
        let values = unsafe { std::slice::from_raw_parts((*moved.buffers.add(1)).cast::<i32>(), 2) };
        assert_eq!(values, [3, 4]);
        released(&mut moved);
    }
}
