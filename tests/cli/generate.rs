//! `fuseline generate`: files that scripts read, and mistakes that are told before any work is done.

use crate::command::Folder;

#[test]
fn scripts_read_what_is_generated() {
    let folder = Folder::new();
    let arguments = [
        "generate",
        "classes",
        "--rows",
        "500",
        "--cols",
        "20",
        "--classes",
        "3",
        "--out",
        "x.bin",
        "--labels",
        "y.csv",
    ];
    assert_eq!(folder.run(&arguments).quiet(), "");
    let script = "X = read(\"x.bin\")\ny = read(\"y.csv\")\n\
        print(nrow(X) + \" \" + ncol(X) + \" \" + nrow(y) + \" \" + min(y) + \" \" + max(y) + \" \" + (max(abs(X)) <= 1))\n";
    assert_eq!(folder.script(script, &[]).quiet(), "500 20 500 1.0 3.0 TRUE\n");
    assert!(folder.read("x.bin.mtd").contains("\"description\": \"classes, scale 1, seed 1\""));
    assert!(folder.read("y.csv.mtd").contains("\"description\": \"labels of classes, scale 1, seed 1\""));
}

#[test]
fn look_alikes_have_their_own_shape() {
    let folder = Folder::new();
    for (kind, scale, expected) in [
        ("airline78", "0.0001", "1446 29\n"),
        ("mnist", "0.01", "600 784\n"),
        ("netflix", "0.01", "4802 178\n"),
        ("amazon", "0.001", "8026 2330\n"),
    ] {
        assert_eq!(folder.run(&["generate", kind, "--scale", scale, "--out", "x.bin"]).quiet(), "");
        let script = "X = read(\"x.bin\")\nprint(nrow(X) + \" \" + ncol(X))\n";
        assert_eq!(folder.script(script, &[]).quiet(), expected, "{kind}");
    }
}

#[test]
fn names_tell_formats_and_binary_is_the_default() {
    let folder = Folder::new();
    for name in ["x.csv", "x.npy", "x.mtx", "x.bin.gz", "x"] {
        let arguments = ["generate", "graph", "--rows", "50", "--seed", "3", "--out", name];
        assert_eq!(folder.run(&arguments).quiet(), "");
        let script = format!("G = read(\"{name}\")\nprint(round(sum(G) * 1000) + \" \" + (sum(G * G) > 1))\n");
        assert_eq!(folder.script(&script, &[]).quiet(), "50000.0 TRUE\n", "{name}");
    }
    assert!(folder.read("x.mtd").contains("\"format\": \"binary\""));
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let folder = Folder::new();
    for (threads, name) in [("1", "one.csv"), ("2", "two.csv")] {
        let arguments = ["generate", "mnist", "--scale", "0.005", "--threads", threads, "--out", name];
        assert_eq!(folder.run(&arguments).quiet(), "");
    }
    assert_eq!(folder.read("one.csv"), folder.read("two.csv"));
}

#[test]
fn mistakes_are_told_before_any_work_is_done() {
    let folder = Folder::new();
    let message = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        folder.run(&[&["generate"], &arguments[..]].concat()).message()
    };
    assert!(message("normal --rows 5 --cols 5").contains("--out <FILE>"));
    assert!(message("airline --out x.bin").contains("there is no such kind; there are uniform, normal, classes"));
    assert_eq!(message("normal --rows 5 --out x.bin"), "error: data of kind `normal` needs cols\n");
    let no_labels = "error: data of kind `normal` has no labels\n";
    assert_eq!(message("normal --rows 5 --cols 5 --out x.bin --labels y.bin"), no_labels);
    let same_file = "error: data and labels need a file each\n";
    assert_eq!(message("classes --rows 5 --cols 5 --out x.bin --labels x.bin"), same_file);
    let only_read = "error: x.npz: archives of arrays can only be read; write npy\n";
    assert_eq!(message("normal --rows 1000000 --cols 1000000 --out x.npz"), only_read);
    assert_eq!(message("mnist --cols 30 --out x.bin"), "error: data of kind `mnist` has 784 columns\n");
    let sparsity = message("normal --rows 5 --cols 5 --sparsity 1.5 --out x.bin");
    assert_eq!(sparsity, "error: sparsity is 1.5, where a share above 0 and up to 1 is needed\n");
    let memory = message("normal --rows 1000000000 --cols 1000000 --out x.bin");
    assert!(memory.starts_with("error: a 1000000000 x 1000000 matrix with about 1000000000000000 non-zeros takes"));
    assert!(!folder.path("x.bin").exists() && !folder.path("x.npz").exists());
}
