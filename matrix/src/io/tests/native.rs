//! Fuseline's binary format: what is written, what is refused, and where.

use super::super::binary_header::{Header, LENGTH, Layout};
use super::*;

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

/// The file with other bytes at a place of its header, which knows it.
fn with_field(bytes: &[u8], offset: usize, field: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[offset..offset + field.len()].copy_from_slice(field);
    let checksum = crc32fast::hash(&bytes[..LENGTH - 4]);
    bytes[LENGTH - 4..LENGTH].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn little(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

#[test]
fn dense_files_have_the_documented_bytes() {
    let bytes = written(&dense());
    assert_eq!(bytes.len(), 128 + 6 * 8);
    assert_eq!(&bytes[..16], b"\x89FUSE\r\n\x1a\x01\0\0\0\0\0\x01\0");
    let numbers: Vec<u64> =
        bytes[16..72].chunks(8).map(|field| u64::from_le_bytes(field.try_into().unwrap())).collect();
    assert_eq!(numbers, [3, 2, 3, 0, 0, 128, 176]);
    assert!(bytes[72..124].iter().all(|&byte| byte == 0));
    // As zlib computes it.
    assert_eq!(bytes[124..128], crc32fast::hash(&bytes[..124]).to_le_bytes());
    assert_eq!(bytes[128 + 8..128 + 16], 7.0_f64.to_le_bytes());
    assert_eq!(read("b.bin", bytes, &none()).unwrap(), dense());
}

#[test]
fn sparse_files_have_aligned_buffers() {
    let bytes = written(&sparse());
    let header = Header::decode(&bytes, bytes.len() as u64).unwrap();
    assert_eq!((header.layout, header.rows, header.cols, header.nnz), (Layout::Csr, 4, 9, 3));
    assert_eq!((header.row_offsets, header.columns, header.values, header.length), (128, 192, 256, 280));
    let offsets: Vec<u8> = [0, 0, 2, 2, 3].into_iter().flat_map(little).collect();
    assert_eq!(bytes[128..168], offsets);
    assert_eq!(bytes[168..192], [0; 24]);
    assert_eq!(bytes[192..204], [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[256..264], 1.5_f64.to_le_bytes());
    let back = read("b.bin", bytes, &none()).unwrap();
    assert!(back.is_sparse() && back == sparse());
}

#[test]
fn headers_are_the_inverse_of_each_other() {
    for layout in [Layout::Dense, Layout::Csr] {
        for (rows, cols, nnz) in [(0, 0, 0), (0, 5, 0), (1, 1, 1), (7, 0, 0), (1 << 20, 1000, 12345), (3, 3, 9)] {
            let header = Header::new(layout, rows, cols, nnz).unwrap();
            assert_eq!(Header::decode(&header.encode(), header.length), Ok(header));
        }
        assert_eq!(Header::new(layout, u64::MAX, 1, 0), None);
    }
    assert_eq!(Header::new(Layout::Dense, 1 << 32, 1 << 32, 0), None);
    assert_eq!(Header::new(Layout::Csr, 1, 1 << 32, 1 << 62), None);
}

/// The dense matrix is stored so, but a matrix of few non-zeros is kept sparse, and the other way round.
#[test]
fn the_density_decides_how_a_matrix_is_kept() {
    let mut cells = vec![0.0; 100];
    cells[37] = 5.0;
    let block = read("a.bin", written(&Dense::from_vec(10, 10, cells).into()), &none()).unwrap();
    assert!(block.is_sparse() && block.nnz() == 1 && block.get(3, 7) == 5.0);
    let full = Csr::new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
    assert!(!read("a.bin", written(&full.into()), &none()).unwrap().is_sparse());
}

#[test]
fn explicit_zeros_are_neither_written_nor_kept() {
    let with_zeros = |values: [f64; 3]| Csr::new(2, 9, vec![0, 2, 3], vec![1, 8, 0], values.to_vec()).unwrap();
    let block = read("a.bin", written(&with_zeros([1.0, -0.0, 3.0]).into()), &none()).unwrap();
    assert_eq!((block.nnz(), block.get(1, 0)), (2, 3.0));
    let mut bytes = written(&with_zeros([1.0, 2.0, 3.0]).into());
    let second = bytes.len() - 16;
    bytes[second..second + 8].fill(0);
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
            let same = match (&back, &block) {
                (MatrixBlock::Sparse(back), MatrixBlock::Sparse(block)) => back == block,
                (MatrixBlock::Dense(back), MatrixBlock::Dense(block)) => back == block,
                _ => false,
            };
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
    refuses(with_field(&dense, 8, &[2]), 8, "version 2");
    refuses(with_field(&dense, 12, &[2]), 12, "the layout 2 is not known");
    refuses(with_field(&dense, 14, &[2]), 14, "contradicts itself");
    refuses(with_field(&dense, 72, &[1]), 72, "contradicts itself");
    refuses(with_field(&dense, 40, &little(128)), 40, "contradicts itself");
    refuses(with_field(&dense, 56, &little(120)), 56, "contradicts itself");
    refuses(with_field(&sparse, 48, &little(128)), 48, "contradicts itself");
    // Other dimensions move what follows.
    refuses(with_field(&dense, 16, &little(4)), 64, "contradicts itself");
    refuses(with_field(&dense, 32, &little(7)), 32, "a 3 x 2 matrix cannot have 7 non-zeros");
    refuses(with_field(&sparse, 24, &little(1 << 32)), 24, "a sparse matrix cannot have 4294967296 columns");
    refuses(with_field(&dense, 16, &little(u64::MAX)), 16, "no file holds a 18446744073709551615 x 2 matrix");
    refuses(with_field(&sparse, 16, &little(u64::MAX)), 16, "no file holds");
    let mut damaged = dense.clone();
    damaged[20] ^= 1;
    refuses(damaged, 124, "checksum");
    refuses(dense[..dense.len() - 1].to_vec(), 64, "the header describes 176 bytes, the file has 175");
    refuses([&dense[..], &[0]].concat(), 64, "the header describes 176 bytes, the file has 177");
}

/// A header alone, of a matrix that no machine holds: nothing is allocated for it.
#[test]
fn headers_cost_no_memory() {
    for (layout, rows, cols, nnz) in [(Layout::Dense, 1 << 40, 1 << 10, 5), (Layout::Csr, 1 << 50, 9, 1 << 40)] {
        let header = Header::new(layout, rows, cols, nnz).unwrap();
        let message = failure("a.bin", header.encode(), &none());
        assert_eq!(message, format!("a.bin: byte 64: the header describes {} bytes, the file has 128", header.length));
    }
}

#[test]
fn wrong_content_is_located() {
    let refuses = |bytes: &[u8], offset: usize, part: &str| {
        let message = failure("a.bin", bytes, &none());
        assert!(message.starts_with(&format!("a.bin: byte {offset}: ")) && message.contains(part), "{message}");
    };
    let sparse = written(&sparse());
    let changed = |offset: usize, bytes: &[u8]| {
        let mut file = sparse.clone();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        file
    };
    for (row, offset) in [(0, 1), (1, 3), (2, u64::MAX), (4, 2)] {
        refuses(&changed(128 + row * 8, &little(offset)), 128, "the row offsets do not ascend from 0 to 3");
    }
    refuses(&changed(192, &[9]), 192, "the column indexes of row 2 do not ascend below 9");
    refuses(&changed(196, &[1]), 192, "row 2 ");
    refuses(&changed(196, &[9]), 192, "row 2 ");
    refuses(&changed(200, &[0, 0, 0, 0x80]), 200, "row 4 ");
    let dense = written(&dense());
    refuses(&with_field(&dense, 32, &little(2)), 32, "the header says 2 non-zeros, the values hold 3");
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
                if offset < LENGTH {
                    assert!(read("a.bin", &damaged, &none()).is_err(), "byte {offset}");
                }
                for bytes in [with_field(&damaged, 0, &[damaged[0]]), damaged] {
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
