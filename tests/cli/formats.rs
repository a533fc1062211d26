//! File formats as scripts and `fuseline convert` meet them.

use crate::command::Folder;

/// What `print(sum(X))` and such say about a matrix, so that equal lines mean equal matrices.
const DESCRIBE: &str =
    "print(nrow(X) + \" \" + ncol(X) + \" \" + sum(X) + \" \" + sum(X * X) + \" \" + as.scalar(X[2, 3]))\n";

#[test]
fn scripts_write_and_read_every_format() {
    for name in ["x.csv", "x.tsv", "x.mtx", "x.npy", "x.libsvm", "x.ijv", "x.csv.gz", "x.mtx.gz", "x.txt.gz", "x.bin"] {
        let folder = Folder::new();
        let write = format!(
            "X = rand(rows=20, cols=7, min=-1, max=1, sparsity=0.5, seed=3) / 3\nwrite(X, \"{name}\")\n{DESCRIBE}"
        );
        let expected = folder.script(&write, &[]).quiet();
        let read = format!("X = read(\"{name}\")\n{DESCRIBE}");
        assert_eq!(folder.script(&read, &[]).quiet(), expected, "{name}");
    }
}

#[test]
fn files_without_metadata_are_read_by_their_names() {
    let folder = Folder::new();
    folder
        .write("x.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n% comment\n3 3 3\n1 1 1\n3 2 5\n3 3 2\n");
    folder.write("x.csv", "1,0,0\n0,0,5\n0,5,2\n");
    folder.write("x.svm", "0 1:1\n5\n2 2:5\n");
    folder.write("x.ijv", "3 3 2\n1 1 1\n2 3 5\n3 2 5\n");
    for (name, arguments) in [("x.mtx", ""), ("x.csv", ""), ("x.svm", ""), ("x.ijv", ", rows=3, cols=3")] {
        let script = format!("X = read(\"{name}\"{arguments})\n{DESCRIBE}");
        assert_eq!(folder.script(&script, &[]).quiet(), "3 3 13.0 55.0 5.0\n", "{name}");
    }
}

#[test]
fn options_of_csv_come_from_arguments_or_metadata() {
    let folder = Folder::with("x.data", "a;b;c\n1;NA;\n4;5;6\n");
    let text = "X = read(\"x.data\", format=\"csv\", header=TRUE, sep=\";\", fill=TRUE, naStrings=\"NA\")\n\
        print(as.scalar(X[2, 3]) + \" \" + as.scalar(X[1, 3]) + \" \" + as.scalar(X[1, 2]))\n";
    assert_eq!(folder.script(text, &[]).quiet(), "6.0 0.0 NaN\n");
    folder.write(
        "x.data.mtd",
        "{\"data_type\": \"matrix\", \"format\": \"csv\", \"header\": true, \"sep\": \";\", \"fill\": true, \"default\": 7, \
         \"naStrings\": [\"NA\"], \"rows\": 2, \"cols\": 3, \"nnz\": -1}",
    );
    let text = "X = read(\"x.data\")\nprint(as.scalar(X[1, 3]) + \" \" + as.scalar(X[1, 2]))\n";
    assert_eq!(folder.script(text, &[]).quiet(), "7.0 NaN\n");
}

/// Without `data_type` among the arguments, the metadata tells scalars from matrices.
#[test]
fn metadata_tells_scalars_from_matrices() {
    let folder = Folder::new();
    let write = "write(2.5, \"double\")\nwrite(7, \"integer\")\nwrite(1 < 2, \"boolean\")\nwrite(\"two words\", \"string\")\n\
        write(matrix(3, rows=2, cols=2), \"matrix\", description=\"threes\")\n";
    assert_eq!(folder.script(write, &[]).quiet(), "");
    assert!(folder.read("matrix.mtd").contains("\"description\": \"threes\""));
    let read = "a = read(\"double\")\nb = read(\"integer\")\nc = read(\"boolean\")\nd = read(\"string\")\nM = read(\"matrix\")\n\
        if (c) print(d + \": \" + (a * b + sum(M)))\n";
    for mode in ["base", "gen"] {
        assert_eq!(folder.script(read, &["--mode", mode]).quiet(), "two words: 29.5\n");
    }
    let message = folder.script("x = read(\"string\") %*% matrix(1, rows=1, cols=1)\nprint(sum(x))\n", &[]).message();
    assert!(message.contains("script.dml:1:"), "{message}");
}

/// A file that the script itself turns into a scalar is described only after the script was compiled.
#[test]
fn files_that_change_their_type_are_told() {
    let folder = Folder::new();
    let text = "write(1, \"x\")\nprint(read(\"x\", data_type=\"scalar\") + 1)\nX = read(\"x\")\nprint(sum(X))\n";
    let message = folder.script(text, &[]).message();
    assert!(message.contains("x holds a scalar, where a matrix was expected; say data_type=\"scalar\""), "{message}");
    assert!(message.contains("script.dml:3:5"), "{message}");
}

#[test]
fn errors_name_file_line_and_column() {
    let message = |name: &str, content: &[u8]| {
        let folder = Folder::with(name, content);
        folder.script(&format!("X = read(\"{name}\")\nprint(sum(X))\n"), &[]).message()
    };
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    for (name, content, expected) in [
        ("x.csv", "1,2\n3,4,5\n".to_owned(), "x.csv:2:5: the row has 3 cells, those before have 2"),
        ("x.mtx", format!("{banner}2 2 1\n3 1 1\n"), "x.mtx:3:1: the row number 3 is not within 1 to 2"),
        ("x.mtx", format!("{banner}9 9 1000000000000000000\n"), "the file ends after 0"),
        ("x.mtx", format!("{banner}1000000000000000 9 0\n"), "1000000000000000 rows are declared"),
        ("x.svm", "1 0:1\n".to_owned(), "x.svm:1:3: the index 0"),
        ("x.npy", "numpy".to_owned(), "x.npy: byte 5: the file ends within its header"),
        ("x.npz", "PK".to_owned(), "x.npz: not a readable archive of arrays"),
        ("x.csv.gz", "\u{1f}".to_owned(), "x.csv.gz:1:1:"),
    ] {
        let message = message(name, content.as_bytes());
        assert!(message.contains(expected) && message.contains("script.dml:1:5"), "{message}");
    }
    let message = message("x.csv.gz", b"\x1f\x8bdamaged data");
    assert!(message.contains("cannot read x.csv.gz"), "{message}");
}

#[test]
fn convert_changes_the_format() {
    let folder = Folder::with("a.csv", "x;y\n1;0.5\n0;-2\n");
    assert_eq!(folder.run(&["convert", "a.csv", "b.mtx", "--header", "--sep", ";"]).quiet(), "");
    assert_eq!(folder.read("b.mtx"), "%%MatrixMarket matrix array real general\n2 2\n1\n0\n0.5\n-2\n");
    for (input, output) in
        [("b.mtx", "c.npy"), ("c.npy", "d.csv.gz"), ("d.csv.gz", "e.ijv"), ("e.ijv", "f.svm"), ("f.svm", "g.csv")]
    {
        assert_eq!(folder.run(&["convert", input, output]).quiet(), "", "{input}");
    }
    assert_eq!(folder.read("g.csv"), "1,0.5\n0,-2\n");
    assert!(folder.read("g.csv.mtd").contains("\"nnz\": 3"));
    assert_eq!(folder.run(&["convert", "g.csv", "h", "--to", "text"]).quiet(), "");
    assert_eq!(folder.read("h"), "1 1 1\n1 2 0.5\n2 2 -2\n");
    folder.write("i", "1 1 1\n");
    assert_eq!(folder.run(&["convert", "i", "j.csv", "--from", "text", "--rows", "1", "--cols", "2"]).quiet(), "");
    assert_eq!(folder.read("j.csv"), "1,0\n");
}

#[test]
fn convert_says_what_is_wrong() {
    let folder = Folder::with("a.csv", "1,x\n");
    let message = |arguments: &[&str]| folder.run(&[&["convert"], arguments].concat()).message();
    assert_eq!(
        message(&["a.csv", "b.npy"]),
        "error: a.csv:1:3: column 2: `x` is not a number (if the first line names the columns, say header=TRUE)\n"
    );
    assert_eq!(message(&["b.csv", "c.npy"]), "error: cannot open b.csv: No such file or directory (os error 2)\n");
    folder.write("b.csv", "1,2\n");
    assert_eq!(message(&["b.csv", "c.npz"]), "error: c.npz: archives of arrays can only be read; write npy\n");
    let unknown = "error: b.csv: the format `arff` is not known; csv, text, mm, libsvm, npy, npz, binary are\n";
    assert_eq!(message(&["b.csv", "c", "--from", "arff"]), unknown);
    assert!(message(&["b.csv"]).contains("<OUT>"));
}

/// Without other words SystemDS writes commas, and tells nobody.
#[test]
fn libsvm_has_the_separators_that_are_said() {
    let folder = Folder::with("a.libsvm", "2.0,2:1.5\n0.0\n3.0,1:7.0,2:1.0\n");
    folder.write("a.libsvm.mtd", "{\"data_type\": \"matrix\", \"rows\": 3, \"cols\": 4, \"format\": \"libsvm\"}");
    folder.write("b", "2;2=1.5\n");
    let text = "print(toString(read(\"a.libsvm\"), decimal=1))\n\
        B = read(\"b\", format=\"libsvm\", sep=\";\", indSep=\"=\")\nprint(toString(B, decimal=1))\n\
        write(B, \"c\", format=\"libsvm\", sep=\",\", indSep=\"/\")\nprint(sum(read(\"c\") != B))\n";
    assert_eq!(
        folder.script(text, &[]).quiet(),
        "0.0 1.5 0.0 2.0\n0.0 0.0 0.0 0.0\n7.0 1.0 0.0 3.0\n\n0.0 1.5 2.0\n\n0.0\n"
    );
    assert_eq!(folder.read("c"), "2,2/1.5\n");
}

/// A file that SystemDS wrote, by its name or as the part of a directory.
#[test]
fn binary_blocks_of_systemds_are_read_and_converted() {
    let blocks = include_bytes!("../../matrix/src/io/tests/blocks/plain.bin");
    let metadata = "{\"data_type\": \"matrix\", \"value_type\": \"double\", \"rows\": 6, \"cols\": 9, \"rows_in_block\": 4, \
        \"cols_in_block\": 4, \"nnz\": 23, \"format\": \"binary\", \"author\": \"x\"}";
    let folder = Folder::new();
    folder.write("x", blocks);
    folder.write("x.mtd", metadata);
    std::fs::create_dir(folder.path("parts")).unwrap();
    folder.write("parts/0-m-00000", blocks);
    let text = "X = read(\"x\")\nP = read(\"parts\", format=\"binary\", rows=6, cols=9, rows_in_block=4, cols_in_block=4)\n\
        print(as.scalar(X[1, 5]) + \" \" + as.scalar(P[4, 4]) + \" \" + sum(replace(target=X - P, pattern=NaN, replacement=0)))\n";
    assert_eq!(folder.script(text, &[]).quiet(), "0.5 44.0 0.0\n");
    // Neither metadata nor a format: the content says what it is, and the only block how large.
    let end = 134 + u32::from_be_bytes(*blocks[126..].first_chunk().expect("a length")) as usize;
    folder.write("alone", &blocks[..end]);
    let text = "print(sum(read(\"alone\")) + \" \" + sum(read(\"alone\", rows=4, cols=4)))\n";
    assert_eq!(folder.script(text, &[]).quiet(), "440.0 440.0\n");
    assert_eq!(folder.run(&["convert", "alone", "alone.csv"]).quiet(), "");
    assert_eq!(folder.read("alone.csv"), "11,12,13,14\n21,22,23,24\n31,32,33,34\n41,42,43,44\n");
    assert_eq!(folder.run(&["convert", "x", "x.csv"]).quiet(), "");
    assert!(folder.read("x.csv").starts_with("11,12,13,14,0.5,0,-1.5,0,0\n21,"), "{}", folder.read("x.csv"));
    let message = folder.script("print(sum(read(\"parts\", format=\"binary\", rows=6, cols=9)))", &[]).message();
    assert!(
        message.contains("parts/0-m-00000: byte 126: a block of 4 x 4 cells stands where one of 6 x 9"),
        "{message}"
    );
}

/// Some programs begin each text with a mark that it is UTF-8.
#[test]
fn metadata_may_begin_with_the_mark_of_utf_8() {
    let folder = Folder::with("x.csv", "a;b\n1;2\n");
    let describe = |json: &str| folder.write("x.csv.mtd", format!("\u{feff}{json}"));
    describe("{\"data_type\": \"matrix\", \"format\": \"csv\", \"header\": true, \"sep\": \";\"}");
    assert_eq!(folder.script("print(sum(read(\"x.csv\")))\n", &[]).quiet(), "3.0\n");
    describe("{\"data_type\": \"frame\", \"format\": \"csv\", \"header\": true, \"sep\": \";\"}");
    let text = "F = read(\"x.csv\")\nprint(toString(colnames(F)[1, 2]))\n";
    assert!(folder.script(text, &[]).quiet().contains("\nb\n"), "the front end knows that it is a frame");
    folder.write("y", "\u{feff}7");
    folder.write("y.mtd", "\u{feff}{\"data_type\": \"scalar\", \"value_type\": \"int\"}");
    assert_eq!(folder.script("y = read(\"y\")\nprint(y)\n", &[]).quiet(), "7\n");
}
