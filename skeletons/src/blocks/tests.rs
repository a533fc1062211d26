//! How blocks and units of dense and sparse matrices are cut.

use super::*;

/// Checks that the tiles of all blocks cover every cell once, within their blocks.
fn check_tiles(rows: usize, cols: usize, partition: &DensePartition) {
    let mut seen = vec![0_u8; rows * cols];
    for number in 0..partition.len() {
        let block = partition.block(number);
        for tile in partition.tiles(number) {
            assert!(tile.first_row >= block.first_row && tile.first_col >= block.first_col);
            assert!(tile.first_row + tile.rows <= block.first_row + block.rows);
            assert!(tile.first_col + tile.cols <= block.first_col + block.cols);
            assert!(tile.rows == 1 || tile.rows * tile.cols <= UNIT_CELLS);
            for row in tile.first_row..tile.first_row + tile.rows {
                seen[row * cols + tile.first_col..][..tile.cols].iter_mut().for_each(|count| *count += 1);
            }
        }
    }
    assert!(seen.iter().all(|&count| count == 1), "{rows} x {cols}: {partition:?}");
}

#[test]
fn tiles_cover_every_cell_once() {
    for (rows, cols) in [(0, 5), (5, 0), (1, 1), (1, 300_001), (9, 8193), (4097, 2), (5000, 1), (70, 1000)] {
        check_tiles(rows, cols, &DensePartition::cells(rows, cols));
        check_tiles(rows, cols, &DensePartition::row_blocks(rows, cols, 16));
        check_tiles(rows, cols, &DensePartition::col_blocks(rows, cols, 7));
        for rank in [0, 1, 100, 10_000] {
            check_tiles(rows, cols, &DensePartition::outer(rows, cols, rank));
        }
        check_tiles(rows, cols, &DensePartition::whole_rows(rows, cols, cols, true, Some(3)));
        check_tiles(rows, cols, &DensePartition::whole_rows(rows, cols, cols, false, None));
        assert!(DensePartition::row_blocks(rows, cols, 16).len() <= 16);
    }
}

#[test]
fn segments_cover_every_position_once_in_order() {
    let lengths = [0, 3, 40_000, 0, 0, 8192, 1, 8191, 7, 200_000, 0];
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    let partitions = [
        SparsePartition::positions(&offsets),
        SparsePartition::rows(&offsets, 1, true),
        SparsePartition::rows(&offsets, 1, false),
        SparsePartition::rows(&offsets, 900, false).with_blocks(4),
        SparsePartition::rows(&offsets, 1, true).with_units(4096, 3),
    ];
    for partition in partitions {
        let mut next = 0;
        for block in 0..partition.len() {
            assert_eq!(partition.block_positions(block).start, next);
            partition.for_each_segment(block, |segment| {
                assert_eq!(segment.start, next);
                assert!(segment.start >= offsets[segment.first_row]);
                assert!(segment.start == segment.end || segment.start < offsets[segment.first_row + segment.rows]);
                assert!(segment.rows == 1 || segment.end == offsets[segment.first_row + segment.rows]);
                next = segment.end;
            });
        }
        assert_eq!(next, offsets[lengths.len()]);
    }
}

#[test]
fn few_blocks_are_even() {
    // A little more than three blocks, which two threads share evenly.
    let heights = |partition: DensePartition| -> Vec<usize> {
        (0..partition.len()).map(|block| partition.block(block).rows).collect()
    };
    assert_eq!(heights(DensePartition::cells(1000, 100)), [256, 256, 256, 232]);
    assert_eq!(heights(DensePartition::whole_rows(1000, 100, 100, false, Some(4))), [252, 252, 252, 244]);
    let offsets: Vec<usize> = (0..=1000).map(|row| 100 * row).collect();
    let partition = SparsePartition::rows(&offsets, 1, true);
    assert_eq!((0..partition.len()).map(|block| partition.block_rows(block).len()).collect::<Vec<_>>(), [250; 4]);
    assert_eq!(SparsePartition::positions(&offsets).block_positions(3), 75_000..100_000);
}
