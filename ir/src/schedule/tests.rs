//! How blocks and units of dense and sparse matrices are cut.

use super::*;
use std::ops::Range;

fn area(rows: usize, cols: usize) -> Tile {
    Tile { first_row: 0, rows, first_col: 0, cols }
}

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

fn whole(widest: usize, long_operations: usize) -> WholeRows {
    WholeRows { widest, computed: 3, long_operations, sums: 0, swept: 0 }
}

/// Sums that no near cache holds are loaded and stored once for several rows, as long as these are not much larger, and computed
/// ones stay in a cache.
#[test]
fn units_that_add_to_large_sums_have_several_rows() {
    let rows_computing = |computed, widest, long_operations, sums| {
        let whole = WholeRows { widest, computed, long_operations, sums, swept: 0 };
        let tile = DensePartition::whole_rows(area(64, widest), whole, 1).tiles(0).next().expect("a tile");
        assert!(tile.rows == 1 || tile.rows * widest <= 1 << 20);
        tile.rows
    };
    let rows = |widest, long_operations, sums| rows_computing(0, widest, long_operations, sums);
    assert_eq!(
        [1, 10_000, 20_000, 100_000].map(|computed| rows_computing(computed, 100_000, 1, 400_000)),
        [8, 6, 3, 1]
    );
    assert_eq!([0, 1].map(|vectors| rows(100_000, vectors, 400_000)), [8; 2]);
    assert_eq!([0, 1].map(|vectors| rows(100_000, vectors, 100_000)), [1; 2]);
    assert_eq!([1 << 18, 1 << 20, 1 << 22].map(|widest| rows(widest, 1, 4 * widest)), [4, 1, 1]);
}

/// Sums that the first-level cache holds are loaded and stored once for as many rows as the second-level one does, where little
/// is computed of these.
#[test]
fn units_that_add_to_sums_share_a_pass_over_these() {
    let rows = |computed, widest, sums| {
        let whole = WholeRows { widest, computed, long_operations: 0, sums, swept: 0 };
        DensePartition::whole_rows(area(8192, widest), whole, 1).tiles(0).next().expect("a tile").rows
    };
    assert_eq!([100, 1000, 4000, 20_000].map(|cols| rows(1, cols, cols)), [316, 32, 8, 1]);
    assert_eq!([60, 500, 1000, 4000].map(|cols| rows(4, cols, 4 * cols)), [68, 32, 16, 8]);
    assert_eq!(rows(1000, 1000, 1000), 8, "a vector for each row leaves no room");
    assert_eq!(rows(3, 1000, 0), 8, "nothing is added to");
    assert_eq!(rows(3, 10, 10), 392, "sums stay in registers");
}

/// What has little to do with each row waits for memory: it does that for as many rows as the second-level cache holds, and for as
/// many as primitives ask for ahead where it adds to registers besides.
#[test]
fn units_that_compute_a_value_for_each_row_have_many() {
    let rows = |computed, widest, sums| {
        let whole = WholeRows { widest, computed, long_operations: 0, sums, swept: 0 };
        DensePartition::whole_rows(area(8192, widest), whole, 1).tiles(0).next().expect("a tile").rows
    };
    assert_eq!([10, 100, 1000, 4000, 40_000].map(|cols| rows(0, cols, 0)), [2732, 316, 32, 8, 1]);
    assert_eq!([2, 3].map(|computed| rows(computed, 1000, 0)), [32, 8]);
    assert_eq!(rows(1, 10, 10), 1368);
}

/// A matrix that no near cache holds is read once for four rows, as long as these stay in it.
#[test]
fn units_that_go_through_large_matrices_have_several_rows() {
    let rows = |widest, swept| {
        let whole = WholeRows { widest, computed: 3, long_operations: 0, sums: 0, swept };
        DensePartition::whole_rows(area(64, widest), whole, 1).tiles(0).next().expect("a tile").rows
    };
    assert_eq!([80_000, 160_000].map(|swept| rows(20_000, swept)), [1, 4]);
    assert_eq!([40_000, 80_000, 160_000].map(|widest| rows(widest, 1 << 20)), [3, 1, 1]);
    // Several short rows are a unit as it is.
    assert_eq!([0, 1 << 20].map(|swept| rows(500, swept)), [16; 2]);
}

#[test]
fn tiles_cover_every_cell_once() {
    for (rows, cols) in [(0, 5), (5, 0), (1, 1), (1, 300_001), (9, 8193), (4097, 2), (5000, 1), (70, 1000)] {
        let area = area(rows, cols);
        check_tiles(rows, cols, &DensePartition::cells(area));
        check_tiles(rows, cols, &DensePartition::row_blocks(area, 16));
        check_tiles(rows, cols, &DensePartition::col_blocks(area, 7));
        for rank in [0, 1, 100, 10_000] {
            check_tiles(rows, cols, &DensePartition::products(area, rank));
            assert!(DensePartition::products(area, rank).in_blocks(3).len() <= 3);
            check_tiles(rows, cols, &DensePartition::products(area, rank).cut_across());
        }
        check_tiles(rows, cols, &DensePartition::whole_rows(area, whole(cols, 1), 3));
        check_tiles(rows, cols, &DensePartition::whole_rows(area, whole(cols, 40), 3));
        check_tiles(rows, cols, &DensePartition::whole_rows(area, whole(cols, 0), 100));
        assert!(DensePartition::row_blocks(area, 16).len() <= 16);
    }
}

/// Blocks of cells that may be stored row by row end where rows do, longer ones too where there are many.
#[test]
fn blocks_of_runs_end_where_rows_do() {
    let first = |rows, cols| DensePartition::cells(area(1, rows * cols)).between_rows(cols).block(0).cols;
    assert_eq!([100, 10_000, 50_000, LARGE_ROW].map(|cols| first(100, cols)), [9600, 30_000, 50_000, LARGE_ROW]);
    // Few long rows, and rows that no near cache holds, are cut.
    let are_whole = |(rows, cols)| first(rows, cols) % cols == 0;
    assert_eq!([(63, 50_000), (64, 50_000), (100, LARGE_ROW + 1)].map(are_whole), [false, true, false]);
    for (rows, cols) in [(100, 1000), (100, 50_000), (10, 50_000), (1, 100_001)] {
        check_tiles(1, rows * cols, &DensePartition::cells(area(1, rows * cols)).between_rows(cols));
    }
}

/// Units of rows with long vectors have as many cells as others, and no more rows than the second-level cache holds vectors of; where
/// there are many of these, no more than the first-level cache does.
#[test]
fn units_of_rows_with_long_operations_have_few() {
    let rows = |widest, vectors| {
        let partition = DensePartition::whole_rows(area(8192, widest), whole(widest, vectors), 1);
        partition.tiles(0).next().expect("a tile").rows
    };
    assert_eq!([500, 1000, 2000, 3000, 10_000].map(|widest| rows(widest, 1)), [16, 8, 4, 2, 1]);
    assert_eq!([1, 31, 32, 100].map(|vectors| rows(500, vectors)), [16, 16, 4, 4]);
    assert_eq!([1000, 2000, 3000].map(|widest| rows(widest, 32)), [2, 1, 1]);
}

/// Cells of the longest row that is a block.
const LARGE_ROW: usize = 1 << 17;

/// Few rows of many columns are the work of several threads all the same.
#[test]
fn products_of_few_rows_are_cut_across() {
    let blocks = |rows, cols| DensePartition::products(area(rows, cols), 2).cut_across().len();
    assert!(blocks(100, 100_000) > MAX_PARTIALS, "{}", blocks(100, 100_000));
    assert_eq!((blocks(100, 100), blocks(5000, 5000)), (1, DensePartition::products(area(5000, 5000), 2).len()));
}

/// A call of generated code costs as much as many cells: tiles of few columns have as many cells as others, up to the most rows.
#[test]
fn tiles_of_narrow_products_have_many_rows() {
    let first = |cols| DensePartition::products(area(1 << 20, cols), 2).tiles(0).next().expect("a tile");
    assert_eq!([1, 4, 10, 100, 5000].map(|cols| first(cols).rows), [MAX_UNIT_ROWS, 2048, 816, 80, 32]);
}

/// Rows of a sparse matrix that have long vectors beside them are taken several at a time, as long as these stay in the
/// second-level cache: primitives multiply eight rows with a matrix at once, and read it again for those that are left over.
#[test]
fn units_of_sparse_rows_with_long_operations_have_several_rows() {
    let offsets: Vec<usize> = (0..=3000).map(|row| 3 * row).collect();
    let rows_of_units = |longest_computed| {
        let row = RowProfile { longest_computed, ..RowProfile::default() };
        let (space, flow) = (Space::Rows, Flow::Rows);
        let profile = Profile { space, flow, row, runs_over_non_zeros: true, ..profiles(3000, 3000)[0] };
        let sparse = SparseRows { first_row: 0, offsets: &offsets };
        let Partition::Segments(segments) = Schedule::of(&profile).cut(Rows::Sparse(sparse)) else { unreachable!() };
        let mut rows = Vec::new();
        segments.for_each_segment(1, |segment| rows.push(segment.rows));
        rows
    };
    assert_eq!([500, 1000, 1500, 3000, 30_000].map(rows_of_units), [vec![32], vec![32], vec![22], vec![11], vec![1]]);
}

const LENGTHS: [usize; 11] = [0, 3, 40_000, 0, 0, 8192, 1, 8191, 7, 200_000, 0];

fn offsets(lengths: &[usize]) -> Vec<usize> {
    lengths.iter().fold(vec![0], |mut offsets, length| {
        offsets.push(offsets[offsets.len() - 1] + length);
        offsets
    })
}

fn runs(row_weight: Option<usize>, cuts_rows: bool) -> Runs {
    Runs { row_weight, position_cells: 2, cuts_rows, unit_weight: UNIT_CELLS, block_weight: BLOCK_CELLS }
}

/// Even rows in one block have as many units as are counted without their offsets.
#[test]
fn units_of_even_rows_are_counted() {
    for (rows, length, row_weight) in [(100, 20, 900), (100, 20, 5000), (50, 300, 20_000), (64, 128, 1), (0, 0, 1)] {
        let all = offsets(&vec![length; rows]);
        let runs = Runs { block_weight: usize::MAX, ..runs(Some(row_weight), false) };
        let partition = SparsePartition::new(SparseRows { first_row: 0, offsets: &all }, runs);
        let mut units = 0;
        (0..partition.len()).for_each(|block| partition.for_each_segment(block, |_| units += 1));
        assert_eq!(runs.even_units(rows, rows * length), units, "{rows} rows of {length} that weigh {row_weight}");
    }
}

/// A unit ends where the next row would make it too heavy, or one of too many rows, and not before.
#[test]
fn units_of_whole_rows_have_as_many_as_their_weight_allows() {
    let mixed: Vec<usize> = (0..20_000).map(|row| if row % 37 == 0 { row % 1000 } else { row % 3 }).collect();
    let short: Vec<usize> = (0..20_000).map(|row| usize::from(row % 8 == 0)).collect();
    let cases = [
        (&LENGTHS[..], 1),
        (&mixed, 0),
        (&mixed, 1),
        (&mixed, 3),
        (&mixed, 5000),
        (&short, 0),
        (&short, 1),
        (&short, 2),
    ];
    for (lengths, row_weight) in cases {
        let all = offsets(lengths);
        let weight = |rows: Range<usize>| all[rows.end] - all[rows.start] + rows.len() * row_weight;
        let rows = SparseRows { first_row: 0, offsets: &all };
        let partition = SparsePartition::new(rows, runs(Some(row_weight), false));
        for block in 0..partition.len() {
            let end = partition.block_rows(block).end;
            partition.for_each_segment(block, |segment| {
                let last = segment.first_row + segment.rows;
                assert!(segment.rows <= MAX_UNIT_ROWS);
                assert!(segment.rows == 1 || weight(segment.first_row..last) <= UNIT_CELLS);
                let is_full = segment.rows == MAX_UNIT_ROWS || last == end;
                assert!(is_full || weight(segment.first_row..last + 1) > UNIT_CELLS);
            });
        }
    }
}

#[test]
fn segments_cover_every_position_once_in_order() {
    let all = offsets(&LENGTHS);
    for first_row in [0, 2, 5, LENGTHS.len()] {
        let rows = SparseRows { first_row, offsets: &all[first_row..] };
        let partitions = [
            SparsePartition::new(rows, runs(None, true)),
            SparsePartition::new(rows, runs(Some(1), true)),
            SparsePartition::new(rows, runs(Some(1), false)),
            SparsePartition::new(rows, runs(Some(900), false)).in_blocks(4),
            SparsePartition::new(rows, Runs { unit_weight: 4096, block_weight: 3 * 4096, ..runs(Some(1), true) }),
        ];
        for partition in partitions {
            let mut next = all[first_row];
            for block in 0..partition.len() {
                assert_eq!(partition.block_positions(block).start, next);
                partition.for_each_segment(block, |segment| {
                    assert_eq!(segment.start, next);
                    assert!(segment.start >= all[segment.first_row]);
                    assert!(segment.start == segment.end || segment.start < all[segment.first_row + segment.rows]);
                    assert!(segment.rows == 1 || segment.end == all[segment.first_row + segment.rows]);
                    next = segment.end;
                });
            }
            assert_eq!(next, all[LENGTHS.len()]);
        }
    }
}

#[test]
fn few_blocks_are_even() {
    // A little more than three blocks, which two threads share evenly.
    let heights = |partition: DensePartition| -> Vec<usize> {
        (0..partition.len()).map(|block| partition.block(block).rows).collect()
    };
    assert_eq!(heights(DensePartition::cells(area(1000, 100))), [256, 256, 256, 232]);
    assert_eq!(heights(DensePartition::whole_rows(area(1000, 100), whole(100, 0), 4)), [252, 252, 252, 244]);
    let offsets: Vec<usize> = (0..=1000).map(|row| 100 * row).collect();
    let rows = SparseRows { first_row: 0, offsets: &offsets };
    let partition = SparsePartition::new(rows, runs(Some(1), true));
    assert_eq!((0..partition.len()).map(|block| partition.block_rows(block).len()).collect::<Vec<_>>(), [250; 4]);
    assert_eq!(SparsePartition::new(rows, runs(None, true)).block_positions(3), 75_000..100_000);
}

/// Profiles of all kinds of operators.
fn profiles(rows: usize, cols: usize) -> Vec<Profile> {
    let row = RowProfile {
        longest_computed: 3,
        widest: cols,
        inputs: cols,
        keeps_vectors: false,
        swept: 0,
        long_operations: 1,
    };
    let (space, flow) = (Space::Cells, Flow::Cells);
    let base = Profile {
        space,
        rows,
        cols,
        runs_over_non_zeros: false,
        skips_empty_rows: false,
        keeps_rows: false,
        combines_rows: false,
        keeps_columns: false,
        row,
        rank: 5,
        flow,
    };
    let mut profiles = Vec::new();
    for space in [Space::Cells, Space::Rows, Space::Factors] {
        for flow in [Flow::Cells, Flow::Rows, Flow::Values, Flow::Sums { cells: cols }] {
            for runs_over_non_zeros in [false, true] {
                let keeps_rows = space != Space::Cells || flow == Flow::Rows;
                let keeps_columns = matches!(flow, Flow::Sums { .. });
                profiles.push(Profile { space, flow, runs_over_non_zeros, keeps_rows, keeps_columns, ..base });
            }
        }
    }
    profiles
}

/// Whoever has some strips cuts them as whoever has all of them: boundaries move with the rows.
#[test]
fn a_strip_is_cut_like_a_matrix_of_its_own() {
    let lengths: Vec<usize> = (0..5000).map(|row| row * row % 37).collect();
    let (all, cols) = (offsets(&lengths), 40);
    for profile in profiles(lengths.len(), cols) {
        let schedule = Schedule::of(&profile);
        let (first_row, rows) = (1024, 2048);
        let own = Schedule::of(&Profile { rows, ..profile });
        let [part, alone] = [first_row, 0].map(|first_row| Rows::Dense { first_row, rows });
        let own_lengths: Vec<usize> = lengths[first_row..first_row + rows].to_vec();
        let own_offsets = offsets(&own_lengths);
        let [sparse_part, sparse_alone] = [(first_row, &all[first_row..=first_row + rows]), (0, &own_offsets[..])]
            .map(|(first_row, offsets)| Rows::Sparse(SparseRows { first_row, offsets }));
        let is_sparse = matches!(schedule.driver, Driver::NonZeros(_) | Driver::Samples { .. });
        let (part, alone) = if is_sparse { (sparse_part, sparse_alone) } else { (part, alone) };
        match (schedule.cut(part), own.cut(alone)) {
            (Partition::Tiles(part), Partition::Tiles(alone)) => {
                assert_eq!(part.len(), alone.len());
                let (down, right) = if schedule.driver == Driver::Run { (0, first_row * cols) } else { (first_row, 0) };
                for block in 0..part.len() {
                    let moved = alone.tiles(block).map(|tile| Tile {
                        first_row: tile.first_row + down,
                        first_col: tile.first_col + right,
                        ..tile
                    });
                    assert!(part.tiles(block).eq(moved), "{profile:?}");
                }
            }
            (Partition::Segments(part), Partition::Segments(alone)) => {
                assert_eq!(part.len(), alone.len());
                for block in 0..part.len() {
                    let (mut of_part, mut of_alone) = (Vec::new(), Vec::new());
                    part.for_each_segment(block, |segment| of_part.push(segment));
                    alone.for_each_segment(block, |segment| {
                        of_alone.push(Segment {
                            first_row: segment.first_row + first_row,
                            start: segment.start + all[first_row],
                            end: segment.end + all[first_row],
                            ..segment
                        });
                    });
                    assert_eq!(of_part, of_alone, "{profile:?}");
                }
            }
            (Partition::Ranges(part), Partition::Ranges(alone)) => assert_eq!(part.len(), alone.len()),
            (part, alone) => panic!("{profile:?}: {part:?}, but alone {alone:?}"),
        }
    }
}

/// What is known of sizes alone is what the boundaries in data make.
#[test]
fn blocks_are_known_without_data() {
    for (rows, cols) in [(0, 5), (1, 1), (1, 300_000), (9, 9000), (4097, 2), (50_000, 3), (700, 1000)] {
        let lengths: Vec<usize> = (0..rows).map(|row| row * row % 37 % (cols + 1)).collect();
        let all = offsets(&lengths);
        for profile in profiles(rows, cols) {
            let schedule = Schedule::of(&profile);
            let sparse = SparseRows { first_row: 0, offsets: &all };
            let is_sparse = matches!(schedule.driver, Driver::NonZeros(_) | Driver::Samples { .. });
            let rows_to_cut = if is_sparse { Rows::Sparse(sparse) } else { Rows::Dense { first_row: 0, rows } };
            let non_zeros = rows_to_cut.non_zeros();
            assert_eq!(schedule.blocks(rows, non_zeros), schedule.cut(rows_to_cut).len(), "{profile:?}");
        }
    }
}

/// Sums that few non-zeros do not pay for are kept apart where each row takes as long as the vectors that it has, or its
/// non-zeros as long as it takes to combine them with others; two where non-zeros reach them in no near cache, which takes as long.
#[test]
fn what_sparse_rows_take_besides_visits_pays_for_private_sums() {
    let sums = |longest_computed, combines_rows, non_zeros_of_row| {
        let (rows, cols) = (100, 100_000);
        let row = RowProfile { longest_computed, ..RowProfile::default() };
        let (space, flow) = (Space::Rows, Flow::Sums { cells: cols });
        let base = profiles(rows, cols)[0];
        let profile = Profile { space, flow, row, combines_rows, runs_over_non_zeros: true, ..base };
        Schedule::of(&profile).sums(rows, non_zeros_of_row * rows)
    };
    assert_eq!(sums(1, false, 499), Some(Sums::Private(1)));
    assert_eq!(sums(1, false, 500), Some(Sums::Private(2)));
    assert_eq!(sums(1, true, 2000), Some(Sums::Private(4)));
    assert_eq!(sums(100_000, false, 499), Some(Sums::Private(MAX_PARTIALS)));
}

#[test]
fn strips_of_large_sums_are_runs_of_others() {
    let schedule = |flow| Schedule::of(&Profile { flow, ..profiles(1 << 24, 8)[0] });
    let height = |flow| schedule(flow).strips(64, 1 << 20).height;
    assert_eq!(height(Flow::Cells), 1 << 24);
    assert_eq!(height(Flow::Values), 1 << 14);
    assert_eq!(height(Flow::Sums { cells: 8 }), 1 << 14);
    assert_eq!(height(Flow::Sums { cells: 513 }), 1 << 14);
    assert_eq!(height(Flow::Sums { cells: 1024 }), 1 << 15);
    assert_eq!(height(Flow::Sums { cells: usize::MAX }), 1 << 24);
}
