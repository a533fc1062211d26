//! What is read as it comes: pipes and devices.
//!
//! Opening a pipe waits for a writer, and reading for what it writes. Neither may wait where a run is asked to stop: both are
//! done without blocking, and the waiting ends every now and then.

use crate::run_context::check_stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How long nothing is heard but what is written.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A pipe or a device.
pub(super) struct Stream {
    file: File,
    /// What was looked at before it is read.
    start: Vec<u8>,
}

impl Stream {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
        Ok(Stream { file, start: Vec::new() })
    }

    /// Whether it begins with these bytes, which are read all the same. Asked before anything is read.
    pub(super) fn starts_with(&mut self, magic: &[u8]) -> io::Result<bool> {
        let missing = magic.len().saturating_sub(self.start.len());
        let mut start = std::mem::take(&mut self.start);
        let read = self.take(missing as u64).read_to_end(&mut start);
        self.start = start;
        read?;
        Ok(self.start.starts_with(magic))
    }

    /// Waits until there is something to read, or nothing will come any more.
    fn wait(&self) -> io::Result<()> {
        loop {
            check_stop();
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&PATIENCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.start.is_empty() {
            let length = self.start.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.start[..length]);
            self.start.drain(..length);
            return Ok(length);
        }
        loop {
            self.wait()?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}
