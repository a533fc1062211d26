//! NumPy arrays and archives.

use super::super::npy_header::ElementType;
use super::*;

/// An array with this header.
fn array(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn header(descr: &str, fortran_order: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}\n")
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// An archive of these files, each compressed.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The bytes of 1, 2 and 3 as elements of a type, little-endian.
fn one_two_three(element: ElementType) -> Vec<u8> {
    let bytes: fn(u8) -> Vec<u8> = match element {
        ElementType::F64 => |value| f64::from(value).to_le_bytes().to_vec(),
        ElementType::F32 => |value| f32::from(value).to_le_bytes().to_vec(),
        ElementType::Bool => |value| vec![u8::from(value > 0)],
        _ => |value| vec![value],
    };
    let padded = |value| {
        let mut bytes = bytes(value);
        bytes.resize(element.size(), 0);
        bytes
    };
    (1..=3).flat_map(padded).collect()
}

#[test]
fn every_element_type_is_read_in_both_byte_orders() {
    for &element in ElementType::ALL {
        let expected = if element == ElementType::Bool { [1.0; 3] } else { [1.0, 2.0, 3.0] };
        let expected: MatrixBlock = Dense::from_vec(3, 1, expected.to_vec()).into();
        let little = one_two_three(element);
        let mut big = little.clone();
        big.chunks_mut(element.size()).for_each(<[u8]>::reverse);
        for (order, data) in [("<", &little), (">", &big), ("|", &little), ("", &little)] {
            let descr = format!("{order}{}", element.name());
            let read = read("a.npy", array(&header(&descr, "False", "(3,)"), data), &none());
            assert_eq!(read.unwrap_or_else(|error| panic!("{descr}: {error}")), expected, "{descr}");
        }
    }
}

#[test]
fn extreme_values_are_converted() {
    let read = |descr: &str, data: &[u8]| {
        read("a.npy", array(&header(descr, "False", "()"), data), &none()).unwrap().get(0, 0)
    };
    assert_eq!(read("<i8", &i64::MIN.to_le_bytes()), i64::MIN as f64);
    assert_eq!(read("<u8", &u64::MAX.to_le_bytes()), u64::MAX as f64);
    assert_eq!(read(">i4", &i32::MIN.to_be_bytes()), f64::from(i32::MIN));
    assert_eq!(read("|i1", &[0xff]), -1.0);
    assert_eq!(read("|b1", &[7]), 1.0);
    assert_eq!(read("<f4", &f32::MIN_POSITIVE.to_le_bytes()), f64::from(f32::MIN_POSITIVE));
    assert!(read("<f8", &f64::NAN.to_le_bytes()).is_nan());
    assert_eq!(read("<f8", &(-0.0_f64).to_le_bytes()).to_bits(), (-0.0_f64).to_bits());
}

#[test]
fn shapes_and_orders_are_read() {
    let data = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let read = |fortran_order: &str, shape: &str| {
        let bytes = array(&header("<f8", fortran_order, shape), &data);
        read("a.npy", bytes, &none()).unwrap_or_else(|error| panic!("{error}"))
    };
    let rows: MatrixBlock = Dense::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).into();
    assert_eq!(read("False", "(2, 3)"), rows);
    assert_eq!(read("False", "( 2 ,3 , )"), rows);
    assert_eq!(read("False", "(2L, 3L)"), rows);
    let columns: MatrixBlock = Dense::from_vec(2, 3, vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0]).into();
    assert_eq!(read("True", "(2, 3)"), columns);
    assert_eq!(read("True", "(6,)").dims(), (6, 1));
    let empty = super::read("a.npy", array(&header("<f8", "True", "(0, 18446744073709551615)"), &[]), &none());
    assert!(empty.is_ok());
    let mut version_2 = b"\x93NUMPY\x02\x00".to_vec();
    let header = header("<f8", "False", "(2, 3)");
    version_2.extend((header.len() as u32).to_le_bytes());
    version_2.extend(header.as_bytes());
    version_2.extend(&data);
    assert_eq!(super::read("a.npy", &version_2, &none()).unwrap(), rows);
    assert_eq!(super::read("a.npy", gzip(&version_2), &none()).unwrap(), rows);
}

/// Tall and wide matrices in column-major order, larger than a tile.
#[test]
fn large_arrays_are_transposed() {
    for (rows, cols) in [(100, 3), (3, 100), (65, 65)] {
        let values: Vec<f64> = (0..rows * cols).map(|index| index as f64 + 1.0).collect();
        let bytes = array(&header("<f8", "True", &format!("({rows}, {cols})")), &doubles(&values));
        let block = read("a.npy", bytes, &none()).unwrap();
        let expected = Dense::from_fn(rows, cols, |i, j| values[j * rows + i]);
        assert_eq!(block, expected.into());
    }
}

/// An array of this many rows of 64 elements.
fn long_array<const SIZE: usize>(descr: &str, fortran_order: &str, element: impl Fn(usize) -> [u8; SIZE]) -> Vec<u8> {
    let data: Vec<u8> = (0..1 << 20).flat_map(element).collect();
    array(&header(descr, fortran_order, "(16384, 64)"), &data)
}

#[test]
fn long_arrays_of_narrow_elements_stay_narrow() {
    let cells = 1 << 20;
    let value = |position: usize| match position % 1000 {
        0 => f32::NAN,
        1 => f32::NEG_INFINITY,
        _ => position as f32 + 0.5,
    };
    for (order, is_by_column) in [("False", false), ("True", true)] {
        let position = |i: usize, j: usize| if is_by_column { j * 16384 + i } else { i * 64 + j };
        for (descr, big) in [("<f4", false), (">f4", true)] {
            let bytes = |at: usize| if big { value(at).to_be_bytes() } else { value(at).to_le_bytes() };
            let block = read("a.npy", long_array(descr, order, bytes), &none()).unwrap();
            assert_eq!((block.bytes(), block.nnz()), (4 * cells, cells), "{descr} {order}");
            for (i, j) in [(0, 0), (0, 1), (1, 0), (16383, 63), (77, 5)] {
                assert_eq!(block.get(i, j).to_bits(), f64::from(value(position(i, j))).to_bits(), "{descr} {order}");
            }
        }
        let expected = Dense::from_fn(16384, 64, |i, j| -1.0 - position(i, j) as f64);
        for (descr, big) in [("<i4", false), (">i4", true)] {
            let value = |at: usize| -1 - at as i32;
            let bytes = |at: usize| if big { value(at).to_be_bytes() } else { value(at).to_le_bytes() };
            let block = read("a.npy", long_array(descr, order, bytes), &none()).unwrap();
            assert_eq!(block.bytes(), 4 * cells, "{descr} {order}");
            assert_eq!(block, expected.clone().into(), "{descr} {order}");
        }
        let expected = Dense::from_fn(16384, 64, |i, j| (position(i, j) % 256) as f64);
        let block = read("a.npy", long_array("|u1", order, |at| [at as u8]), &none()).unwrap();
        assert_eq!(block.bytes(), cells, "u1 {order}");
        // What is written is read again as doubles.
        let written = write_matrix_to(&block, Path::new("b.npy"), &none()).unwrap();
        let back = read("b.npy", written, &none()).unwrap();
        assert_eq!(back.bytes(), 8 * cells);
        assert!(back == expected.clone().into() && block == expected.into(), "u1 {order}");
    }
    let block = read("a.npy", long_array("<i2", "False", |at| [at as u8, 0]), &none()).unwrap();
    assert_eq!(block.bytes(), 8 * cells, "other types are converted");
}

#[test]
fn wrong_headers_are_located() {
    let dictionaries = [
        ("", 0, "expected `{`, found the end"),
        ("{}", 0, "the key `descr` is missing"),
        ("{'descr': '<f8'}", 0, "the key `fortran_order` is missing"),
        ("{'descr': '<f8', 'fortran_order': False}", 0, "the key `shape` is missing"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)", 54, "expected `}`, found the end"),
        ("{'descr': '<f8' 'shape': (1,)}", 16, "expected `}`, found"),
        ("{'descr' '<f8'}", 9, "expected `:`, found"),
        ("{descr: '<f8'}", 1, "expected a text in quotes, found"),
        ("{'descr: 8}", 1, "expected a text that ends"),
        ("{'de\\x73cr': '<f8'}", 1, "expected a text without escapes"),
        ("{'descr': '<f8', 'descr': '<f8'}", 17, "the key `descr` occurs twice"),
        ("{'order': 'C'}", 1, "the key `order` is not known"),
        ("{'descr': '|O'}", 10, "the element type `|O` (Python objects) is not supported"),
        ("{'descr': 'O8'}", 10, "(Python objects) is not supported"),
        ("{'descr': '<c16'}", 10, "(complex numbers) is not supported"),
        ("{'descr': '<U5'}", 10, "(texts) is not supported"),
        ("{'descr': '|S3'}", 10, "(texts) is not supported"),
        ("{'descr': '<M8[ns]'}", 10, "(dates and times) is not supported"),
        ("{'descr': '<f2'}", 10, "the element type `<f2` is not supported; f4, f8, integers"),
        ("{'descr': '<f16'}", 10, "`<f16` is not supported"),
        ("{'descr': '<f08'}", 10, "`<f08` is not supported"),
        ("{'descr': '<i3'}", 10, "`<i3` is not supported"),
        ("{'descr': '<b8'}", 10, "`<b8` is not supported"),
        ("{'descr': '<V8'}", 10, "`<V8` is not supported"),
        ("{'descr': '<'}", 10, "`<` is not supported"),
        ("{'descr': ''}", 10, "`` is not supported"),
        ("{'descr': '!f8'}", 10, "`!f8` is not supported"),
        ("{'descr': '\u{e9}8'}", 10, "is not supported"),
        ("{'descr': 8}", 10, "expected a text in quotes"),
        ("{'descr': [('x', '<f8')]}", 10, "arrays of records are not supported"),
        ("{'fortran_order': 0}", 18, "expected `True` or `False`"),
        ("{'fortran_order': Falsey}", 18, "expected `True` or `False`"),
        ("{'fortran_order': true}", 18, "expected `True` or `False`"),
        ("{'shape': 3}", 10, "expected `(`, found `3}`"),
        ("{'shape': (3)}", 12, "expected `,` after the only size"),
        ("{'shape': (-3,)}", 11, "expected a size"),
        ("{'shape': (3.0,)}", 12, "expected `,` after the only size"),
        ("{'shape': (x,)}", 11, "expected a size"),
        ("{'shape': (,)}", 11, "expected a size"),
        ("{'shape': (2, 3", 15, "expected `)`, found the end"),
        ("{'shape': (18446744073709551616,)}", 11, "expected a size"),
        ("{'shape': __import__('os').system('true')}", 10, "expected `(`"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} x", 56, "expected the end, found `x`"),
        ("[]", 0, "expected `{`"),
    ];
    for (dictionary, offset, part) in dictionaries {
        let message = failure("a.npy", array(dictionary, &[0; 64]), &none());
        assert!(message.starts_with(&format!("a.npy: byte {}: ", offset + 10)), "{dictionary}: {message}");
        assert!(message.contains(part), "{dictionary}: {message}");
    }
}

#[test]
fn wrong_arrays_are_located() {
    let f8 = |shape: &str, data: &[u8]| array(&header("<f8", "False", shape), data);
    let start = f8("(1,)", &[]).len();
    let mut long_header = b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec();
    long_header.extend(b"{}");
    let cases: Vec<(Vec<u8>, usize, &str)> = vec![
        (vec![], 0, "the file ends within its header"),
        (b"\x93NUM".to_vec(), 4, "the file ends within its header"),
        (b"\x93NUMPY\x01\x00".to_vec(), 8, "the file ends within its header"),
        (b"\x93NUMPY\x01\x00\x10\x00{}".to_vec(), 12, "the file ends within its header"),
        (b"\x94NUMPY\x01\x00\x02\x00{}".to_vec(), 0, "does not begin as NumPy arrays do"),
        (b"PK\x03\x04aaaaaaaa".to_vec(), 0, "does not begin as NumPy arrays do"),
        (b"\x93NUMPY\x09\x00\x02\x00{}".to_vec(), 6, "version 9 of the format is not known"),
        (b"\x93NUMPY\x00\x00\x02\x00{}".to_vec(), 6, "version 0 of the format is not known"),
        (long_header, 12, "a header of 4294967295 bytes is too long"),
        (f8("(1,)", &[0; 7]), start + 7, "promises 1 values, the file ends after 0"),
        (f8("(3,)", &[0; 17]), start + 17, "promises 3 values, the file ends after 2"),
        (f8("(1,)", &[0; 9]), start + 9 - 8 + 8, "the array ends, the file goes on"),
        (f8("(1,)", &[]), start, "promises 1 values, the file ends after 0"),
        (f8("(2, 2, 1)", &[0; 32]), f8("(2, 2, 1)", &[]).len(), "an array of 3 dimensions is no matrix"),
    ];
    for (bytes, offset, part) in cases {
        let message = failure("a.npy", &bytes, &none());
        assert!(message.starts_with(&format!("a.npy: byte {offset}: ")), "{bytes:?}: {message}");
        assert!(message.contains(part), "{bytes:?}: {message}");
    }
    let huge = f8("(4294967296, 4294967296)", &[0; 8]);
    assert!(failure("a.npy", &huge, &none()).contains("does not fit into memory"));
    let message = failure("a.npy", f8("(1000000000, 1000000000)", &[0; 8]), &none());
    assert!(message.contains("promises 1000000000000000000 values, the file ends after 1"), "{message}");
    let message = failure("a.npy", f8("(1,)", &[0; 8]), &dimensions(1, 2));
    assert_eq!(message, "a.npy: the file holds a 1 x 1 matrix, but 1 x 2 was declared");
}

/// Every file that is cut short is refused.
#[test]
fn no_truncated_file_is_read() {
    let npy = array(&header("<f8", "False", "(2, 2)"), &doubles(&[1.0, 2.0, 3.0, 4.0]));
    let npz = archive(&[("a.npy", &npy)]);
    for (name, bytes) in [("a.npy", &npy), ("a.npz", &npz), ("b.npy", &gzip(&npy))] {
        assert!(read(name, bytes, &none()).is_ok(), "{name}");
        for length in 0..bytes.len() {
            assert!(read(name, &bytes[..length], &none()).is_err(), "{name}: {length} of {}", bytes.len());
        }
    }
}

#[test]
fn the_only_array_of_an_archive_is_read() {
    let values: MatrixBlock = Dense::from_vec(2, 1, vec![1.0, 2.0]).into();
    let npy = array(&header("<f8", "False", "(2, 1)"), &doubles(&[1.0, 2.0]));
    for name in ["arr_0.npy", "x", "../../../etc/passwd", "/absolute.npy", "a\0b", "folder/x.npy"] {
        assert_eq!(read("a.npz", archive(&[(name, &npy)]), &none()).unwrap(), values, "{name:?}");
    }
}

#[test]
fn wrong_archives_are_refused() {
    let npy = array(&header("<f8", "False", "(1,)"), &doubles(&[1.0]));
    let mut damaged = archive(&[("a.npy", &npy)]);
    let inside = damaged.windows(5).position(|window| window == b"a.npy").unwrap() + 12;
    damaged[inside] ^= 0x55;
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "not a readable archive of arrays"),
        (b"PK\x05\x06".to_vec(), "not a readable archive of arrays"),
        (npy.clone(), "not a readable archive of arrays"),
        (archive(&[]), "the archive holds 0 arrays (), not one"),
        (archive(&[("a.npy", &npy), ("b.npy", &npy)]), "the archive holds 2 arrays (a.npy, b.npy), not one"),
        (archive(&[("a.npy", b"hello hello")]), "does not begin as NumPy arrays do"),
        (archive(&[("a.npy", b"")]), "the file ends within its header"),
        (archive(&[("folder/", b"")]), "the file ends within its header"),
        (damaged, "a.npz"),
    ];
    for (bytes, part) in cases {
        let message = failure("a.npz", &bytes, &none());
        assert!(message.contains("a.npz") && message.contains(part), "{part}: {message}");
    }
    let message = failure("a.npz", archive(&[("a.npy", &npy)]), &dimensions(2, 2));
    assert_eq!(message, "a.npz: the file holds a 1 x 1 matrix, but 2 x 2 was declared");
}

/// An array of zeros inflates a thousandfold.
#[test]
fn archives_that_inflate_beyond_belief_are_refused() {
    let zeros = vec![0; 1 << 22];
    let npy = array(&header("|u1", "False", &format!("({},)", zeros.len())), &zeros);
    let bytes = archive(&[("a.npy", &npy)]);
    assert!(bytes.len() < npy.len() / 500);
    let strict = Limits { floor: 1 << 20 };
    let error = read_matrix_from(&bytes, Path::new("a.npz"), &none(), strict).unwrap_err();
    assert!(error.to_string().contains("it inflates beyond belief"), "{error}");
    assert_eq!(read("a.npz", &bytes, &none()).unwrap().rows(), zeros.len());
}
