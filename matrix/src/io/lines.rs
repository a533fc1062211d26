//! Lines of text: a source is read in blocks of whole lines, which threads parse while the next ones are read.
//!
//! Where a block ends follows from the bytes alone, and results are taken in the order of the file, so neither values
//! nor errors depend on the number of threads.

use super::IoError;
use super::error::Problem;
use super::source::{PROBED, Source, UTF_8_MARK};
use crate::budget::MemoryKind;
use crate::growing::Growing;
use crate::run_context::check_stop;
use rayon::prelude::*;
use std::io::Read;
use std::path::Path;

/// Bytes of a block: what threads make of it stays in their caches.
const BLOCK: usize = 1 << 17;

/// Blocks per thread that are held at a time.
const BLOCKS_PER_THREAD: usize = 8;

/// What begins a text in UTF-16.
const UTF_16_MARKS: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];

/// The lines of a block. Lines end with LF or CR LF; the last one may lack it.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    rest: &'a [u8],
    /// The number of lines so far.
    number: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn of(block: &'a [u8]) -> Self {
        Lines { rest: block, number: 0 }
    }

    /// The bytes of the lines to come.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let end = memchr::memchr(b'\n', self.rest);
        let (line, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest.get(1..).unwrap_or_default();
        Some(without_return(line))
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The bytes of a block.
type Block = Growing<u8>;

/// A parsed block: the number of its lines and its content, or the line and the problem in it.
type Parsed<T> = Result<(u64, T), (u64, Problem)>;

/// Reads lines: one by one in a header, then in blocks.
pub(super) struct LineReader<'a> {
    path: &'a Path,
    reader: Box<dyn Read + Send + 'a>,
    /// Bytes from `start` are read but not taken.
    buffer: Growing<u8>,
    start: usize,
    at_end: bool,
    /// The number of lines taken so far.
    lines: u64,
    /// Bytes of a block, unless a line is longer.
    block_size: usize,
    /// Why nothing can be read behind what is read.
    failure: Option<IoError>,
}

impl<'a> LineReader<'a> {
    pub(super) fn new(source: &'a mut Source<'_>) -> Result<Self, IoError> {
        Self::in_blocks(source, BLOCK)
    }

    fn in_blocks(source: &'a mut Source<'_>, block_size: usize) -> Result<Self, IoError> {
        let path = source.path;
        let reader = source.content()?;
        let (buffer, start, at_end, lines, failure) = (Growing::new(MemoryKind::File), 0, false, 0, None);
        let mut lines = LineReader { path, reader, buffer, start, at_end, lines, block_size, failure };
        lines.read_more(block_size.max(UTF_8_MARK.len()))?;
        if UTF_16_MARKS.iter().any(|mark| lines.buffer.starts_with(mark)) {
            return Err(lines.error(Problem::at(0, "the file is UTF-16; text must be UTF-8")));
        }
        if lines.buffer.starts_with(UTF_8_MARK) {
            lines.start = UTF_8_MARK.len();
        }
        Ok(lines)
    }

    /// The error of a problem in the line that was taken last.
    pub(super) fn error(&self, problem: Problem) -> IoError {
        IoError::content(self.path, self.lines.max(1), problem)
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// The number of lines taken so far.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The next line, which stays.
    pub(super) fn peek(&mut self) -> Result<Option<&[u8]>, IoError> {
        Ok(self.line_end()?.map(|end| without_return(&self.buffer[self.start..end])))
    }

    /// The next line.
    pub(super) fn take_line(&mut self) -> Result<Option<Vec<u8>>, IoError> {
        let Some(end) = self.line_end()? else { return Ok(None) };
        let line = without_return(&self.buffer[self.start..end]).to_vec();
        self.start = self.buffer.len().min(end + 1);
        self.lines += 1;
        Ok(Some(line))
    }

    /// Parses the remaining blocks in parallel. `take` gets, block after block, the number of lines before the block,
    /// its bytes, and what `parse` made of them; meanwhile the next blocks are parsed.
    pub(super) fn parse_blocks<T: Send>(
        &mut self,
        parse: impl Fn(&mut Lines<'_>) -> Result<T, Problem> + Sync,
        mut take: impl FnMut(u64, &[u8], T) -> Result<(), IoError> + Send,
    ) -> Result<(), IoError> {
        let parse_block = |block: Block| -> (Block, Parsed<T>) {
            check_stop();
            let mut lines = Lines::of(&block);
            let parsed = parse(&mut lines).map_err(|problem| (lines.number, problem));
            let parsed = parsed.map(|content| (lines.number, content));
            (block, parsed)
        };
        let batch_size = BLOCKS_PER_THREAD * rayon::current_num_threads();
        let (mut batch, mut parsed) = (self.next_batch(batch_size)?, Vec::new());
        while !batch.is_empty() {
            if batch.len() == 1 && self.is_exhausted() {
                self.take_all(parsed, &mut take)?;
                parsed = batch.drain(..).map(parse_block).collect();
                break;
            }
            let (newly_parsed, taken_and_next) = rayon::join(
                || batch.into_par_iter().map(parse_block).collect(),
                || self.take_all(parsed, &mut take).map(|()| self.next_batch(batch_size)),
            );
            parsed = newly_parsed;
            batch = match taken_and_next? {
                Ok(next) => next,
                Err(unreadable) => return self.take_all(parsed, &mut take).and(Err(unreadable)),
            };
        }
        self.take_all(parsed, &mut take)
    }

    fn take_all<T>(
        &mut self,
        blocks: Vec<(Block, Parsed<T>)>,
        take: &mut impl FnMut(u64, &[u8], T) -> Result<(), IoError>,
    ) -> Result<(), IoError> {
        for (block, parsed) in blocks {
            let (lines, content) =
                parsed.map_err(|(line, problem)| IoError::content(self.path, self.lines + line, problem))?;
            take(self.lines, &block, content)?;
            self.lines += lines;
        }
        Ok(())
    }

    fn is_exhausted(&self) -> bool {
        self.at_end && self.start == self.buffer.len()
    }

    /// At most this many blocks; none at the end. Blocks before one that cannot be read come first, since an error in
    /// them does too.
    fn next_batch(&mut self, size: usize) -> Result<Vec<Block>, IoError> {
        let mut batch = Vec::new();
        while batch.len() < size && self.failure.is_none() {
            match self.next_block() {
                Ok(Some(block)) => batch.push(block),
                Ok(None) => break,
                Err(error) => self.failure = Some(error),
            }
        }
        match self.failure.take_if(|_| batch.is_empty()) {
            Some(error) => Err(error),
            None => Ok(batch),
        }
    }

    /// The whole lines in the next `block_size` bytes, or one line that is longer.
    fn next_block(&mut self) -> Result<Option<Block>, IoError> {
        let pending = self.buffer.len() - self.start;
        self.read_more(self.block_size.saturating_sub(pending))?;
        let in_block = &self.buffer[self.start..self.buffer.len().min(self.start + self.block_size)];
        let end = match memchr::memrchr(b'\n', in_block) {
            Some(newline) if !self.at_end || in_block.len() == self.block_size => self.start + newline + 1,
            _ => match self.line_end()? {
                None => return Ok(None),
                // What is left of the file is one block, whether or not its last line ends.
                Some(_) if self.at_end && self.buffer.len() - self.start <= self.block_size => self.buffer.len(),
                Some(end) => self.buffer.len().min(end + 1),
            },
        };
        let mut block = Block::new(MemoryKind::File);
        block.extend_from_slice(&self.buffer[self.start..end]);
        self.start = end;
        Ok(Some(block))
    }

    /// Where the next line ends in the buffer, without its newline; none at the end of the file.
    fn line_end(&mut self) -> Result<Option<usize>, IoError> {
        let mut searched = self.start;
        loop {
            if let Some(newline) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                return Ok(Some(searched + newline));
            }
            if self.at_end {
                return Ok((self.start < self.buffer.len()).then_some(self.buffer.len()));
            }
            let pending = self.buffer.len() - self.start;
            self.read_more(self.block_size.max(pending))?;
            searched = self.start + pending;
        }
    }

    fn read_more(&mut self, bytes: usize) -> Result<(), IoError> {
        if self.at_end || bytes == 0 {
            return Ok(());
        }
        if self.start > self.buffer.len() / 2 {
            self.buffer.vec_mut().drain(..self.start);
            self.start = 0;
        }
        self.buffer.reserve(bytes + PROBED);
        let read = (&mut self.reader).take(bytes as u64).read_to_end(self.buffer.vec_mut());
        let length = read.map_err(|source| IoError::system("read", self.path, source))?;
        self.at_end = length < bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Limits;

    /// Whatever the size of blocks: together they are the text, each is of whole lines, and none holds more than fits
    /// unless it is one line.
    #[test]
    fn blocks_are_whole_lines() {
        let texts =
            ["", "\n", "a", "a\n", "\n\n\n", "ab\ncd\n\nefghijklmno\np", "a long line without an end", "x\r\n\r\ny\r"];
        for text in texts {
            for size in 1..40 {
                let mut source = Source::of_bytes(Path::new("a"), text.as_bytes(), Limits::default());
                let mut reader = LineReader::in_blocks(&mut source, size).unwrap();
                let mut together = Vec::new();
                while let Some(block) = reader.next_block().unwrap() {
                    assert!(together.is_empty() || together.ends_with(b"\n"), "{text:?} {size}");
                    let newlines = memchr::memchr_iter(b'\n', &block[..block.len() - 1]).count();
                    assert!(block.len() <= size || newlines == 0, "{text:?} {size} {block:?}");
                    together.extend_from_slice(&block);
                }
                assert_eq!(together, text.as_bytes(), "{text:?} {size}");
            }
        }
    }

    /// Lines that were taken one by one are not part of blocks, and their number is known.
    #[test]
    fn blocks_follow_the_lines_taken_before() {
        let text = "first\r\nsecond is longer\n1\n22\n333\n4444\n55555";
        for size in 1..60 {
            let mut source = Source::of_bytes(Path::new("a"), text.as_bytes(), Limits::default());
            let mut reader = LineReader::in_blocks(&mut source, size).unwrap();
            assert_eq!(reader.take_line().unwrap().as_deref(), Some(&b"first"[..]));
            assert_eq!(reader.peek().unwrap(), Some(&b"second is longer"[..]));
            reader.take_line().unwrap();
            let mut seen = Vec::new();
            let parse = |lines: &mut Lines<'_>| Ok(lines.map(<[u8]>::to_vec).collect::<Vec<_>>());
            let result = reader.parse_blocks(parse, |before, _, block| {
                assert_eq!(before, 2 + seen.len() as u64);
                seen.extend(block);
                Ok(())
            });
            result.unwrap();
            assert_eq!(seen, [&b"1"[..], b"22", b"333", b"4444", b"55555"], "{size}");
            assert_eq!(reader.lines(), 7);
        }
    }
}
