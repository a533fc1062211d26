//! What the fuzz targets share: the entry functions, and a limit on the memory that they may take.

pub mod entries;

use cap::Cap;
use std::alloc::System;

/// An input of a few kilobytes never needs more memory, whatever its header declares. An allocation beyond fails, which
/// ends the process and makes the input a finding.
const MEMORY_LIMIT: usize = 128 << 20;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, MEMORY_LIMIT);
