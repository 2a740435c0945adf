use super::super::tests::graph;
use super::*;

/// Builds a graph from lines such as `b after a: x.rs y.rs`; each task gets a completion condition.
fn with_files(text: &str) -> Vec<Task> {
    let one = |line: &str| {
        let (words, files) = line.split_once(':').unwrap_or((line, ""));
        let mut task = graph(words).remove(0);
        task.completion_condition = "it works".to_owned();
        task.files = files.split_whitespace().map(str::to_owned).collect();
        task
    };
    text.lines().map(one).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(advice(&with_files(text)), expected, "{text}");
}

#[test]
fn tasks_that_could_meet_in_one_file_are_named() {
    check("a: x\nb: y\nc after a: x z", &[]);
    check(
        "a: x\nb: ./x",
        &["a and b could run in parallel, and both change `x`; make one depend on the other"],
    );
    // The tasks are in different waves, but nothing keeps them apart.
    check(
        "a: y\nb after a: x\nc: x z",
        &["c and b could run in parallel, and both change `x`; make one depend on the other"],
    );
    check("a: x\nb after a\nc after b: x y", &[]);
    check("a done: x\nb: x", &[]);
}

#[test]
fn two_tasks_that_meet_in_many_files_are_named_once() {
    assert_eq!(advice(&with_files("a: x y z\nb: x y z")).len(), 1);
}

#[test]
fn tasks_without_a_condition_are_named_up_to_a_few() {
    let said = |text: &str| advice(&graph(text));
    assert_eq!(
        said("a\nb done"),
        ["a has no `completion_condition`; write how to tell that it is done"]
    );
    assert_eq!(
        said("a\nb\nc\nd\ne\nf\ng"),
        ["a, b, c, d, e and 2 more have no `completion_condition`; write how to tell that it is \
             done"]
    );
}

#[test]
fn a_member_under_another_name_is_named_with_the_one_that_is_read() {
    let mut tasks = with_files("a");
    tasks[0].extra.insert("depends_on".to_owned(), "b".into());
    tasks[0].extra.insert("estimate".to_owned(), "2h".into());
    assert_eq!(
        advice(&tasks),
        ["nothing reads `depends_on` of a; if `deps` was meant, write that"]
    );
}

#[test]
fn of_much_of_one_kind_only_some_is_said() {
    let text: String = (0..12).map(|n| format!("a{n}: f{n}\nb{n}: f{n}\n")).collect();
    let said = advice(&with_files(&text));
    assert_eq!(said.len(), 6, "{said:?}");
    assert_eq!(said[5], "7 more files that two parallel tasks could change");
}

#[test]
fn a_long_way_around_is_a_way() {
    let mut text = String::from("t0: x\n");
    (1..6_000).for_each(|n| text.push_str(&format!("t{n} after t{}\n", n - 1)));
    check(&format!("{text}z after t5999: x"), &[]);
}

#[test]
fn tasks_on_a_circle_are_left_to_the_flaws() {
    check("a after b: x\nb after a: x y", &[]);
}
