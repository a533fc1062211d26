//! Times against hand-computed ones.

use super::*;

/// P113: 100M x 10 dense values at 32 GB/s take a quarter of a second.
#[test]
fn reads_the_papers_example_in_a_quarter_second() {
    let seconds = Machine::default().read_time(1e9 * 8.0);
    assert!((seconds - 0.25).abs() < 1e-12);
}

#[test]
fn small_matrices_move_at_the_speed_of_the_cache_that_holds_them() {
    let machine = Machine::default();
    assert_eq!(machine.bandwidth(16.0 * 1024.0).read, 96e9);
    assert_eq!(machine.bandwidth(16.0 * 1024.0 + 1.0).read, 64e9);
    assert_eq!(machine.bandwidth(1e6).read, 48e9);
    assert_eq!(machine.bandwidth(1e9).read, 32e9);
    // A part of a matrix lies where the matrix does.
    assert_eq!(machine.read_part_time(1e3, 1e9), 1e3 / 32e9);
}

/// Wider registers compute more in the same time, and nothing else.
#[test]
fn rates_of_computing_grow_with_registers() {
    assert_eq!(Machine::typical(4), Machine::default());
    let wide = Machine::typical(8);
    assert!(wide.is_consistent() && wide.lanes == 8);
    let rates =
        |machine: &Machine| [machine.compute.arithmetic, machine.compute.matrix_product, machine.compute.row_cells];
    assert_eq!(rates(&wide), rates(&Machine::default()).map(|rate| 2.0 * rate));
    let read = |machine: &Machine| machine.caches.map(|cache| cache.bandwidth.read);
    assert_eq!(read(&wide), read(&Machine::default()).map(|rate| 2.0 * rate));
    let computes_alike =
        Machine { compute: wide.compute, caches: wide.caches, lanes: wide.lanes, ..Machine::default() };
    assert_eq!(wide, computes_alike);
    assert_eq!(wide.compute.reorganization, Machine::default().compute.reorganization);
}

#[test]
fn a_cache_holds_a_share_of_what_is_larger() {
    let mut machine = Machine::default();
    let capacity = machine.caches[2].capacity;
    machine.caches[2].reach = 5.0 * capacity;
    assert_eq!(machine.bandwidth(capacity).read, 48e9);
    // Halfway: half of the bytes at 48 GB/s, half at 32.
    let seconds = machine.read_time(3.0 * capacity);
    assert!((seconds / (1.5 * capacity / 48e9 + 1.5 * capacity / 32e9) - 1.0).abs() < 1e-12);
    assert_eq!(machine.bandwidth(5.0 * capacity).read, 32e9);
    machine.caches[1].reach = machine.caches[2].reach;
    let nearer = machine.bandwidth(3.0 * capacity);
    assert!(nearer.read > machine.caches[2].bandwidth.read.min(machine.memory.read) && machine.is_consistent());
}

/// Bounds of plan selection price each matrix by itself: less of it never takes longer.
#[test]
fn times_ascend_with_the_bytes() {
    let mut reaching = Machine::default();
    reaching.caches.iter_mut().for_each(|cache| {
        cache.reach = 50.0 * cache.capacity;
        cache.write_reach = 70.0 * cache.capacity;
    });
    for machine in [Machine::default(), reaching, Machine { cluster: Some(Cluster::for_tests()), ..Machine::default() }]
    {
        assert!(machine.is_consistent());
        let sizes: Vec<f64> = (0..400).map(|step| 1.1_f64.powi(step) - 1.0).collect();
        for pair in sizes.windows(2) {
            assert!(machine.read_time(pair[0]) < machine.read_time(pair[1]));
            assert!(machine.write_time(pair[0]) < machine.write_time(pair[1]));
            assert!(machine.read_time(pair[0]) <= machine.read_part_time(pair[0], pair[1]));
        }
    }
}

#[test]
fn inconsistent_machines_are_told() {
    let default = Machine::default;
    let mut faster_memory = default();
    faster_memory.memory.read = 1e12;
    let machines = [
        faster_memory,
        Machine { threads: 0, ..default() },
        Machine { lanes: 0, ..default() },
        Machine { overlap: 1.5, ..default() },
        Machine { overlap: f64::NAN, ..default() },
        Machine { exposed: 1.5, ..default() },
        Machine { hidden_write: -0.5, ..default() },
        Machine { start: StartCosts { row: -1.0, ..default().start }, ..default() },
        Machine { start: StartCosts { basic: -1.0, ..default().start }, ..default() },
        Machine { start: StartCosts { scalar: -1.0, ..default().start }, ..default() },
        Machine { start: StartCosts { fused: f64::NAN, ..default().start }, ..default() },
        Machine { start: StartCosts { fused_rows: -1.0, ..default().start }, ..default() },
        Machine { start: StartCosts { run: -1.0, ..default().start }, ..default() },
        Machine { start: StartCosts { parallel: -1.0, ..default().start }, ..default() },
        Machine { sparse: SparseAccess { store: f64::INFINITY, ..default().sparse }, ..default() },
        Machine { compute: ComputeRates::uniform(0.0), ..default() },
        Machine { compute: ComputeRates { random: 0.0, ..default().compute }, ..default() },
        Machine { memory_budget: Some(-1.0), ..default() },
        Machine { cluster: Some(Cluster { workers: 0, ..Cluster::for_tests() }), ..default() },
    ];
    for machine in machines {
        assert!(!machine.is_consistent(), "{machine:?}");
    }
}

impl Cluster {
    /// Six workers on 10 Gb Ethernet.
    pub(crate) fn for_tests() -> Self {
        Cluster {
            workers: 6,
            broadcast_memory: 100e6,
            block_size: 1000,
            read_bandwidth: 6e9,
            broadcast_bandwidth: 0.1e9,
            join_bandwidth: 0.6e9,
            start: 0.0,
        }
    }
}

/// A line of what fits the nearest cache is there; of larger matrices ever fewer lines are in each level.
#[test]
fn lines_of_small_matrices_are_near() {
    let mut machine = Machine::default();
    machine.sparse.line = 1e-9;
    for (cache, size) in machine.caches.iter_mut().zip([1e4, 1e6, 16e6]) {
        cache.size = size;
    }
    // Nothing, three tenths, and seven more from the last cache, a quarter of which is left for these; twice as much again
    // from memory.
    let times = [
        (0.0, 0.0),
        (1e4, 0.0),
        (2e4, 0.15),
        (1e6, 0.3 * 0.99),
        (4e6, 0.3 * 0.9975 + 0.7 * 0.75),
        (1e9, 0.3 * 0.99999 + 0.7 * 0.999 + 2.0 * 0.996),
    ];
    for (bytes, lines) in times {
        assert!((machine.line_time(bytes) - lines * 1e-9).abs() < 1e-18, "{bytes}: {}", machine.line_time(bytes));
    }
}

/// What is written is found further than what is read.
#[test]
fn writes_have_a_reach_of_their_own() {
    let mut machine = Machine::default();
    let capacity = machine.caches[2].capacity;
    machine.caches[2].write_reach = 3.0 * capacity;
    let bandwidth = machine.bandwidth(2.0 * capacity);
    assert_eq!(bandwidth.read, machine.memory.read);
    let seconds = machine.local_write_time(2.0 * capacity);
    assert!((seconds / (capacity / 24e9 + capacity / 16e9) - 1.0).abs() < 1e-12);
}
