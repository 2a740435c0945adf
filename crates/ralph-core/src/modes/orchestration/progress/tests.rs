use super::super::finding::Weight;
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
| 9 | Planning | 0/0 | N/A |
";

fn parse(text: &str) -> Progress {
    ReadProgress::parse(text).progress
}

fn statuses(text: &str) -> Vec<String> {
    let progress = parse(text);
    progress.tasks().iter().map(|entry| format!("{} {}", entry.status, entry.id)).collect()
}

#[test]
fn a_document_is_read_whatever_stands_around_its_entries() {
    let ReadProgress { progress, damage, .. } = ReadProgress::parse(TEXT);
    assert_eq!(damage, []);
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
    let rows: Vec<&str> = progress.iterations.iter().map(|row| row.tasks.as_str()).collect();
    assert_eq!(rows, ["0/2"]);
}

#[track_caller]
fn check_damage(line: &str, expected: &str) {
    let text = TEXT.replace("  - [ ] `task-2`: later", line);
    let damage = ReadProgress::parse(&text).damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!(damage[0].line, 26);
    assert!(damage[0].what.contains(expected), "{}", damage[0].what);
}

#[test]
fn a_damaged_line_is_reported_with_its_number() {
    check_damage("- [y] task-2", "`[y]` is not a status");
    check_damage("- [xx] task-2", "`[xx]` is not a status");
    check_damage("- [x]", "the line names no task");
    check_damage("- [x] ../plan", "not a task id");
    check_damage("- [x task-2", "the mark has no `]`");
    check_damage("- [ ] task-1", "line 25 has");
    check_damage("## Planning Progress", "names no iteration");
    let text = TEXT.replace("| 1 | Planning | 0/2 | N/A |", "| one | Planning |");
    assert!(ReadProgress::parse(&text).damage[0].what.contains("not a row"));
}

#[test]
fn prose_in_a_section_is_no_damage() {
    for line in ["[a link](x)", "- [a link](x)", "- prose", "prose", "- [link][ref]", "[see below]"]
    {
        let text = TEXT.replace("  - [ ] `task-2`: later", line);
        assert_eq!(ReadProgress::parse(&text).damage, [], "{line}");
    }
}

#[test]
fn a_new_iteration_has_its_sections_and_its_row() {
    let mut progress = parse(TEXT);
    progress.start(2, &["plan-rebrainstorm", "plan-update"], "Replanning", "20260201-120000");
    let text = progress.render();
    let added = "## Planning Progress (Iteration 2)\n- [ ] plan-rebrainstorm\n- [ ] plan-update\n\n\
                 ## Implementation Progress (Iteration 2)\n\n## Iterations\n";
    assert!(text.contains(added), "{text}");
    let rows = "| 1 | Planning | 0/2 | N/A |\n| 2 | Replanning | 0/0 | 20260201-120000 |\n";
    assert!(text.ends_with(rows), "{text}");
    let before = progress.clone();
    progress.start(2, &["plan-rebrainstorm"], "Replanning", "20260201-120000");
    assert_eq!(progress, before, "again");
}

#[test]
fn what_is_rendered_is_read_back_as_it_was() {
    let mut progress = parse(TEXT);
    progress.task_mut("task-1").unwrap().set(TaskMark::ReviewPending, Some("Attempt 1"));
    progress.task_mut("task-2").unwrap().set(TaskMark::Failed, None);
    progress.planning_mut(1, 2).unwrap().set(TaskMark::Done, Some(""));
    let text = progress.render();
    let wanted = ["- [P] task-1 (Attempt 1)\n", "- [F] task-2: later\n", "- [x] plan-brainstorm\n"];
    assert!(wanted.iter().all(|line| text.contains(line)), "{text}");
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let read = ReadProgress::parse(&text);
        assert_eq!((read.progress, read.damage), (progress.clone(), vec![]));
    }
    let first = Progress::first(&["plan-init", "plan-breakdown"]);
    assert_eq!(ReadProgress::parse(&first.render()).damage, []);
}

#[test]
fn of_a_task_in_two_iterations_the_later_counts_but_done_stays_done() {
    let text = "# Progress\n## Implementation Progress (Iteration 1)\n- [x] a\n- [F] b\n- [ ] c\n\
                ## Implementation Progress (Iteration 2)\n- [ ] a\n- [ ] b\n- [x] c\n";
    assert_eq!(statuses(text), ["[x] a", "[ ] b", "[x] c"]);
}

#[test]
fn a_mark_that_is_nearly_right_is_read_and_the_rest_is_told() {
    let text = "## Implementation Progress (Iteration 1)\n[p] a\n-[f] b\n- [] c\n- [?] d\n\
                - [ c ] e\n- [X] f\n- [x] f\n- [ ] g\n- [x] g\n- [ ] h (Cycle 1)\n- [x] h (Cycle 2)\n";
    assert_eq!(statuses(text), ["[P] a", "[F] b", "[ ] c", "[C] e", "[x] f", "[ ] g", "[ ] h"]);
    let told = damage_texts(text);
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!(told[4], "12 true: line 11 has h too; delete one of them", "tasks have no cycles");
    assert_eq!(told[0], "0 true: the header `# Progress` is missing");
    assert!(told[2].starts_with("5 true: `[?]` is not a status"), "{told:?}");
    assert_eq!(told[3], "10 true: line 9 has g too; delete one of them");
}

fn damage_texts(text: &str) -> Vec<String> {
    let damage = ReadProgress::parse(text).damage;
    damage
        .iter()
        .map(|one| format!("{} {}: {}", one.line, one.weight == Weight::Invalid, one.what))
        .collect()
}

#[test]
fn sections_that_do_not_contradict_are_one() {
    let section = |entries: &str| format!("## Planning Progress (Iteration 1)\n{entries}");
    for (entries, wanted) in [
        ("- [x] plan-research\n- [x] plan-research\n", Ok(2)),
        ("- [x] plan-brainstorm (Cycle 2)\n- [ ] plan-brainstorm\n", Ok(2)),
        ("- [x] plan-init\n- [x] plan-init\n", Ok(1)),
        ("- [x] plan-research (Cycle 2)\n- [ ] plan-research (CYCLE=2)\n", Err(1)),
        ("- [x] plan-init\n- [ ] plan-init\n", Err(1)),
    ] {
        for text in [section(entries), format!("{}{}", section(entries), section(entries))] {
            let read = ReadProgress::parse(&text);
            let damaged = read.damage.iter().filter(|damage| damage.line > 0).count();
            let entries = read.progress.planning(1).count();
            match wanted {
                Ok(count) => assert_eq!((entries, damaged), (count, 0), "{text}"),
                Err(count) => assert_eq!((entries, damaged > 0), (count, true), "{text}"),
            }
        }
    }
}

#[test]
fn the_cycle_of_an_entry_is_the_one_that_it_names_or_the_next_free_one() {
    let text = "## Planning Progress (Iteration 1)\n- [ ] plan-research (Cycle 2)\n- [ ] plan-research\n\
                - [ ] plan-brainstorm\n- [ ] plan-research (cycle 0)\n";
    let progress = parse(text);
    let entries: Vec<&TaskEntry> = progress.planning(1).collect();
    let cycles: Vec<u32> = (0..4).map(|at| cycle(&entries, at)).collect();
    assert_eq!(cycles, [2, 1, 1, 3]);
}

/// The document that is read from a text, over what is kept, and which entries had to be restored.
fn over(kept: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let (progress, restored) = ReadProgress::parse(text).completed_by(&parse(kept));
    let entries = progress.sections.iter().flat_map(|section| &section.entries);
    (entries.map(|entry| format!("{} {}", entry.status, entry.id)).collect(), restored)
}

#[test]
fn what_cannot_be_read_is_as_it_is_kept_and_the_rest_is_taken() {
    let kept = "## Planning Progress (Iteration 1)\n- [x] plan-init\n- [ ] plan-brainstorm\n- [ ] plan-breakdown\n\
                ## Implementation Progress (Iteration 1)\n- [ ] a\n- [/] b\n- [x] c\n";
    let (marks, restored) = over(kept, "garbage");
    assert_eq!(
        marks,
        ["[x] plan-init", "[ ] plan-brainstorm", "[ ] plan-breakdown", "[ ] a", "[/] b", "[x] c"]
    );
    assert_eq!(restored.len(), 6);
    let cycle = "## Planning Progress (Iteration 1)\n- [x] plan-brainstorm (Cycle 1)\n";
    let (marks, restored) = over(&format!("{cycle}- [ ] plan-brainstorm (Cycle 2)\n"), cycle);
    assert_eq!(marks, ["[x] plan-brainstorm", "[ ] plan-brainstorm"]);
    assert_eq!(restored, ["plan-brainstorm"]);
    let more = "- [ ] plan-brainstorm\n- [ ] plan-brainstorm\n";
    let text = kept.replace("- [ ] plan-brainstorm\n", more);
    let text = text.replace("- [ ] a\n- [/] b\n", "- [?] a\n- [P] b\n- [ ] new\n- [F] c\n");
    let (marks, restored) = over(kept, &text);
    assert_eq!(restored, ["a"]);
    assert_eq!(
        marks,
        [
            "[x] plan-init",
            "[ ] plan-brainstorm",
            "[ ] plan-brainstorm",
            "[ ] plan-breakdown",
            "[ ] a",
            "[P] b",
            "[ ] new",
            "[x] c"
        ]
    );
}
