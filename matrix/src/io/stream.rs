//! What is read and written as it comes and goes: pipes and devices.
//!
//! Opening a pipe waits for the other end, reading for what is written there, and writing for somebody to read it. None of
//! them may wait where a run is asked to stop: all are done without blocking, and the waiting ends every now and then.

use crate::run_context::check_stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long nothing is heard but the other end.
const PATIENCE: Duration = Duration::from_millis(50);

/// Waits until there is something to read, or room to write, or neither will come any more: until there is a request to stop,
/// or at most so long, where that is said.
fn wait(file: &impl AsFd, events: PollFlags, longest: Option<Duration>) -> io::Result<()> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: PATIENCE.subsec_nanos().into() };
    let begun = Instant::now();
    loop {
        if longest.is_none() {
            check_stop();
        }
        match poll(&mut [PollFd::new(file, events)], Some(&timeout)) {
            Ok(0) if longest.is_some_and(|longest| begun.elapsed() >= longest) => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // What is left to write while a thread unwinds must not hold it up.
            Ok(0) if std::thread::panicking() => return Err(io::ErrorKind::TimedOut.into()),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

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
            wait(&self.file, PollFlags::IN, None)?;
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

/// What is written to a pipe, a device or a terminal. A request to stop is heard while it waits.
#[derive(Debug)]
pub struct StreamWriter<F> {
    file: F,
    /// How long it waits for room at most, if that has an end.
    longest: Option<Duration>,
}

impl<F: AsFd> StreamWriter<F> {
    /// Writes to what is open already, such as standard output.
    pub fn new(file: F) -> Self {
        StreamWriter { file, longest: None }
    }

    /// Fails with [`io::ErrorKind::TimedOut`] where there is no room for so long: for the last words of a run, which must
    /// not hold up its end, and come when it was stopped.
    pub fn within(self, longest: Duration) -> Self {
        StreamWriter { longest: Some(longest), ..self }
    }
}

impl StreamWriter<File> {
    /// Opens a pipe, once somebody reads it, or a device.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        loop {
            check_stop();
            let opened = OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path);
            match opened {
                Err(error) if has_no_reader(&error, path) => std::thread::sleep(PATIENCE),
                opened => return opened.map(StreamWriter::new),
            }
        }
    }
}

/// Whether a pipe was not opened for want of somebody who reads it.
fn has_no_reader(error: &io::Error, path: &Path) -> bool {
    error.raw_os_error() == Some(Errno::NXIO.raw_os_error())
        && std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

impl<F: AsFd> Write for StreamWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            wait(&self.file, PollFlags::OUT, self.longest)?;
            // A pipe that has room takes so much at once, also where writing blocks.
            match rustix::io::write(&self.file, &bytes[..bytes.len().min(PIPE_BUF)]) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
