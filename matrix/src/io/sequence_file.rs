//! Hadoop's `SequenceFile`s: a header with the classes of keys and values, then records of a key and a value each.
//!
//! Values may be compressed one by one with zlib, as Hadoop's `DefaultCodec` and `DeflateCodec` do. Numbers are
//! big-endian. What a record declares is never trusted for memory: keys are short, and values are handed on as readers.

use super::error::{IoError, shown};
use super::source::Inflated;
use flate2::read::ZlibDecoder;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// What files begin with that can be read: [`MAGIC`], and the version that Hadoop writes since 2008.
pub(super) const START: &[u8; 4] = b"SEQ\x06";

/// What files of any version begin with.
pub(super) const MAGIC: &[u8] = START.split_at(3).0;

/// In the place of a record's length: a marker follows, and then the next length.
const ESCAPE: i32 = -1;

/// Bytes of the marker that stands in the header and between some records.
const MARKER: usize = 16;

/// Bytes that names and metadata in the header have at most.
const LONGEST_NAME: u64 = 1 << 12;

/// Entries of metadata in the header at most.
const MOST_METADATA: i32 = 1 << 8;

/// Codecs that compress with zlib.
const ZLIB_CODECS: [&str; 2] =
    ["org.apache.hadoop.io.compress.DefaultCodec", "org.apache.hadoop.io.compress.DeflateCodec"];

/// A file, record by record.
pub(super) struct SequenceFile<'a, R> {
    path: &'a Path,
    reader: Counted<R>,
    marker: [u8; MARKER],
    is_compressed: bool,
    /// Bytes that compressed values may still inflate to.
    inflation_limit: u64,
    /// The class of the keys.
    pub(super) key_class: String,
    /// The class of the values.
    pub(super) value_class: String,
}

/// The place of a record, and its key.
pub(super) struct Record<const KEY: usize> {
    pub(super) offset: u64,
    pub(super) key: [u8; KEY],
    /// Bytes of the value as stored.
    length: u64,
}

impl<'a, R: Read> SequenceFile<'a, R> {
    /// Reads the header.
    ///
    /// # Errors
    /// It is none, or it asks for what is not supported: other versions, compressed blocks of records, other codecs.
    pub(super) fn open(path: &'a Path, reader: R, inflation_limit: u64) -> Result<Self, IoError> {
        let reader = Counted { reader, offset: 0 };
        let mut file = SequenceFile {
            path,
            reader,
            marker: [0; MARKER],
            is_compressed: false,
            inflation_limit,
            key_class: String::new(),
            value_class: String::new(),
        };
        file.read_header()?;
        Ok(file)
    }

    fn read_header(&mut self) -> Result<(), IoError> {
        if self.bytes()? != *START {
            return Err(self.error(0, "not a SequenceFile of version 6"));
        }
        self.key_class = self.name()?;
        self.value_class = self.name()?;
        let [is_compressed, has_compressed_blocks] = self.bytes()?;
        if has_compressed_blocks != 0 {
            let problem = "records are compressed by blocks, which is not supported; compress them by record";
            return Err(self.error(0, problem));
        }
        self.is_compressed = is_compressed != 0;
        if self.is_compressed {
            let codec = self.name()?;
            if !ZLIB_CODECS.contains(&codec.as_str()) {
                let problem = format!("the codec {} is not supported, DefaultCodec is", shown(codec.as_bytes()));
                return Err(self.error(0, problem));
            }
        }
        let entries = i32::from_be_bytes(self.bytes()?);
        if !(0..=MOST_METADATA).contains(&entries) {
            return Err(self.error(0, format!("the header declares {entries} entries of metadata")));
        }
        for _ in 0..2 * entries {
            self.name()?;
        }
        self.marker = self.bytes()?;
        Ok(())
    }

    /// The next record, whose key has this many bytes; none at the end of the file.
    ///
    /// # Errors
    /// The file ends within a record, or lengths and markers are not what they must be.
    pub(super) fn next<const KEY: usize>(&mut self) -> Result<Option<Record<KEY>>, IoError> {
        let offset = self.reader.offset;
        let Some(mut length) = self.length_or_end()? else { return Ok(None) };
        if length == ESCAPE {
            let marker: [u8; MARKER] = self.bytes()?;
            if marker != self.marker {
                return Err(self.error(offset, "the marker between records is not that of the header"));
            }
            match self.length_or_end()? {
                Some(behind) => length = behind,
                None => return Ok(None),
            }
        }
        let key_length = i32::from_be_bytes(self.bytes()?);
        let value_length = i64::from(length) - i64::from(key_length);
        if key_length != KEY as i32 || value_length < 0 {
            let problem = format!("a record of {length} bytes has a key of {key_length} bytes, not {KEY}");
            return Err(self.error(offset, problem));
        }
        Ok(Some(Record { offset, key: self.bytes()?, length: value_length.unsigned_abs() }))
    }

    /// Hands the value of a record, uncompressed, to a function that reads all of it. The function's errors are
    /// problems of the record.
    ///
    /// # Errors
    /// The errors of the function; the value is longer than what the function read; the file ends within the value.
    pub(super) fn value<const KEY: usize, T>(
        &mut self,
        record: &Record<KEY>,
        read: impl FnOnce(&mut dyn Read) -> Result<T, ValueError>,
    ) -> Result<T, IoError> {
        let mut stored = (&mut self.reader).take(record.length);
        let result = if self.is_compressed {
            let mut inflated = BufReader::new(Inflated::new(ZlibDecoder::new(&mut stored), self.inflation_limit));
            let result = whole(&mut inflated, read);
            self.inflation_limit = inflated.get_ref().left();
            result
        } else {
            whole(&mut stored, read)
        };
        // Compression may end before the value does.
        let result = result.and_then(|content| {
            io::copy(&mut stored, &mut io::sink())?;
            Ok(content)
        });
        result.map_err(|error| match error {
            ValueError::Problem(problem) => IoError::binary(self.path, record.offset, problem),
            ValueError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                IoError::binary(self.path, record.offset, "the file ends within this record")
            }
            ValueError::Io(error) => IoError::system("read", self.path, error),
        })
    }

    fn length_or_end(&mut self) -> Result<Option<i32>, IoError> {
        let mut length = Vec::new();
        let read = (&mut self.reader).take(4).read_to_end(&mut length);
        read.map_err(|error| IoError::system("read", self.path, error))?;
        if length.is_empty() {
            return Ok(None);
        }
        match <[u8; 4]>::try_from(length) {
            Ok(bytes) => Ok(Some(i32::from_be_bytes(bytes))),
            Err(_) => Err(self.ends()),
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], IoError> {
        let mut bytes = [0; N];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.ends()),
            Err(error) => Err(IoError::system("read", self.path, error)),
        }
    }

    /// A text behind its length.
    fn name(&mut self) -> Result<String, IoError> {
        let offset = self.reader.offset;
        let length = self.variable_length()?;
        let mut bytes = Vec::new();
        if length <= LONGEST_NAME {
            let read = (&mut self.reader).take(length).read_to_end(&mut bytes);
            read.map_err(|error| IoError::system("read", self.path, error))?;
        }
        if bytes.len() as u64 != length {
            return Err(self.error(offset, format!("the header has no name of {length} bytes here")));
        }
        String::from_utf8(bytes).map_err(|_| self.error(offset, "a name in the header is not UTF-8"))
    }

    /// A number of one byte, or of as many as the first byte says.
    fn variable_length(&mut self) -> Result<u64, IoError> {
        let offset = self.reader.offset;
        let [first] = self.bytes()?;
        match first.cast_signed() {
            small @ 0.. => Ok(u64::from(small.unsigned_abs())),
            // -113 stands before one byte, -114 before two, and so on.
            large @ -120..=-113 => (0..-112 - large).try_fold(0, |number, _| {
                let [next] = self.bytes()?;
                Ok(number << 8 | u64::from(next))
            }),
            _ => Err(self.error(offset, "a length in the header is negative")),
        }
    }

    fn ends(&self) -> IoError {
        self.error(self.reader.offset, "the file ends here, within a header or a record")
    }

    fn error(&self, offset: u64, problem: impl Into<String>) -> IoError {
        IoError::binary(self.path, offset, problem)
    }
}

/// Why a value cannot be read.
pub(super) enum ValueError {
    /// Its bytes do not come.
    Io(io::Error),
    /// It is not what it must be.
    Problem(String),
}

impl From<io::Error> for ValueError {
    fn from(error: io::Error) -> Self {
        ValueError::Io(error)
    }
}

/// What a function reads from a value, of which nothing may be left.
fn whole<T>(value: &mut dyn Read, read: impl FnOnce(&mut dyn Read) -> Result<T, ValueError>) -> Result<T, ValueError> {
    let result = read(value)?;
    if value.read(&mut [0])? > 0 {
        return Err(ValueError::Problem("the value of this record is longer than its content".to_owned()));
    }
    Ok(result)
}

/// A reader that knows how many bytes were read.
struct Counted<R> {
    reader: R,
    offset: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.offset += length as u64;
        Ok(length)
    }
}
