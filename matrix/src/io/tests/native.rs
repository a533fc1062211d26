//! Fuseline's binary format: what is written, what is refused, and where.

use super::super::binary::{FirstHeader, HEADER_BYTES, Layout, narrow_file, with_checksums};
use super::*;
use fuseline_ir::Format;

/// [0 7; 0 0; -2 0.5]
fn dense() -> MatrixBlock {
    Dense::from_vec(3, 2, vec![0.0, 7.0, 0.0, 0.0, -2.0, 0.5]).into()
}

/// 4 x 9 with 3 non-zeros, in rows 2 and 4.
fn sparse() -> MatrixBlock {
    Csr::new(4, 9, vec![0, 0, 2, 2, 3], vec![1, 8, 0], vec![1.5, -1.0, f64::INFINITY]).unwrap().into()
}

fn written(block: &MatrixBlock) -> Vec<u8> {
    write_matrix_to(block, Path::new("a.bin"), &none()).unwrap()
}

/// The file with other bytes at a place, and checksums that fit them.
fn with_field(bytes: &[u8], offset: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + field.len()].copy_from_slice(field);
    with_checksums(&bytes)
}

fn little(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Integers of 8 bytes.
fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks(8).map(|field| u64::from_le_bytes(field.try_into().unwrap())).collect()
}

/// CRC-32C bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0x82f6_3b78 & 0_u32.wrapping_sub(sum & 1)))
    })
}

#[test]
fn dense_files_have_the_documented_bytes() {
    let bytes = written(&dense());
    assert_eq!(bytes.len(), 192 + 32 + 4 + 4);
    assert_eq!(&bytes[..16], b"\x89FUSE\r\n\x1a\x02\0\0\0\0\0\x01\0");
    // A row of 16 bytes: strips of 4 Mi rows.
    assert_eq!(numbers(&bytes[16..72]), [3, 2, 3, 4 << 20, 1, 192, 232]);
    assert!(bytes[72..124].iter().all(|&byte| byte == 0));
    assert_eq!(bytes[124..128], crc32c(&bytes[..124]).to_le_bytes());
    assert_eq!(bytes[128 + 8..128 + 16], 7.0_f64.to_le_bytes());
    assert_eq!(bytes[176..192], [0; 16]);
    assert_eq!(bytes[192..200], [1, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(numbers(&bytes[200..224]), [0, 128, 48]);
    assert_eq!(bytes[224..228], crc32c(&bytes[128..176]).to_le_bytes());
    assert_eq!(bytes[228..232], crc32c(&bytes[192..228]).to_le_bytes());
    assert_eq!(read("b.bin", bytes, &none()).unwrap(), dense());
}

#[test]
fn sparse_files_have_aligned_sections() {
    let bytes = written(&sparse());
    assert_eq!(&bytes[12..16], [1, 0, 1, 0]);
    assert_eq!(numbers(&bytes[16..72]), [4, 9, 3, 2 << 20, 3, 320, 320 + 3 * 32 + 3 * 4 + 4]);
    let offsets: Vec<u8> = [0, 0, 2, 2, 3].into_iter().flat_map(little).collect();
    assert_eq!(bytes[128..168], offsets);
    assert_eq!(bytes[168..192], [0; 24]);
    assert_eq!(bytes[192..204], [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[256..264], 1.5_f64.to_le_bytes());
    assert_eq!((&bytes[320..324], numbers(&bytes[328..352])), (&[2, 0, 6, 0][..], vec![0, 128, 40]));
    assert_eq!((&bytes[352..356], numbers(&bytes[360..384])), (&[3, 0, 5, 0][..], vec![0, 192, 12]));
    assert_eq!((&bytes[384..388], numbers(&bytes[392..416])), (&[1, 0, 1, 0][..], vec![0, 256, 24]));
    let back = read("b.bin", bytes, &none()).unwrap();
    assert!(back.format().is_sparse() && back == sparse());
}

/// Files of the first version, as it wrote them.
#[test]
fn the_first_version_is_read() {
    let files = [include_bytes!("version_1/dense.bin").as_slice(), include_bytes!("version_1/sparse.bin")];
    for (bytes, block) in files.into_iter().zip([dense(), sparse()]) {
        assert_eq!(bytes[8], 1);
        let back = read("a.bin", bytes, &none()).unwrap();
        assert!(back == block && back.format() == block.format());
    }
    let refuses = |bytes: &[u8], offset: usize, part: &str| {
        let message = failure("a.bin", bytes, &none());
        assert!(message.starts_with(&format!("a.bin: byte {offset}: ")) && message.contains(part), "{message}");
    };
    let mut damaged = files[0].to_vec();
    damaged[20] ^= 1;
    refuses(&damaged, 124, "checksum");
    refuses(&files[0][..175], 64, "the header describes 176 bytes, the file has 175");
    let mut unordered = files[1].to_vec();
    unordered[196] = 9;
    refuses(&unordered, 192, "the column indexes of row 2 do not ascend below 9");
}

/// Values of narrower types are read as the doubles that they are, where these are few.
#[test]
fn few_narrow_values_are_widened_exactly() {
    let floats = [0.0_f32, f32::MAX, -f32::MIN_POSITIVE, f32::NEG_INFINITY, 0.1, -7.0];
    let integers = [0_i32, i32::MIN, i32::MAX, -1, 5, 6];
    let bytes = [0_u8, 255, 1, 2, 0, 128];
    let expect = |file: Vec<u8>, values: Vec<f64>| {
        let nonzeros = values.iter().filter(|&&value| value != 0.0).count();
        let file = with_field(&file, 32, &little(nonzeros as u64));
        let block = read("a.bin", file, &none()).unwrap();
        assert_eq!((block.bytes(), block), (6 * 8, Dense::from_vec(3, 2, values).into()));
    };
    expect(narrow_file(3, 2, 2, &floats.map(f32::to_le_bytes).concat()), floats.map(f64::from).to_vec());
    expect(narrow_file(3, 2, 3, &integers.map(i32::to_le_bytes).concat()), integers.map(f64::from).to_vec());
    expect(narrow_file(3, 2, 4, &bytes), bytes.map(f64::from).to_vec());
}

/// Many values of narrower types stay so, and their zeros may be left out.
#[test]
fn many_narrow_values_stay_narrow() {
    const CELLS: u64 = 1 << 20;
    let read_cells = |element: u16, bytes: &[u8], nonzeros: u64| {
        let file = with_field(&narrow_file(CELLS / 64, 64, element, bytes), 32, &little(nonzeros));
        read("a.bin", file, &none()).unwrap()
    };
    let cells = CELLS as usize;
    let bytes: Vec<u8> = (0..cells).map(|cell| (cell % 251) as u8 + 1).collect();
    let block = read_cells(4, &bytes, CELLS);
    assert_eq!((block.bytes(), block.nnz(), block.get(1, 2)), (cells, cells, 67.0));
    let floats: Vec<u8> = (0..cells).flat_map(|cell| (cell as f32 + 0.5).to_le_bytes()).collect();
    assert_eq!(read_cells(2, &floats, CELLS).bytes(), 4 * cells);
    let integers: Vec<u8> = (0..cells).flat_map(|cell| (-1 - cell as i32).to_le_bytes()).collect();
    let block = read_cells(3, &integers, CELLS);
    assert_eq!((block.bytes(), block.get(0, 3)), (4 * cells, -4.0));
    assert_eq!(block, Dense::from_fn(cells / 64, 64, |i, j| -1.0 - (i * 64 + j) as f64).into());
    // One in three, in rows that have so many: 4 bytes for each column, 1 for each value, 8 for each row.
    let sparse: Vec<u8> = (0..cells).map(|cell| u8::from(cell % 3 == 0)).collect();
    let nonzeros = cells.div_ceil(3);
    let block = read_cells(4, &sparse, nonzeros as u64);
    assert_eq!((block.format(), block.bytes()), (Format::Sparse, 5 * nonzeros + 8 * (cells / 64 + 1)));
    assert_eq!(block, Dense::from_fn(cells / 64, 64, |i, j| f64::from(u8::from((i * 64 + j) % 3 == 0))).into());
    // Files hold doubles, whatever the matrix is read from.
    assert!(read("b.bin", written(&block), &none()).unwrap() == block);
}

/// A matrix of several strips comes back, and each strip can be read where the table says it is.
#[test]
fn strips_stand_alone() {
    let cols = (1 << 20) + 1;
    let dense: MatrixBlock = Dense::from_fn(19, cols, |i, j| (i * 31 + j) as f64).into();
    let bytes = written(&dense);
    let numbers_at = |offset: usize| numbers(&bytes[offset..offset + 8])[0] as usize;
    // 8 MiB and 8 bytes per row: four rows are 64 MiB no more.
    assert_eq!((numbers_at(40), numbers_at(48)), (4, 5));
    let entry = numbers_at(56) + 3 * 32;
    assert_eq!((numbers_at(entry + 8), numbers_at(entry + 16)), (3, 128 + 12 * cols * 8));
    assert_eq!(bytes[numbers_at(entry + 16)..][..8], ((12 * 31) as f64).to_le_bytes());
    assert!(read("a.bin", &bytes, &none()).unwrap() == dense);

    let per_row = 2_000_000;
    let row = (0..per_row as u32).map(|column| 2 * column);
    let columns: Vec<u32> = (0..7).flat_map(|_| row.clone()).collect();
    let values: Vec<f64> = (0..columns.len()).map(|position| position as f64 + 0.5).collect();
    let row_offsets: Vec<usize> = (0..=7).map(|row| row * per_row).collect();
    let sparse: MatrixBlock = Csr::new(7, 5_000_000, row_offsets, columns, values).unwrap().into();
    let bytes = written(&sparse);
    let numbers_at = |offset: usize| numbers(&bytes[offset..offset + 8])[0] as usize;
    assert_eq!((numbers_at(40), numbers_at(48)), (2, 12));
    // The last strip has one row, whose offsets count from its own first position.
    let entry = numbers_at(56) + 9 * 32;
    assert_eq!(numbers(&bytes[numbers_at(entry + 16)..][..16]), [0, per_row as u64]);
    assert!(read("a.bin", &bytes, &none()).unwrap() == sparse);
}

#[test]
fn matrices_without_rows_or_columns_are_files() {
    for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
        let dense = read("a.bin", written(&Dense::zeros(rows, cols).into()), &none()).unwrap();
        let sparse = read("a.bin", written(&Csr::empty(rows, cols).into()), &none()).unwrap();
        assert_eq!((dense.dims(), sparse.dims()), ((rows, cols), (rows, cols)));
    }
}

/// The dense matrix is stored so, but a matrix of few non-zeros is kept sparse, and the other way round.
#[test]
fn the_density_decides_how_a_matrix_is_kept() {
    let mut cells = vec![0.0; 100];
    cells[37] = 5.0;
    let block = read("a.bin", written(&Dense::from_vec(10, 10, cells).into()), &none()).unwrap();
    assert!(block.format().is_sparse() && block.nnz() == 1 && block.get(3, 7) == 5.0);
    let full = Csr::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
    assert!(!read("a.bin", written(&full.into()), &none()).unwrap().format().is_sparse());
}

#[test]
fn explicit_zeros_are_neither_written_nor_kept() {
    let with_zeros = |values: [f64; 3]| Csr::new(2, 9, vec![0, 2, 3], vec![1, 8, 0], values.to_vec()).unwrap();
    let block = read("a.bin", written(&with_zeros([1.0, -0.0, 3.0]).into()), &none()).unwrap();
    assert_eq!((block.nnz(), block.get(1, 0)), (2, 3.0));
    // The second of the values, which begin at byte 256.
    let bytes = with_field(&written(&with_zeros([1.0, 2.0, 3.0]).into()), 264, &[0; 8]);
    let block = read("a.bin", bytes, &none()).unwrap();
    assert_eq!((block.nnz(), block.get(0, 8), block.get(1, 0)), (2, 0.0, 3.0));
}

/// Larger than a chunk, with rows that are empty, short, and longer than a chunk.
#[test]
fn files_of_many_chunks_read_back_for_any_number_of_threads() {
    let lengths: Vec<usize> = (0..400).map(|row| [0, 1, 300, 0, 70_000][row % 5].min(70_000)).collect();
    let rows = lengths.iter().map(|&length| (0..length as u32).map(move |column| column * 2));
    let columns: Vec<u32> = rows.flatten().collect();
    let values: Vec<f64> = (0..columns.len()).map(|position| position as f64 + 0.5).collect();
    let mut row_offsets = vec![0];
    lengths.iter().for_each(|length| row_offsets.push(row_offsets[row_offsets.len() - 1] + length));
    let sparse = Csr::new(400, 1_000_000, row_offsets, columns, values).unwrap();
    let dense = Dense::from_fn(1000, 150, |i, j| (i * 150 + j) as f64);
    let folder = tempfile::tempdir().unwrap();
    for (name, block) in [("s.bin", MatrixBlock::from(sparse)), ("d.bin", dense.into())] {
        let path = folder.path().join(name);
        write_matrix(&block, &path, &none()).unwrap();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let back = pool.install(|| read_matrix(&path, &none())).unwrap();
            let same = back.format() == block.format() && back == block;
            assert!(same, "{name} {threads}");
        }
    }
}

#[test]
fn wrong_headers_are_located() {
    let (dense, sparse) = (written(&dense()), written(&sparse()));
    let refuses = |bytes: Vec<u8>, offset: usize, part: &str| {
        let message = failure("a.bin", bytes, &none());
        assert!(message.starts_with(&format!("a.bin: byte {offset}: ")) && message.contains(part), "{message}");
    };
    refuses(Vec::new(), 0, "ends within its header");
    refuses(dense[..5].to_vec(), 5, "ends within its header");
    refuses(dense[..127].to_vec(), 127, "ends within its header");
    refuses(b"1,2\n3,4\n".to_vec(), 0, "does not begin as binary matrices of Fuseline do");
    refuses(with_field(&dense, 8, &[3]), 8, "version 3");
    refuses(with_field(&dense, 12, &[2]), 12, "the layout 2 is not known");
    refuses(with_field(&dense, 14, &[5]), 14, "values of type 5 are not known");
    refuses(with_field(&dense, 72, &[1]), 72, "contradicts itself");
    refuses(with_field(&dense, 40, &little(3)), 40, "strips of 3 rows: that is no power of two");
    refuses(with_field(&dense, 40, &little(0)), 40, "no power of two");
    refuses(with_field(&dense, 40, &little(2)), 48, "2 strips do not have 1 sections");
    refuses(with_field(&dense, 48, &little(2)), 48, "1 strips do not have 2 sections");
    refuses(with_field(&dense, 56, &little(1 << 40)), 56, "does not lie within the file");
    // Other dimensions move what follows.
    refuses(with_field(&dense, 16, &little(4)), 192, "the section table contradicts the header");
    refuses(with_field(&dense, 32, &little(7)), 32, "a 3 x 2 matrix cannot have 7 non-zeros");
    refuses(with_field(&sparse, 24, &little(1 << 32)), 24, "a sparse matrix cannot have 4294967296 columns");
    refuses(with_field(&sparse, 32, &little(4)), 320, "the section table contradicts the header");
    refuses(with_field(&dense, 16, &little(u64::MAX)), 48, "strips do not have 1 sections");
    let mut damaged = dense.clone();
    damaged[20] ^= 1;
    refuses(damaged, 124, "checksum");
    refuses(dense[..dense.len() - 1].to_vec(), 64, "the header describes 232 bytes, the file has 231");
    refuses([&dense[..], &[0]].concat(), 64, "the header describes 232 bytes, the file has 233");
}

#[test]
fn wrong_tables_are_located() {
    let (dense, sparse) = (written(&dense()), written(&sparse()));
    let refuses = |bytes: Vec<u8>, offset: usize, part: &str| {
        let message = failure("a.bin", bytes, &none());
        assert!(message.starts_with(&format!("a.bin: byte {offset}: ")) && message.contains(part), "{message}");
    };
    let mut damaged = dense.clone();
    damaged[200] ^= 1;
    refuses(damaged, 228, "the section table is damaged");
    refuses(with_field(&dense, 192, &[2]), 192, "contradicts the header");
    refuses(with_field(&dense, 208, &little(136)), 192, "contradicts the header");
    refuses(with_field(&sparse, 352, &[4]), 352, "a section of kind 4 stands where column indexes should");
    refuses(with_field(&sparse, 392, &little(1)), 384, "contradicts the header");
    // Stored positions that all sections together would have in another file.
    refuses(with_field(&sparse, 376, &little(16)), 320, "contradicts the header");
}

/// A header alone, of a matrix that no machine holds: nothing is allocated for it.
#[test]
fn headers_cost_no_memory() {
    for (layout, rows, cols, nnz) in [(Layout::Dense, 1 << 40, 1 << 10, 5), (Layout::Csr, 1 << 50, 9, 1 << 40)] {
        let header = FirstHeader::new(layout, rows, cols, nnz).unwrap();
        let message = failure("a.bin", header.encode(), &none());
        assert_eq!(message, format!("a.bin: byte 64: the header describes {} bytes, the file has 128", header.length));
    }
    let table = |rows: u64, strip_rows: u64, sections: u64, table: u64| {
        let mut file = written(&dense());
        for (offset, number) in [(16, rows), (24, 0), (32, 0), (40, strip_rows), (48, sections), (56, table)] {
            file[offset..offset + 8].copy_from_slice(&little(number));
        }
        failure("a.bin", with_checksums(&file), &none())
    };
    // A strip for each row, and one for all.
    assert!(table(1 << 50, 1, 1 << 50, 128).contains("does not lie within the file"));
    assert!(table(1 << 60, 1, 1 << 60, 128).contains("does not lie within the file"));
    assert!(table(1 << 50, 1 << 50, 1, 128).contains("contradicts"));
}

#[test]
fn wrong_content_is_located() {
    let refuses = |bytes: &[u8], offset: usize, part: &str| {
        let message = failure("a.bin", bytes, &none());
        assert!(message.starts_with(&format!("a.bin: byte {offset}: ")) && message.contains(part), "{message}");
    };
    let sparse = written(&sparse());
    let changed = |offset: usize, bytes: &[u8]| with_field(&sparse, offset, bytes);
    for (row, offset) in [(0, 1), (1, 3), (2, u64::MAX), (4, 2)] {
        refuses(&changed(128 + row * 8, &little(offset)), 128, "the row offsets do not ascend from 0 to 3");
    }
    refuses(&changed(192, &[9]), 192, "the column indexes of row 2 do not ascend below 9");
    refuses(&changed(196, &[1]), 192, "row 2 ");
    refuses(&changed(196, &[9]), 192, "row 2 ");
    refuses(&changed(200, &[0, 0, 0, 0x80]), 200, "row 4 ");
    let mut damaged = sparse.clone();
    damaged[200] ^= 1;
    refuses(&damaged, 192, "12 bytes are damaged: their checksum is wrong");
    let dense = written(&dense());
    refuses(&with_field(&dense, 32, &little(2)), 32, "the header says 2 non-zeros, the values hold 3");
}

/// Of a large section the piece that is damaged.
#[test]
fn damage_is_located_by_the_mebibyte() {
    let mut bytes = written(&Dense::from_fn(1000, 1000, |i, j| (i + j) as f64).into());
    bytes[128 + (5 << 20) + 77] ^= 4;
    let message = failure("a.bin", bytes, &none());
    assert_eq!(message, "a.bin: byte 5243008: 1048576 bytes are damaged: their checksum is wrong");
}

#[test]
fn declared_facts_must_fit() {
    let bytes = written(&dense());
    assert_eq!(
        failure("a.bin", &bytes, &dimensions(2, 3)),
        "a.bin: the file holds a 3 x 2 matrix, but 2 x 3 was declared"
    );
    let message = failure("a.bin", &bytes, &Metadata { nnz: Some(2), ..none() });
    assert_eq!(message, "a.bin: the file holds 3 non-zeros, but 2 were declared");
}

#[test]
fn compressed_files_are_read_too() {
    let bytes = gzip(&written(&sparse()));
    assert_eq!(read("a.bin.gz", &bytes, &none()).unwrap(), sparse());
    let zeros = gzip(&written(&Dense::zeros(1000, 1000).into()));
    let strict = Limits { floor: 1 << 10 };
    let error = read_matrix_from(&zeros, Path::new("a.bin.gz"), &none(), strict).unwrap_err();
    assert!(error.to_string().contains("it inflates beyond belief"), "{error}");
}

/// Any byte of a file may be wrong, with a header that knows it or not: the matrix is refused, or it is one.
#[test]
fn no_byte_can_do_harm() {
    for file in [written(&dense()), written(&sparse())] {
        for offset in 0..file.len() {
            for bits in [1, 2, 0x40, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[offset] ^= bits;
                if offset < HEADER_BYTES {
                    assert!(read("a.bin", &damaged, &none()).is_err(), "byte {offset}");
                }
                for bytes in [with_checksums(&damaged), damaged] {
                    let Ok(block) = read("a.bin", bytes, &none()) else { continue };
                    let csr = block.to_csr().into_owned();
                    let (row_offsets, columns, values) = (csr.row_offsets(), csr.columns(), csr.values());
                    let again =
                        Csr::new(csr.rows(), csr.cols(), row_offsets.to_vec(), columns.to_vec(), values.to_vec());
                    assert!(again.is_ok(), "byte {offset}");
                }
            }
        }
    }
}
