//! Mutations of files and of their metadata.

use crate::files::DataFile;
use crate::one_of;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use std::ops::Range;

/// A change of a file by chance.
pub(crate) type Mutation = fn(&mut DataFile, &mut Pcg64Mcg);

pub(crate) const MUTATIONS: &[(&str, Mutation)] = &[
    ("file truncated", |file, random| file.bytes.truncate(random.random_range(0..file.bytes.len().max(1)))),
    ("file byte flipped", |file, random| flip(&mut file.bytes, random)),
    ("file bytes added", |file, random| {
        let place = random.random_range(0..=file.bytes.len());
        let added: Vec<u8> = (0..random.random_range(1..20)).map(|_| random.random()).collect();
        file.bytes.splice(place..place, added);
    }),
    ("file emptied", |file, _| file.bytes.clear()),
    ("file part doubled", |file, random| {
        let range = range_of(file.bytes.len(), random);
        let part = file.bytes[range.clone()].to_vec();
        file.bytes.splice(range.end..range.end, part);
    }),
    ("file part dropped", |file, random| {
        let range = range_of(file.bytes.len(), random);
        file.bytes.drain(range);
    }),
    ("file header lies", |file, random| {
        // Sizes stand near the beginning, as text or as bytes.
        let end = file.bytes.len().min(160);
        let head = &mut file.bytes[..end];
        if random.random() && !head.is_empty() {
            let place = random.random_range(0..head.len());
            head[place] = *one_of(random, &[0, 1, 0x7f, 0x80, 0xff]);
        } else {
            change_number(&mut file.bytes, random, end);
        }
    }),
    ("file number changed", |file, random| {
        let end = file.bytes.len();
        change_number(&mut file.bytes, random, end);
    }),
    ("file types swapped", |file, random| {
        if let Some(range) = number(&file.bytes, random, file.bytes.len()) {
            let other = *one_of(random, &["word", "NaN", "\"1\"", "TRUE", "1e999", "-", "0x10", "'<f4'"]);
            file.bytes.splice(range, other.bytes());
        }
    }),
    ("metadata off by one", |file, random| {
        change_metadata(file, random, |number, random| {
            if random.random() { number.saturating_add(1) } else { number.saturating_sub(1) }
        });
    }),
    ("metadata dimension 0", |file, random| change_metadata(file, random, |_, _| 0)),
    ("metadata dimension 2^31", |file, random| change_metadata(file, random, |_, _| 1 << 31)),
    ("metadata dimension 2^53", |file, random| change_metadata(file, random, |_, _| 1 << 53)),
    ("metadata byte flipped", |file, random| flip(&mut file.metadata, random)),
    ("metadata truncated", |file, random| {
        file.metadata.truncate(random.random_range(0..file.metadata.len().max(1)));
    }),
    ("metadata missing", |file, _| file.metadata.clear()),
    ("format of another file", |file, random| {
        let (from, to) =
            (format_name(file.format), *one_of(random, &["csv", "text", "mm", "libsvm", "npy", "npz", "binary"]));
        let metadata = String::from_utf8_lossy(&file.metadata).into_owned();
        file.metadata = metadata.replace(&format!("\"{from}\""), &format!("\"{to}\"")).into_bytes();
    }),
];

pub(crate) fn names() -> Vec<&'static str> {
    MUTATIONS.iter().map(|(name, _)| *name).collect()
}

fn format_name(format: &str) -> &str {
    match format {
        "blocks" => "binary",
        "frame" => "csv",
        other => other,
    }
}

fn flip(bytes: &mut [u8], random: &mut Pcg64Mcg) {
    for _ in 0..random.random_range(1..4) {
        if !bytes.is_empty() {
            let place = random.random_range(0..bytes.len());
            bytes[place] ^= 1 << random.random_range(0..8);
        }
    }
}

fn range_of(length: usize, random: &mut Pcg64Mcg) -> Range<usize> {
    let (one, other) = (random.random_range(0..=length), random.random_range(0..=length));
    one.min(other)..one.max(other)
}

/// The digits of a number before `end`.
fn number(bytes: &[u8], random: &mut Pcg64Mcg, end: usize) -> Option<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while at < end {
        let length = bytes[at..end].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length > 0 {
            places.push(at..at + length);
        }
        at += length + 1;
    }
    if places.is_empty() { None } else { Some(one_of(random, &places).clone()) }
}

fn change_number(bytes: &mut Vec<u8>, random: &mut Pcg64Mcg, end: usize) {
    if let Some(range) = number(bytes, random, end) {
        let other = *one_of(random, &["0", "1", "7", "2147483648", "9007199254740993", "18446744073709551616", "-1"]);
        bytes.splice(range, other.bytes());
    }
}

/// Another number in the metadata.
fn change_metadata(file: &mut DataFile, random: &mut Pcg64Mcg, change: impl Fn(u64, &mut Pcg64Mcg) -> u64) {
    if let Some(range) = number(&file.metadata, random, file.metadata.len()) {
        let digits = String::from_utf8_lossy(&file.metadata[range.clone()]).into_owned();
        let changed = change(digits.parse().unwrap_or(0), random).to_string();
        file.metadata.splice(range, changed.bytes());
    }
}
