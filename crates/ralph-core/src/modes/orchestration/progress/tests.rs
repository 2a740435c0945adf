use super::*;

const TEXT: &str = "# Progress

<!-- written by hand
- [x] task-9
-->
Some prose, [a link](x) and `- [x] code`.

## Legend
- `[ ]` Not started
- `[/]` In progress
- `[P]` Pending review
- `[x]` Completed
- `[F]` Failed
- `[C]` Cancelled

## Planning Progress (Iteration 1)
- [x] plan-init (completed: 2026-01-31T12:00:00Z)
- [x] plan-brainstorm (CYCLE=1)
- [ ] plan-brainstorm (Cycle 2)
- [ ] plan-breakdown

## Implementation Progress (Iteration 1)
[To be filled]
### Wave 1
* [/] **task-1** (Attempt 1, Iteration 1, started: 2026-01-31T12:30:00Z)
  - [ ] `task-2`: later

```
- [F] task-8
```

## Iterations
| Iteration | Status | Tasks | Feedbacks |
|-----------|--------|-------|-----------|
| 1 | Planning | 0/2 | N/A |

## Notes
- [F] this is not an entry
";

fn statuses(text: &str) -> Vec<String> {
    let progress = Progress::parse(text);
    progress.tasks().iter().map(|entry| format!("{} {}", entry.status, entry.id)).collect()
}

#[test]
fn a_document_is_read_whatever_stands_around_its_entries() {
    let progress = Progress::parse(TEXT);
    assert!(progress.has_header);
    assert_eq!(progress.legend.as_deref(), Some(&TaskMark::ALL[..]));
    assert_eq!(progress.damage, []);
    assert_eq!(statuses(TEXT), ["[/] task-1", "[ ] task-2"]);
    let planning: Vec<(&str, Option<u32>)> =
        progress.planning(1).map(|entry| (entry.id.as_str(), entry.cycle())).collect();
    assert_eq!(
        planning,
        [
            ("plan-init", None),
            ("plan-brainstorm", Some(1)),
            ("plan-brainstorm", Some(2)),
            ("plan-breakdown", None)
        ]
    );
    assert_eq!(progress.task("task-1").unwrap().said("started"), Some("2026-01-31T12:30:00Z"));
    assert_eq!(progress.task("task-2").unwrap().said("started"), None);
    assert_eq!(progress.iterations.unwrap()[0].tasks, "0/2");
}

#[track_caller]
fn check_damage(line: &str, expected: &str) {
    let text = TEXT.replace("  - [ ] `task-2`: later", line);
    let damage = Progress::parse(&text).damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(damage[0].line, 26);
    assert!(damage[0].what.contains(expected), "{}", damage[0].what);
}

#[test]
fn a_damaged_line_is_reported_with_its_number() {
    check_damage("- [y] task-2", "`[y]` is not a status");
    check_damage("- [] task-2", "`[]` is not a status");
    check_damage("- [xx] task-2", "`[xx]` is not a status");
    check_damage("- [x]", "the line names no task");
    check_damage("- [x] ../plan", "not a task id");
    check_damage("- [x task-2", "the mark has no `]`");
    check_damage("[x] task-2", "write `- [x] task-2`");
    check_damage("- [ ] task-1", "line 25 has");
    check_damage("## Planning Progress", "names no iteration");
    let text = TEXT.replace("| 1 | Planning | 0/2 | N/A |", "| one | Planning |");
    assert!(Progress::parse(&text).damage[0].what.contains("not a row"));
}

#[test]
fn prose_in_a_section_is_no_damage() {
    for line in ["[a link](x)", "- [a link](x)", "- prose", "prose", "- [link][ref]", "[see below]"]
    {
        let text = TEXT.replace("  - [ ] `task-2`: later", line);
        assert_eq!(Progress::parse(&text).damage, [], "{line}");
    }
}

#[test]
fn a_mark_changes_its_line_and_nothing_else() {
    let entry = Progress::parse(TEXT).task("task-1").unwrap().clone();
    let marked = mark(TEXT, &entry, TaskMark::ReviewPending, Some("Attempt 1")).unwrap();
    assert_eq!(
        marked,
        TEXT.replace(
            "* [/] **task-1** (Attempt 1, Iteration 1, started: 2026-01-31T12:30:00Z)",
            "* [P] **task-1** (Attempt 1)"
        )
    );
    let marked = mark(TEXT, &entry, TaskMark::Done, None).unwrap();
    assert_eq!(marked, TEXT.replace("* [/]", "* [x]"));
    let entry = Progress::parse(TEXT).task("task-2").unwrap().clone();
    let marked = mark(TEXT, &entry, TaskMark::Failed, Some("")).unwrap();
    assert_eq!(marked, TEXT.replace("  - [ ] `task-2`: later", "  - [F] `task-2`"));
}

#[test]
fn the_line_endings_of_a_document_stay() {
    let text = TEXT.replace('\n', "\r\n");
    let entry = Progress::parse(&text).task("task-1").unwrap().clone();
    let marked = mark(&text, &entry, TaskMark::Done, Some("now")).unwrap();
    let started = start(&marked, 2, &["plan-rebrainstorm"], "20260201-120000");
    assert_eq!(started.matches('\n').count(), started.matches("\r\n").count());
    assert_eq!(Progress::parse(&started).task("task-1").unwrap().note, "(now)");
}

#[test]
fn an_entry_that_has_moved_is_not_marked() {
    let entry = Progress::parse(TEXT).task("task-1").unwrap().clone();
    for other in [TEXT.replacen('\n', "\n\n", 1), TEXT.replace("[/]", "[P]"), String::new()] {
        assert_eq!(
            mark(&other, &entry, TaskMark::Done, None),
            Err(NotThere { id: "task-1".to_owned() })
        );
    }
}

#[test]
fn a_new_iteration_comes_before_the_table_and_has_its_row() {
    let text = start(TEXT, 2, &["plan-rebrainstorm", "plan-update"], "20260201-120000");
    let added = "## Planning Progress (Iteration 2)\n- [ ] plan-rebrainstorm\n- [ ] plan-update\n\n\
                 ## Implementation Progress (Iteration 2)\n\n## Iterations\n";
    let row = "| 1 | Planning | 0/2 | N/A |\n| 2 | Replanning | 0/0 | 20260201-120000 |\n";
    assert_eq!(
        text,
        TEXT.replace("## Iterations\n", added).replace("| 1 | Planning | 0/2 | N/A |\n", row)
    );
    assert_eq!(start(&text, 2, &[], "20260201-120000"), text, "again");
}

#[test]
fn a_row_is_changed_where_it_stands() {
    let row = edit::row(1, "Complete", "2/2", "N/A");
    let text = set_row(TEXT, &row);
    assert_eq!(text, TEXT.replace("| 1 | Planning | 0/2 |", "| 1 | Complete | 2/2 |"));
    let without = set_row("# Progress", &row);
    assert_eq!(Progress::parse(&without).iterations.unwrap()[0].status, "Complete");
    let empty = set_row("# Progress\n## Iterations\n\n## Notes\n", &row);
    assert_eq!(Progress::parse(&empty).iterations.unwrap().len(), 1);
    assert!(empty.ends_with("\n\n## Notes\n"), "{empty}");
}

#[test]
fn a_new_document_is_whole_and_holds_its_planning_tasks() {
    let text = new(&["plan-init", "plan-breakdown"]);
    let progress = Progress::parse(&text);
    assert_eq!(progress.damage, []);
    assert_eq!(progress.planning(1).count(), 2);
    assert!(progress.section(ProgressSection::Implementation, 1).is_some());
    assert_eq!(repair(&text, 1, &[]).1, [], "{text}");
    let text = add_section(&text, ProgressSection::Implementation, 1, &["task-1", "task-2"]);
    let text = add_section(&text, ProgressSection::Implementation, 1, &["task-3"]);
    assert_eq!(statuses(&text), ["[ ] task-1", "[ ] task-2", "[ ] task-3"]);
}

#[test]
fn of_a_task_in_two_iterations_the_later_counts_but_done_stays_done() {
    let text = "# Progress\n## Implementation Progress (Iteration 1)\n- [x] a\n- [F] b\n- [ ] c\n\
                ## Implementation Progress (Iteration 2)\n- [ ] a\n- [ ] b\n- [x] c\n";
    assert_eq!(statuses(text), ["[x] a", "[ ] b", "[x] c"]);
}

#[test]
fn what_is_plain_is_repaired_and_the_rest_is_reported() {
    let text = "prose\n## Planning Progress (Iteration 1)\n- [X] plan-init\n\
                ## Implementation Progress (Iteration 1)\n[p] a\n-[f] b\n- [] c\n- [?] d\n\
                - [ c ] e\n- [ ] f\n- [x] f\n";
    let (repaired, done, left) = repair(text, 1, &[]);
    assert_eq!(statuses(&repaired), ["[P] a", "[F] b", "[ ] c", "[C] e", "[x] f"]);
    assert!(repaired.contains("prose\n"), "{repaired}");
    let lines: Vec<Option<usize>> = done.iter().map(|one| one.line).collect();
    assert_eq!(lines, [Some(3), Some(5), Some(6), Some(7), Some(9), None, None]);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].what.contains("`[?]`") && left[1].what.contains("has f too"));
    assert_eq!(repair(&repaired, 1, &[]).1, [], "again");
    assert_eq!(repair(TEXT, 1, &[]).0, TEXT, "nothing is wrong with it");
}

const TWICE: &str = "# Progress
## Planning Progress (Iteration 1)
- [x] plan-init
- [x] plan-research

## Implementation Progress (Iteration 1)
- [x] task-1
- [ ] task-2 (mine)

## Planning Progress (Iteration 1)
- [x] plan-init
- [x] plan-research
";

fn damage(text: &str) -> Vec<String> {
    let damage = Progress::parse(text).damage;
    damage.iter().map(|one| format!("{} {}: {}", one.line, one.matters, one.what)).collect()
}

#[test]
fn what_stands_twice_is_told_where_it_stands_again() {
    let told = damage(&format!(
        "{TWICE}## Implementation Progress (Iteration 1)\n- [x] task-3\n## Iterations\n\
         | 1 | Planning | 0/0 | N/A |\n| 1 | Executing | 0/0 | N/A |\n## Iterations\n"
    ));
    let section = |part: &str, line: usize| {
        format!(
            "line {line} has the section `## {part} Progress (Iteration 1)` too; move these \
             entries there"
        )
    };
    let one_of =
        |what: &str, line: usize| format!("line {line} has {what} too; delete one of them");
    assert_eq!(
        told,
        [
            format!("10 true: {}", section("Planning", 2)),
            format!("11 true: {}", one_of("plan-init", 3)),
            format!("12 true: {}", one_of("plan-research", 4)),
            format!("13 true: {}", section("Implementation", 6)),
            format!("17 false: {}", one_of("the row of iteration 1", 16)),
            format!("18 false: {}", one_of("the section `## Iterations`", 15)),
        ]
    );
}

#[test]
fn cycles_of_questions_are_no_copies_unless_they_name_the_same_cycle() {
    let section = |entries: &str| format!("## Planning Progress (Iteration 1)\n{entries}");
    for entries in [
        "- [x] plan-research\n- [x] plan-research\n",
        "- [x] plan-brainstorm (Cycle 2)\n- [ ] plan-brainstorm\n",
    ] {
        assert_eq!(damage(&section(entries)), [""; 0]);
        assert!(repair(&section(entries), 1, &[]).0.contains(entries));
    }
    for entries in [
        "- [x] plan-research (Cycle 2)\n- [ ] plan-research (CYCLE=2)\n",
        "- [x] plan-init\n- [ ] plan-init\n",
    ] {
        assert_eq!(damage(&section(entries)).len(), 1, "{entries}");
        assert!(repair(&section(entries), 1, &[]).0.contains(entries), "which one holds?");
    }
}

#[test]
fn the_cycle_of_an_entry_is_the_one_that_it_names_or_the_next_free_one() {
    let text = "## Planning Progress (Iteration 1)\n- [ ] plan-research (Cycle 2)\n- [ ] plan-research\n\
                - [ ] plan-brainstorm\n- [ ] plan-research (cycle 0)\n";
    let progress = Progress::parse(text);
    let entries: Vec<&TaskEntry> = progress.planning(1).collect();
    let cycles: Vec<u32> = (0..4).map(|at| cycle(&entries, at)).collect();
    assert_eq!(cycles, [2, 1, 1, 3]);
}

#[track_caller]
fn check_joined(text: &str, expected: &str, told: &[&str]) {
    let (repaired, done, _) = repair(text, 1, &[]);
    let (_, body) = repaired.split_once("## Planning").expect("it has the section");
    let (_, body_expected) = expected.split_once("## Planning").expect("it has the section");
    assert_eq!(body, body_expected);
    let done: Vec<String> =
        done.iter().filter_map(|one| Some(format!("{}: {}", one.line?, one.what))).collect();
    assert_eq!(done, told);
    assert_eq!(repair(&repaired, 1, &[]).1, [], "again");
}

#[test]
fn sections_that_do_not_contradict_are_joined() {
    let once = TWICE.rsplit_once("## Planning").unwrap().0;
    let joined = "10: merged `## Planning Progress (Iteration 1)` into the one in line 2";
    check_joined(TWICE, once, &[joined]);
    let more = format!("{TWICE}\nWhy not:\n- [ ] plan-breakdown\n```\n- [ ] plan-x\n");
    let whole = once.replace(
        "plan-research\n",
        "plan-research\nWhy not:\n- [ ] plan-breakdown\n```\n- [ ] plan-x\n```\n",
    );
    check_joined(&more, &whole, &[joined]);
    let entry =
        TWICE.replace("- [ ] task-2 (mine)\n", "- [ ] task-2 (mine)\n- [ ] task-2 (mine)\n");
    let lines = ["9: line 8 had task-2 too", &joined.replace("10", "11")];
    check_joined(&entry, once, &lines);
}

#[test]
fn sections_that_contradict_are_left_and_told() {
    let text = TWICE.replace(
        "- [x] plan-init\n- [x] plan-research\n\n",
        "- [ ] plan-init\n- [x] plan-research\n\n",
    );
    let (repaired, _, left) = repair(&text, 1, &[]);
    assert!(repaired.contains("- [ ] plan-init\n") && repaired.contains("- [x] plan-init\n"));
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left.iter().all(|one| one.matters));
}

#[test]
fn a_document_that_stands_twice_is_told_and_mended() {
    let (text, _, _) = repair(&TEXT.replace("## Notes\n- [F] this is not an entry\n", ""), 1, &[]);
    let (repaired, done, left) = repair(&format!("{text}\n{text}"), 1, &[]);
    assert_eq!((done.len(), left.len()), (4, 0), "{done:?} {left:?}");
    assert_eq!(statuses(&repaired), statuses(&text));
    assert_eq!(Progress::parse(&repaired).sections.len(), 2);
}

#[test]
fn the_line_endings_of_what_is_joined_are_those_of_the_document() {
    let text = format!("{TWICE}- [ ] plan-breakdown").replace('\n', "\r\n");
    let (repaired, _, left) = repair(&text, 1, &[]);
    assert_eq!(left, []);
    assert!(repaired.contains("- [x] plan-research\r\n- [ ] plan-breakdown\r\n"), "{repaired}");
}

#[test]
fn a_row_goes_to_the_table_and_not_into_an_example_below_it() {
    let text = "# Progress\n## Iterations\n| Iteration | Status | Tasks | Feedbacks |\n|---|---|---|---|\n\
                ```\n| 1 | Planning | 0/0 | N/A |\n";
    let row = edit::row(1, "Executing", "0/2", "N/A");
    let after = set_row(text, &row);
    assert!(after.contains("|---|---|---|---|\n| 1 | Executing | 0/2 | N/A |\n```\n"), "{after}");
    assert_eq!(set_row(&after, &row), after, "again");
}

#[test]
fn an_empty_document_becomes_a_whole_one() {
    let (repaired, _, left) = repair("", 2, &["plan-update"]);
    let progress = Progress::parse(&repaired);
    assert!(progress.has_header && left.is_empty());
    assert_eq!(progress.legend.unwrap().len(), 6);
    assert_eq!(progress.sections.len(), 2);
}

#[test]
fn a_section_is_added_behind_a_block_that_was_left_open() {
    for open in ["```text\n- [ ] no-task\n", "~~~~\n```\n", "<!-- no end\n"] {
        let text = format!("# Progress\n{open}");
        let after = add_section(&text, ProgressSection::Implementation, 1, &["task-1"]);
        assert!(after.starts_with(&text), "{after}");
        let ids: Vec<String> =
            Progress::parse(&after).tasks().iter().map(|task| task.id.clone()).collect();
        assert_eq!(ids, ["task-1"], "{after}");
    }
}
