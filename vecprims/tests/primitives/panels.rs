//! Panels hold what they say, and refuse what they do not hold.

use fuseline_vecprims::{PANEL, Panels, Tile};

#[test]
fn panels_hold_the_transpose_and_zeros() {
    let (cols, inner) = (30, 3);
    let rows: Vec<f64> = (0..cols * 5).map(|value| value as f64 + 1.0).collect();
    let panels = Panels::transposing(Tile::new(&rows, 5), cols, inner);
    assert_eq!(panels.inner(), inner);
    for (index, &value) in panels.covering(0, 2 * PANEL).iter().enumerate() {
        let (panel, k, c) = (index / PANEL / inner, index / PANEL % inner, index % PANEL);
        let column = panel * PANEL + c;
        assert_eq!(value, if column < cols { rows[column * 5 + k] } else { 0.0 }, "{column}, {k}");
    }
}

#[test]
#[should_panic(expected = "begins a panel")]
fn products_begin_with_a_panel() {
    let _ = Panels::transposing(Tile::new(&[0.0; 64], 1), 64, 1).covering(8, 8);
}

#[test]
fn extents_that_wrap_are_refused() {
    // 2^60 columns of 16 values have 2^64 cells, as has the fourth part of 2^62 columns.
    let wide = std::panic::catch_unwind(|| Panels::transposing(Tile::new(&[0.0; 16], 0), 1 << 60, 16));
    assert!(wide.is_err());
    let panels = Panels::transposing(Tile::new(&[0.0; 64], 4), 16, 4);
    let multiple = (1 << 62_usize) / PANEL * PANEL;
    for (first, len) in [(0, 1 << 62), (0, usize::MAX), (multiple, 8), (0, 1 << 60), (24 << 40, 0)] {
        assert!(std::panic::catch_unwind(|| panels.covering(first, len)).is_err(), "{first}, {len}");
    }
}

#[test]
#[should_panic(expected = "columns from 24 on")]
fn products_end_within_the_panels() {
    let _ = Panels::transposing(Tile::new(&[0.0; 64], 1), 40, 1).covering(24, 30);
}
