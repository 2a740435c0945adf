use super::*;

#[test]
fn a_heading_of_a_task_has_a_label_and_a_name() {
    for (text, expected) in [
        ("Task 1: Add it", Some(("1", "Add it"))),
        ("**Task 2a: Add it**", Some(("2a", "Add it"))),
        ("task #3 - Add it", Some(("3", "Add it"))),
        ("ITERATION-4", Some(("4", ""))),
        ("Step 2.5. Add it", Some(("2.5", "Add it"))),
        ("Task 1) Add it_", Some(("1", "Add it"))),
        ("Task 1_b-c.d – Add it", Some(("1_b-c.d", "Add it"))),
        ("Task 1234567890123456: a", Some(("1234567890123456", "a"))),
        ("Task 12345678901234567: a", None),
        ("Task one: a", None),
        ("Task 1/2: a", None),
        ("Tasks 1: a", None),
        ("Task1: a", None),
        ("Task", None),
        ("Task ", None),
        ("A Task 1: b", None),
        ("Täsk 1", None),
    ] {
        assert_eq!(task_heading(text), expected, "{text}");
    }
}

#[test]
fn a_task_may_begin_with_its_id() {
    for (text, expected) in [
        ("T001 Add it", Some(("T001", "Add it"))),
        ("T001 [P] [US1] Add it", Some(("T001", "Add it"))),
        ("**US-001:** Add it", Some(("US-001", "Add it"))),
        ("**US-001**: Add it", Some(("US-001", "Add it"))),
        ("a1: Add it", Some(("a1", "Add it"))),
        ("1.2 Add it", Some(("1.2", "Add it"))),
        ("1. Add it", Some(("1", "Add it"))),
        ("1: Add it", Some(("1", "Add it"))),
        ("T-1: Add it", Some(("T-1", "Add it"))),
        ("T1_a.b-c: Add it", Some(("T1_a.b-c", "Add it"))),
        ("T1 [P]", Some(("T1", "[P]"))),
        ("T123456789012345 a", Some(("T123456789012345", "a"))),
        ("T1234567890123456 a", None),
        ("2 apples", None),
        ("a1 Add it", None),
        ("Add: it", None),
        ("T: it", None),
        ("T1/2: it", None),
        ("T001", None),
        ("T001  ", None),
        ("", None),
    ] {
        assert_eq!(leading_id(text), expected, "{text}");
    }
}

#[test]
fn what_a_line_depends_on_is_read_up_to_its_end() {
    for (line, expected) in [
        ("Depends on: Task 1", &["1"][..]),
        ("Add it (depends on T012, T013 and `T-4`) for 5", &["T012", "T013", "T-4"]),
        ("[DEPENDS ON 1 & 2] x", &["1", "2"]),
        ("depends on 1; then 2", &["1"]),
        ("depends on", &[]),
        ("it depends", &[]),
    ] {
        assert_eq!(dependencies(line), expected, "{line}");
    }
}

#[test]
fn a_heading_of_criteria_has_a_word_for_them() {
    for heading in [
        "Validation",
        "VERIFICATION steps",
        "Success criteria",
        "Commands",
        "The Definition of Done",
    ] {
        assert!(is_of_criteria(heading), "{heading}");
    }
    assert!(!is_of_criteria("Done") && !is_of_criteria(""));
}

#[test]
fn a_task_is_done_if_its_own_box_or_all_of_its_boxes_are_ticked() {
    let of = |text: &str| {
        let tasks = read(text).tasks;
        tasks.iter().map(|one| (one.is_ticked(), condition(one, "p"))).collect::<Vec<_>>()
    };
    let done = |text: &str| (true, text.to_owned());
    let open = |text: &str| (false, text.to_owned());
    for (text, expected) in [
        ("- [x] a\n", vec![done("")]),
        ("- [ ] a\n", vec![open("it is as `p`, line 1, says")]),
        ("- [x] a\n  - [ ] b\n", vec![done("each step is done (`p`, line 1): b")]),
        (
            "- [ ] a\n  - [x] b\n  - [ ] c\n  - [ ] d\n",
            vec![open("each step is done (`p`, line 1): c; d")],
        ),
        ("- [ ] a\n- [x] b\n", vec![open("it is as `p`, line 1, says"), done("")]),
        ("## Task 1: a\n- [x] b\n- [x] c\n", vec![done("")]),
        ("## Task 1: a\n- [x] b\n- [ ] c\n", vec![open("each step is done (`p`, line 1): c")]),
        ("## Task 1: a\n", vec![open("it is as `p`, line 1, says")]),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
}

#[test]
fn a_section_ends_a_task_of_its_level_and_a_deeper_one_does_not() {
    let shown = |text: &str| {
        let document = read(text);
        let task = |one: &BoxedTask<'_>| {
            let boxes: Vec<&str> = one.boxes.iter().map(|one| one.text).collect();
            format!("{} {}/{}: {}", one.line, one.section, one.title, boxes.join(" "))
        };
        let tasks: Vec<String> = document.tasks.iter().map(task).collect();
        let others: Vec<usize> = document.others.iter().map(|(line, _)| *line).collect();
        let criteria: Vec<usize> = document.criteria.iter().map(|line| line.number).collect();
        (document.title.to_owned(), tasks, others, criteria)
    };
    let text = "# A\n# B\n## Task 1: t\n### Notes\n- [ ] a\n## Validation\n- c\n- [ ] d\n### Task 2: u\n- [ ] e\n";
    assert_eq!(
        shown(text),
        (
            "A".to_owned(),
            vec!["3 /Task 1: t: a".to_owned(), "9 /Task 2: u: e".to_owned()],
            vec![8],
            vec![7],
        )
    );
    let text = "## S\n- [ ] a\n  - [ ] b\n- [ ] c\n# T\n### U\n- [ ] d\n";
    assert_eq!(
        shown(text),
        (
            "T".to_owned(),
            vec!["2 S/a: a b".to_owned(), "4 S/c: c".to_owned(), "7 U/d: d".to_owned()],
            vec![],
            vec![],
        )
    );
}

#[test]
fn lines_are_told_apart_at_their_bounds() {
    let kinds = |text: &str| {
        let lines = split_lines(text).into_iter();
        lines
            .map(|line| match line.kind {
                LineKind::Heading { level, text } => format!("h{level} {text}"),
                LineKind::Item { indent, text, .. } => format!("i{indent} {text}"),
                LineKind::Code => "code".to_owned(),
                LineKind::Text(text) => format!("t {text}"),
            })
            .collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("   # a", &["h1 a"][..]),
        ("    # a", &["t     # a"]),
        ("###### a ##", &["h6 a"]),
        ("####### a", &["t ####### a"]),
        ("#", &["h1 "]),
        ("#\ta", &["h1 a"]),
        ("123456789. a", &["i0 a"]),
        ("1234567890. a", &["t 1234567890. a"]),
        (". a", &["t . a"]),
        ("1 a", &["t 1 a"]),
        (" \t- a", &["i5 a"]),
        ("-a", &["t -a"]),
        ("<!-- a\nb\n--> c\nd", &["t d"]),
        ("<!-- a --> b\nc", &["t c"]),
        ("---\na\n...\nb", &["t b"]),
        ("---\na", &["t ---", "t a"]),
        ("~~~\na\n~~~\nb", &["code", "t b"]),
    ] {
        assert_eq!(kinds(text), expected, "{text}");
    }
    let boxes = |text: &str| {
        let lines = split_lines(text).into_iter();
        let found = lines.filter_map(|line| match line.kind {
            LineKind::Item { checkbox: Some(one), .. } => Some((one.offset, one.is_ticked)),
            _ => None,
        });
        found.collect::<Vec<_>>()
    };
    assert_eq!(
        boxes("é\n  - [ ] a\n1. [X] b\n- [x](c)\n- [x][d]\n- [y] e\n- [ ]"),
        [(8, false), (17, true), (51, false)]
    );
}

#[test]
fn a_block_is_a_plan_if_it_is_an_object_with_tasks_or_criteria() {
    for (block, expected) in [
        (r#"{"task_graph": []}"#, true),
        (r#"{"acceptance_criteria": []}"#, true),
        ("{}", false),
        (r#"["task_graph"]"#, false),
        ("task_graph", false),
    ] {
        assert_eq!(is_plan(block), expected, "{block}");
    }
}
