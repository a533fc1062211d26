//! Which outputs survive.

use super::*;
use crate::testing::nested_loops;
use fuseline_ir::program;

/// The outputs of all blocks that are left, in order of the text form.
fn outputs(text: &str, results: &[&str]) -> Vec<String> {
    let mut program = program::parse(text).expect("a program");
    remove_dead_outputs(&mut program, &results.iter().map(|&name| name.to_owned()).collect());
    let printed = program.to_string();
    let writes = printed.lines().filter_map(|line| line.trim().strip_prefix("write "));
    writes.filter_map(|line| line.split('"').nth(1)).filter(|name| *name != "_predicate").map(str::to_owned).collect()
}

const BODY: &str = r#"program {
  block {
    %0 = literal 1.0 : f64
    %1 = literal 2.0 : f64
    write "a" %0
    write "b" %1
  }
  block {
    %0 = read "a" : f64
    %1 = plus %0, %0 : f64
    write "c" %1
    write "d" %0
  }
}
"#;

#[test]
fn outputs_that_nothing_reads_are_dropped() {
    assert_eq!(outputs(BODY, &["c"]), ["a", "c"]);
    assert_eq!(outputs(BODY, &["b", "d"]), ["a", "b", "d"]);
    assert_eq!(outputs(BODY, &[]), Vec::<String>::new());
}

const LOOP: &str = r#"program {
  block {
    %0 = literal 1.0 : f64
    write "carried" %0
    write "temporary" %0
    write "after" %0
  }
  while {
    %0 = read "carried" : f64
    %1 = literal 9.0 : f64
    %2 = lt %0, %1 : bool
    write "_predicate" %2
  } do {
    block {
      %0 = read "carried" : f64
      %1 = plus %0, %0 : f64
      write "temporary" %1
      write "carried" %1
    }
  }
}
"#;

#[test]
fn a_loop_keeps_what_its_next_iteration_reads() {
    let kept = outputs(LOOP, &["after"]);
    assert_eq!(kept.iter().filter(|name| *name == "carried").count(), 2, "{kept:?}");
    assert!(!kept.contains(&"temporary".to_owned()), "{kept:?}");
    assert!(kept.contains(&"after".to_owned()));
    let kept = outputs(LOOP, &["temporary"]);
    assert_eq!(kept.iter().filter(|name| *name == "temporary").count(), 2, "it may leave the loop at once: {kept:?}");
}

#[test]
fn work_does_not_multiply_with_each_level_of_loops() {
    let visits = |depth: usize| {
        let mut program = nested_loops(depth);
        let visits = remove(&mut program, &BTreeSet::from(["sum".to_owned()]));
        assert!(!program.to_string().contains("unread"), "{program}");
        visits
    };
    let (some, twice) = (visits(30), visits(60));
    assert!(some <= 30 * 16, "{some} blocks for 30 levels");
    assert!(twice <= 2 * some, "{some} blocks for 30 levels, {twice} for 60");
}
