//! `write` and `read`: what goes out comes back, and the formats are what other programs expect.

use crate::command::Folder;

/// Bits survive: doubles are written with as many digits as they need.
#[test]
fn matrices_come_back_bit_for_bit() {
    for format in ["csv", "text"] {
        let folder = Folder::new();
        let write = format!(
            "X = rand(rows=37, cols=5, min=-1, max=1, seed=3) / 3\n\
             S = rand(rows=50, cols=40, sparsity=0.05, seed=4)\n\
             write(X, \"x.data\", format=\"{format}\")\n\
             write(S, \"s.data\", format=\"{format}\")\n"
        );
        assert_eq!(folder.script(&write, &[]).quiet(), "");
        let compare = "X = read(\"x.data\")\n\
            S = read(\"s.data\")\n\
            print(nrow(X) + \" \" + ncol(X) + \" \" + nrow(S) + \" \" + ncol(S))\n\
            print(sum(X != rand(rows=37, cols=5, min=-1, max=1, seed=3) / 3))\n\
            print(sum(S != rand(rows=50, cols=40, sparsity=0.05, seed=4)))\n";
        assert_eq!(folder.script(compare, &[]).quiet(), "37 5 50 40\n0.0\n0.0\n", "{format}");
    }
}

#[test]
fn scalars_come_back_with_their_types() {
    let folder = Folder::new();
    let write = "write(0.1 + 0.2, \"double\")\nwrite(7 * 6, \"integer\")\n\
        write(1 < 2, \"boolean\")\nwrite(\"two words\", \"string\")\n";
    assert_eq!(folder.script(write, &[]).quiet(), "");
    let types = [("double", "double"), ("integer", "int"), ("boolean", "boolean"), ("string", "string")];
    let reads = types.map(|(file, value_type)| {
        format!("print(read(\"{file}\", data_type=\"scalar\", value_type=\"{value_type}\"))\n")
    });
    let expected = "0.30000000000000004\n42\nTRUE\ntwo words\n";
    assert_eq!(folder.script(&reads.concat(), &[]).quiet(), expected);
    let reads = types.map(|(file, _)| format!("print(read(\"{file}\", data_type=\"scalar\"))\n"));
    assert_eq!(folder.script(&reads.concat(), &[]).quiet(), expected, "the metadata beside tells the type");
}

#[test]
fn files_have_the_formats_of_systemml() {
    let folder = Folder::new();
    let text = "X = matrix(\"1 0 0.5 -2\", rows=2, cols=2)\n\
        write(X, \"x.csv\", format=\"csv\")\n\
        write(X, \"x.ijv\", format=\"text\")\n";
    assert_eq!(folder.script(text, &[]).quiet(), "");
    assert_eq!(folder.read("x.csv"), "1,0\n0.5,-2\n");
    assert_eq!(folder.read("x.ijv"), "1 1 1\n2 1 0.5\n2 2 -2\n");
    for file in ["x.csv", "x.ijv"] {
        let metadata: serde_json::Value = serde_json::from_str(&folder.read(&format!("{file}.mtd"))).expect("JSON");
        assert_eq!((&metadata["rows"], &metadata["cols"], &metadata["nnz"]), (&2.into(), &2.into(), &3.into()));
        assert_eq!(metadata["data_type"], "matrix");
    }
}

#[test]
fn what_read_is_told_describes_the_file() {
    let folder = Folder::with("x.csv", "a;b;c\n1;;3\n4;5;6\n");
    let text = "X = read(\"x.csv\", format=\"csv\", header=TRUE, sep=\";\", fill=TRUE, default=-1)\n\
        print(nrow(X) + \" \" + ncol(X))\nprint(sum(X))\nprint(as.scalar(X[1, 2]))\n";
    assert_eq!(folder.script(text, &[]).quiet(), "2 3\n18.0\n-1.0\n");
}

/// The names of a folder's files that begin with a dot: those of files being written.
#[cfg(unix)]
fn temporaries(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(folder.path(".")).expect("the folder is ours");
    let names = files.map(|file| file.expect("readable").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.')).collect()
}

/// Killed again and again while it writes files of two shapes by the same name, each with metadata that contradict the
/// other: at any time a file and its metadata agree, and the next run removes what was being written.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_leaves_files_that_can_be_read_and_the_next_one_tidies_up() {
    let folder = Folder::new();
    folder.write(
        "write.dml",
        "while (TRUE) {\n\
         write(matrix(1, rows=40, cols=3), \"x.csv\", format=\"csv\")\n\
         write(matrix(2, rows=7, cols=50), \"x.csv\", format=\"csv\")\n\
         }\n",
    );
    folder
        .write("read.dml", "X = read(\"x.csv\")\nprint(nrow(X) + \" \" + ncol(X) + \" \" + min(X) + \" \" + max(X))\n");
    let mut left = 0;
    for turn in 0..12 {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fuseline"));
        command.args(["run", "write.dml", "--backend", "interp"]).current_dir(folder.path("."));
        let mut child = command.env("XDG_CACHE_HOME", "/dev/null").spawn().expect("the program starts");
        while !folder.path("x.csv").exists() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_micros(700 * turn + 300));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        left += temporaries(&folder).len();
        let printed = folder.run(&["run", "read.dml"]).quiet();
        assert!(["40 3 1.0 1.0\n", "7 50 2.0 2.0\n"].contains(&printed.as_str()), "turn {turn}: {printed}");
    }
    println!("{left} files were left behind");
    assert_eq!(folder.script("write(matrix(3, rows=2, cols=2), \"x.csv\", format=\"csv\")", &[]).quiet(), "");
    assert_eq!(temporaries(&folder), [""; 0]);
    assert_eq!(folder.run(&["run", "read.dml"]).quiet(), "2 2 3.0 3.0\n");
}

/// A file that a killed run was writing, and one that somebody is still writing.
#[cfg(unix)]
#[test]
fn files_that_somebody_is_still_writing_are_left_alone() {
    let folder = Folder::new();
    let write = "write(matrix(3, rows=2, cols=2), \"x.csv\", format=\"csv\")";
    // The names are those that the program takes itself.
    folder.write("slow.dml", "for (i in 1:100000) write(matrix(i, rows=100, cols=10), \"x.csv\", format=\"csv\")\n");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_fuseline"));
    command.args(["run", "slow.dml", "--backend", "interp"]).current_dir(folder.path("."));
    let mut child = command.env("XDG_CACHE_HOME", "/dev/null").spawn().expect("the program starts");
    for _ in 0..5 {
        assert_eq!(folder.script(write, &[]).quiet(), "");
        assert!(child.try_wait().expect("it is ours").is_none(), "the other run goes on writing");
    }
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert_eq!(folder.script(write, &[]).quiet(), "");
    assert_eq!((temporaries(&folder).len(), folder.read("x.csv")), (0, "3,3\n3,3\n".to_owned()));
}
