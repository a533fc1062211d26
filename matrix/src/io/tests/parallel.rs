//! Files of many blocks: values and errors are the same for any number of threads.

use super::*;
use std::fmt::Write as _;

/// More than two batches of blocks for two threads.
const ROWS: usize = 300_000;

fn in_pool<T: Send>(threads: usize, read: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(read)
}

/// A cell that depends on its place, with a few digits.
fn cell(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 10_007) as f64 / 8.0
}

fn csv(rows: usize) -> String {
    let mut text = String::new();
    for row in 0..rows {
        writeln!(text, "{},{},\"{}\"", cell(row, 0), cell(row, 1), cell(row, 2)).unwrap();
    }
    text
}

#[test]
fn rows_of_all_blocks_are_read_in_order() {
    let text = csv(ROWS);
    assert!(text.len() > 9 << 19);
    let expected: MatrixBlock = Dense::from_fn(ROWS, 3, cell).into();
    for threads in [1, 2, 3, 7] {
        assert_eq!(in_pool(threads, || read("a.csv", &text, &none())).unwrap(), expected, "{threads}");
    }
    assert_eq!(in_pool(2, || read("a.csv.gz", gzip(text.as_bytes()), &none())).unwrap(), expected);
    let with_returns = text.replace('\n', "\r\n");
    assert_eq!(in_pool(2, || read("a.csv", &with_returns, &none())).unwrap(), expected);
}

#[test]
fn the_first_error_is_reported_with_its_line() {
    let text = csv(ROWS);
    for wrong_line in [1, 70_000, 137_777, ROWS] {
        let mut lines: Vec<&str> = text.lines().collect();
        lines[wrong_line - 1] = "1,2,x";
        // A later error must not win, even if its block is parsed first.
        if let Some(later) = lines.get_mut(wrong_line + 30_000) {
            *later = "1,2,y";
        }
        let wrong = lines.join("\n");
        for threads in [1, 2, 3] {
            let message = in_pool(threads, || failure("a.csv", &wrong, &none()));
            assert!(message.starts_with(&format!("a.csv:{wrong_line}:5: column 3: `x`")), "{message}");
        }
    }
}

/// Damaged compressed data is told, but not before what is wrong with the lines ahead of the damage.
#[test]
fn errors_come_in_the_order_of_the_file() {
    let text = csv(ROWS);
    let whole = gzip(text.as_bytes());
    let damaged = &whole[..whole.len() / 2];
    let with_error = gzip(text.replacen("1,", "x,", 1).as_bytes());
    for threads in [1, 2, 3, 7] {
        let message = in_pool(threads, || failure("a.csv.gz", damaged, &none()));
        assert!(message.starts_with("cannot read a.csv.gz: "), "{message}");
        let message = in_pool(threads, || failure("a.csv.gz", &with_error[..with_error.len() / 2], &none()));
        assert!(message.contains("is not a number"), "{message}");
    }
}

#[test]
fn entries_of_all_blocks_are_read() {
    let mut text = format!("%%MatrixMarket matrix coordinate real general\n{ROWS} 9 {ROWS}\n");
    for row in 0..ROWS {
        // Scattered over rows and columns, in no order.
        let scattered = row * 7919 % ROWS;
        writeln!(text, "{} {} {}", scattered + 1, row % 9 + 1, row + 1).unwrap();
    }
    let expected = in_pool(1, || read("a.mtx", &text, &none())).unwrap();
    assert_eq!(expected.nnz(), ROWS);
    assert_eq!(expected.get(7919, 1), 2.0);
    for threads in [2, 3] {
        assert_eq!(in_pool(threads, || read("a.mtx", &text, &none())).unwrap(), expected, "{threads}");
    }
    let surplus = text.replacen(&format!(" {ROWS}\n"), " 200000\n", 1);
    let message = failure("a.mtx", surplus, &none());
    assert_eq!(message, "a.mtx:200003:1: the header promises 200000 lines of data, this is one more");
}

/// Lines that are longer than a block, between short ones.
#[test]
fn lines_of_any_length_are_cut_right() {
    let long = format!("{}\n", vec!["1.25"; 300_000].join(","));
    let short = |text: &str| text.repeat(3);
    let wide = read("a.csv", short(&long), &none()).unwrap();
    assert_eq!((wide.dims(), wide.get(2, 299_999)), ((3, 300_000), 1.25));
    let libsvm =
        format!("1 2:5\n{}\n7 1:1\n", (1..200_000).fold("3".to_owned(), |line, index| line + &format!(" {index}:2")));
    for content in [libsvm.clone(), short(&libsvm)] {
        let block = read("a.svm", &content, &none()).unwrap();
        assert_eq!(
            (block.get(0, 1), block.get(1, 199_998), block.get(1, 199_999), block.get(2, 0)),
            (5.0, 2.0, 3.0, 1.0)
        );
    }
    let blanks = "\n".repeat(2 << 20);
    assert_eq!(read("a.csv", format!("{blanks}1,2\n{blanks}3,4{blanks}"), &none()).unwrap().dims(), (2, 2));
}

/// Files whose last block ends exactly where a block ends.
#[test]
fn files_of_whole_blocks_are_read() {
    for length in [(1 << 19) - 2, 1 << 19, (1 << 19) + 2, 1 << 20] {
        let text = "1\n".repeat(length / 2);
        assert_eq!(read("a.csv", &text, &none()).unwrap().rows(), length / 2);
        assert_eq!(read("a.csv", &text[..length - 1], &none()).unwrap().rows(), length / 2);
    }
}
