//! The documents of an orchestration, read at their bounds and compared in whole.

use super::agents::AgentRole;
use super::feedback::{self, FeedbackBatch};
use super::files::{OrchestrationFile, folder, is_task_id};
use super::finding::{OrchestrationFinding, Weight};
use super::fixture::{now, report};
use super::guardrails::Guardrails;
use super::id::{OrchestrationId, REFUSED};
use super::local_time::LocalTime;
use super::metadata::{IterationMetadata, OrchestrationMetadata};
use super::report::{ReviewVerdict, TaskReport, is_complete};
use super::state::MetadataStatus;
use super::task::TaskFile;
use super::which::continued;
use super::yaml::{Yaml, YamlValue, front_matter};
use jiff::SignedDuration;

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// Each finding with its weight, as a person reads it.
fn finding_texts(found: &[OrchestrationFinding]) -> Vec<String> {
    found.iter().map(|one| format!("{:?} {one}", one.weight)).collect()
}

#[test]
fn a_name_is_a_date_and_a_time_of_day() {
    for name in ["000101-000000", "261231-235960", "260131-120000", "991110-095907"] {
        assert_eq!(OrchestrationId::parse(name).unwrap().as_str(), name);
    }
    for name in [
        "",
        "260131",
        "260131120000",
        "260031-120000",
        "261331-120000",
        "260100-120000",
        "260132-120000",
        "260131-240000",
        "260131-126000",
        "260131-120061",
        "26013-120000",
        "2601311-20000",
        "260131-12000",
        "260131-1200000",
        "260131-12000a",
        "26013a-120000",
        "260131_120000",
        "260131-120000-1",
        "../260131-120000",
    ] {
        assert_eq!(OrchestrationId::parse(name), Err(REFUSED), "{name}");
    }
}

#[test]
fn every_path_of_the_folder_is_one_file_and_is_written_as_it_is_read() {
    use OrchestrationFile as File;
    let [planner, questioner, executor, reviewer] = AgentRole::ALL;
    let rows: [(&str, File<'_>, &[AgentRole]); 20] = [
        ("plan.md", File::Plan, &[planner]),
        ("plan.iteration-12.md", File::PlanSnapshot(12), &[planner]),
        ("tasks/task-1.md", File::Task("task-1"), &[planner]),
        ("progress.md", File::Progress, &AgentRole::ALL),
        ("reports/a-report.md", File::Report { task: "a", attempt: 1 }, &[executor, reviewer]),
        ("reports/a-report-r2.md", File::Report { task: "a", attempt: 2 }, &[executor, reviewer]),
        (
            "reports/a-report-r2-report.md",
            File::Report { task: "a-report-r2", attempt: 1 },
            &[executor, reviewer],
        ),
        ("questions/risks.md", File::Questions("risks"), &[questioner]),
        ("metadata.yaml", File::Metadata, &[planner, reviewer]),
        ("iterations/2/metadata.yaml", File::IterationMetadata(2), &[planner, reviewer]),
        (
            "iterations/2/feedbacks/20260201-120000/app.log",
            File::Feedback { iteration: 2, stamp: "20260201-120000", file: "app.log" },
            &AgentRole::ALL,
        ),
        (
            "iterations/2/feedbacks/x/a/b",
            File::Feedback { iteration: 2, stamp: "x", file: "a/b" },
            &AgentRole::ALL,
        ),
        (
            "iterations/2/replanning/a/delta.md",
            File::Replanning { iteration: 2, file: "a/delta.md" },
            &[planner],
        ),
        (
            "iterations/2/questions/feedback-driven.md",
            File::IterationQuestions { iteration: 2, category: "feedback-driven" },
            &[questioner],
        ),
        ("iterations/2/review.md", File::Review(2), &[reviewer]),
        (
            "iterations/2/notes.md",
            File::Iteration { iteration: 2, file: "notes.md" },
            &AgentRole::ALL,
        ),
        (
            "iterations/2/more/metadata.yaml",
            File::Iteration { iteration: 2, file: "more/metadata.yaml" },
            &AgentRole::ALL,
        ),
        (
            "iterations/2/feedbacks",
            File::Iteration { iteration: 2, file: "feedbacks" },
            &AgentRole::ALL,
        ),
        ("signals/inputs/a", File::SignalInput("a"), &[]),
        ("signals/processed/a", File::SignalProcessed("a"), &[]),
    ];
    for (path, file, owners) in rows {
        assert_eq!(File::from_path(path), Some(file), "{path}");
        assert_eq!(file.to_string(), path);
        assert_eq!(file.writers(), owners, "{path}");
    }
    let id = OrchestrationId::parse("260131-120000").unwrap();
    assert_eq!(File::Instructions.writers(), [planner]);
    assert_eq!(File::Instructions.to_string(), "<SESSION_ID>.instructions.md");
    assert_eq!(File::Report { task: "a", attempt: 0 }.to_string(), "reports/a-report.md");
    assert_eq!(folder(&id), ".ralph-sessions/260131-120000/");
}

#[test]
fn a_path_that_is_not_listed_is_no_file() {
    for path in [
        "",
        "x",
        "plan.txt",
        "plan.iteration-.md",
        "plan.iteration-0.md",
        "plan.iteration-01.md",
        "plan.iteration-+1.md",
        "plan.iteration-1.txt",
        "tasks/task-1",
        "tasks/.md",
        "tasks/a/b.md",
        "tasks/-a.md",
        "tasks/a b.md",
        "tasks/a..b.md",
        "tasks//a.md",
        "tasks/./a.md",
        "tasks/../plan.md",
        "tasks/a.md\n",
        "tasks\\a.md",
        "tasks/\0.md",
        "reports/a.md",
        "reports/-report.md",
        "reports/a-report-r1.md",
        "reports/a-report-r0.md",
        "reports/a-report-r02.md",
        "reports/-report-r2.md",
        "reports/a-report-rx.md",
        "questions/a/b.md",
        "iterations/2",
        "iterations/0/review.md",
        "iterations/x/review.md",
        "iterations/2/feedbacks/x",
        "iterations/2/questions/a/b.md",
        "iterations/2/questions/a.txt",
        "signals/a",
        "signals/inputs/a/b",
        "signals/processed/a/b",
        "signals/other/a",
        "other/a.md",
    ] {
        assert_eq!(OrchestrationFile::from_path(path), None, "{path:?}");
    }
}

#[test]
fn a_task_id_has_80_letters_at_most_and_begins_with_one() {
    for id in ["a", "9", "Task_1.b-c", &"a".repeat(80)] {
        assert!(is_task_id(id), "{id}");
    }
    for id in ["", "-a", "_a", ".a", "a..b", "a/b", "a b", "ä", "aä", &"a".repeat(81)] {
        assert!(!is_task_id(id), "{id}");
    }
}

#[test]
fn yaml_says_where_it_cannot_be_read() {
    for (text, expected) in [
        ("a: 1\na: 2", "line 2: `a` is set twice; delete one"),
        ("a:\n  b: 1\n  b: 2", "line 3: `a.b` is set twice; delete one"),
        ("a: &x 1\nb: *x", "line 2: an alias; write the value itself"),
        ("- {a: 1}\n", "line 1: not a mapping; write `name: value`"),
        ("just text", "line 1: not a mapping; write `name: value`"),
        ("? [a]\n: b", "line 1: a name must be text; write `name: value`"),
    ] {
        assert_eq!(Yaml::parse(text).unwrap_err().to_string(), expected, "{text}");
    }
    let list = |n: usize| Yaml::parse(&format!("a: [{}]", vec!["b"; n].join(",")));
    let mapping = |n: usize| {
        Yaml::parse(&(0..n).map(|at| format!("k{at}: 1\n")).collect::<String>()).map(|_| ())
    };
    let nested = |n: usize| Yaml::parse(&format!("a: {}{}", "[".repeat(n), "]".repeat(n)));
    let too_many = "it has more entries than this document can have";
    assert_eq!(list(998).unwrap().list(&["a"]).map(|all| all.len()), Some(998));
    assert_eq!(list(999).unwrap_err().what, too_many);
    assert_eq!(mapping(999), Ok(()));
    assert_eq!(mapping(1_000).unwrap_err().what, too_many);
    // The mapping itself is the first level.
    assert!(nested(15).is_ok());
    assert_eq!(nested(16).unwrap_err().what, too_many);
}

#[test]
fn a_value_of_yaml_is_read_in_every_form() {
    let yaml = Yaml::parse(
        "none:\ntilde: ~\nnull: null\nNull: Null\nNULL: NULL\nempty: ''\nquoted: 'null'\n\
         number: 7\nhalf: 1.5\nminus: -1\nmany: a, b,,c\nlist: [{b: 1}, {b: 2}, c]\nmap: {a: 1}\n",
    )
    .unwrap();
    for (name, text, list) in [
        ("none", None, Some(vec![])),
        ("tilde", None, Some(vec![])),
        ("null", None, Some(vec![])),
        ("Null", None, Some(vec![])),
        ("NULL", None, Some(vec![])),
        ("empty", Some(""), Some(vec![])),
        ("quoted", Some("null"), Some(vec!["null"])),
        ("many", Some("a, b,,c"), Some(vec!["a", "b", "c"])),
        ("list", None, Some(vec!["", "", "c"])),
        ("map", None, None),
        ("absent", None, None),
    ] {
        assert_eq!(yaml.text(&[name]), text, "{name}");
        assert_eq!(yaml.list(&[name]), list.map(|all| words(&all)), "{name}");
    }
    let two = Yaml::parse("a: 1\n---\nb: 2\n").unwrap();
    assert_eq!(
        (two.text(&["a"]), two.text(&["b"])),
        (Some("1"), None),
        "the first document counts"
    );
    let numbers = ["number", "half", "minus", "none"].map(|name| yaml.number(&[name]));
    assert_eq!(numbers, [Some(7), None, None, None]);
    assert_eq!(yaml.value(&["map"]), Some(&YamlValue::Mapping));
    assert_eq!(yaml.value(&["number"]), Some(&YamlValue::Scalar("7".to_owned(), true)));
    assert_eq!(yaml.value(&["quoted"]), Some(&YamlValue::Scalar("null".to_owned(), false)));
    assert_eq!((yaml.line(&["none"]), yaml.line(&["map", "a"])), (Some(1), Some(13)));
    assert_eq!(front_matter("\u{feff}---\na: 1\nb: 2\n---\nc"), Some("a: 1\nb: 2\n"));
    assert_eq!(front_matter("---\n---"), Some(""));
    assert_eq!(front_matter("----\na: 1\n---\n"), None);
}

#[test]
fn a_task_says_all_that_is_wrong_with_its_file() {
    let body = "## Title\n\nA door\n## Objective\n## Success Criteria\n";
    let missing = |names: &[&str]| -> Vec<String> {
        names
            .iter()
            .map(|name| format!("Notice tasks/a.md: the section `## {name}` is missing"))
            .collect()
    };
    let unreadable = |line: usize| {
        format!(
            "Blocks tasks/a.md:{line}: `depends_on` cannot be read; write `depends_on: [task-1, task-2]`"
        )
    };
    let no_id = |bad: &str, line: usize| {
        format!("Blocks tasks/a.md:{line}: `{bad}` is not a task id; write `depends_on: [task-1]`")
    };
    let task = || TaskFile {
        id: "a".to_owned(),
        title: "A door".to_owned(),
        parallel: true,
        is_sound: true,
        ..TaskFile::default()
    };
    let unsound = || TaskFile { is_sound: false, ..task() };
    let rows: Vec<(String, TaskFile, Vec<String>)> = vec![
        (
            "x".to_owned(),
            TaskFile { title: String::new(), ..task() },
            [
                words(&["Notice tasks/a.md:1: no front matter; begin the file with `---`"]),
                missing(&["Title", "Objective", "Success Criteria"]),
            ]
            .concat(),
        ),
        (
            format!("---\nid: a\niteration: 3\ntype: Sequential\n---\n{body}"),
            TaskFile { iteration: Some(3), parallel: false, ..task() },
            vec![],
        ),
        (
            format!("---\nid: b\ntype: Parallel\n---\n{body}"),
            task(),
            words(&["Notice tasks/a.md:2: `id: b` differs from the file's name and is ignored"]),
        ),
        (
            format!("---\ntype: x\n---\n{body}"),
            task(),
            words(&["Notice tasks/a.md:1: write `id: a`"]),
        ),
        (
            format!("---\nid: a\nid: a\n---\n{body}"),
            unsound(),
            words(&["Blocks tasks/a.md:3: `id` is set twice; delete one"]),
        ),
        (
            format!("---\nid: a\ndepends_on: [b, c]\n---\n{body}depends_on: [d]\n"),
            TaskFile { depends_on: words(&["b", "c"]), ..task() },
            vec![],
        ),
        (format!("---\nid: a\ndepends_on: {{b: 1}}\n---\n{body}"), unsound(), vec![unreadable(3)]),
        (
            format!("---\nid: a\ndepends_on: [b, -c]\n---\n{body}"),
            TaskFile { depends_on: words(&["b", "-c"]), ..unsound() },
            vec![no_id("-c", 3)],
        ),
        (
            format!("---\nid: a\n---\n{body}- **depends_on**: [b]  # why\n"),
            TaskFile { depends_on: words(&["b"]), ..task() },
            vec![],
        ),
        (
            format!("---\nid: a\n---\n{body}`depends_on`: # below\n- b\n- c\n\n- d\n"),
            TaskFile { depends_on: words(&["b", "c"]), ..task() },
            vec![],
        ),
        (format!("---\nid: a\n---\n{body}depends_on: [b\n"), unsound(), vec![unreadable(9)]),
        (
            format!("---\nid: a\n---\n{body}depends_on: [.b]\n"),
            TaskFile { depends_on: words(&[".b"]), ..unsound() },
            vec![no_id(".b", 9)],
        ),
        (format!("---\nid: a\n---\n{body}```\ndepends_on: [b]\n## Title\n```\n"), task(), vec![]),
        (
            "---\nid: a\n---\n```\n## Title\n```\n## Title\n## Objective\nIt\n".to_owned(),
            TaskFile { title: String::new(), ..task() },
            missing(&["Success Criteria"]),
        ),
    ];
    for (text, expected, findings) in rows {
        let (task, found) = TaskFile::parse("a", &text);
        assert_eq!(task, expected, "{text}");
        assert_eq!(finding_texts(&found), findings, "{text}");
    }
}

#[test]
fn guardrails_keep_their_bounds_and_say_the_line() {
    let of =
        |max_cycles, max_subagent_retries, task_wip_minutes, executors, reviewers| Guardrails {
            max_cycles,
            max_subagent_retries,
            task_wip_minutes,
            max_parallel_executors: executors,
            max_parallel_reviewers: reviewers,
        };
    let default = || of(2, 1, 60, 4, 4);
    let file = "Notice <SESSION_ID>.instructions.md";
    let rows: [(&str, Guardrails, Vec<String>); 8] = [
        ("", default(), vec![]),
        (
            "---\nplanning:\n  max_cycles: 0\nretries: {max_subagent_retries: 0}\ntimeouts:\n  \
             task_wip_minutes: 1\nconcurrency:\n  max_parallel_executors: 1\n  \
             max_parallel_reviewers: 1\n---\n",
            of(0, 0, 1, 1, 1),
            vec![],
        ),
        (
            "max_cycles: 100\n- max_subagent_retries: 100\n  * task_wip_minutes:10080\n\
             max_parallel_executors: 32\nmax_parallel_reviewers: 32\n",
            of(100, 100, 10_080, 32, 32),
            vec![],
        ),
        (
            "max_cycles: 101\nmax_subagent_retries: 101\ntask_wip_minutes: 10081\n\
             max_parallel_executors: 33\nmax_parallel_reviewers: 33\n",
            default(),
            vec![
                format!("{file}:1: `max_cycles: 101` is not from 0 to 100; it is 2"),
                format!("{file}:2: `max_subagent_retries: 101` is not from 0 to 100; it is 1"),
                format!("{file}:3: `task_wip_minutes: 10081` is not from 1 to 10080; it is 60"),
                format!("{file}:4: `max_parallel_executors: 33` is not from 1 to 32; it is 4"),
                format!("{file}:5: `max_parallel_reviewers: 33` is not from 1 to 32; it is 4"),
            ],
        ),
        (
            "---\nmax_cycles: 3\n---\nmax_cycles: 4\ntask_wip_minutes: 0\n",
            of(3, 1, 60, 4, 4),
            vec![format!("{file}:5: `task_wip_minutes: 0` is not from 1 to 10080; it is 60")],
        ),
        (
            "---\nplanning: {max_cycles: 4}\nmax_cycles: 3\nmax_parallel_executors: many\n---\n",
            of(4, 1, 60, 4, 4),
            vec![format!("{file}:4: `max_parallel_executors: many` is not from 1 to 32; it is 4")],
        ),
        (
            "---\na: 1\na: 2\n---\nmax_cycles: 5\n",
            of(5, 1, 60, 4, 4),
            vec![format!("{file}:3: the front matter is ignored: `a` is set twice; delete one")],
        ),
        ("max_cycles 5\nmax_cycles_: 6\nthe max_cycles: 7\n", default(), vec![]),
    ];
    for (text, rails, findings) in rows {
        let (read, found) = Guardrails::parse(text);
        assert_eq!((read, finding_texts(&found)), (rails, findings), "{text}");
    }
}

#[test]
fn a_report_counts_for_its_iteration_and_with_its_last_verdict() {
    let read = |text: &str| TaskReport::parse(2, Some(text));
    let of = |iteration, verdict| TaskReport { attempt: 2, iteration, verdict };
    let (yes, no) = (Some(ReviewVerdict::Qualified), Some(ReviewVerdict::Failed));
    for (text, expected) in [
        (report("a", 3, None), of(3, None)),
        (report("a", 1, Some("Qualified")), of(1, yes)),
        (report("a", 1, Some("Failed")), of(1, no)),
        (report("a", 1, Some("Qualified | Failed")), of(1, None)),
        ("Status: Qualified\n## PART 2: REVIEW\n".to_owned(), of(1, None)),
        ("PART 2\nStatus: Qualified\n".to_owned(), of(1, None)),
        ("# PART 2\n- `Status`: Failed\n  **Status:** Qualified\n".to_owned(), of(1, yes)),
        ("# PART 2\nStatus: Qualified\nStatus: Failed\n".to_owned(), of(1, no)),
    ] {
        assert_eq!(read(&text), expected, "{text}");
    }
    assert_eq!(TaskReport::parse(4, None), TaskReport { attempt: 4, iteration: 1, verdict: None });
}

#[test]
fn a_review_is_complete_if_it_says_so_in_its_place() {
    for (text, expected) in [
        ("---\nassessment: Complete\n---\n", true),
        ("---\nassessment: ✅ Complete\n---\n", true),
        ("---\nassessment: Gaps\n---\n## Overall Assessment\nStatus: Complete\n", false),
        ("---\na: 1\n---\n## Overall Assessment\n**Status**: Complete\n", true),
        ("## Overall Assessment\n- _Assessment_: `Complete`\n", true),
        ("## Overall Assessment\nassessment: Complete\n", true),
        ("## Overall Assessment\n\nIt works.\nStatus: Complete\n", true),
        ("## Overall Assessment\nStatus: Complete | Gaps\n", false),
        ("## Overall Assessment\nVerdict: Complete\n", false),
        ("## Overall Assessment\n## Next\nStatus: Complete\n", false),
        ("## Other\nStatus: Complete\n", false),
        ("Status: Complete\n", false),
        ("", false),
    ] {
        assert_eq!(is_complete(text), expected, "{text}");
    }
}

#[test]
fn a_batch_of_feedback_is_its_items_and_what_is_wrong_with_it() {
    let file = "Notice iterations/2/feedbacks/s/feedbacks.md";
    let empty = format!(
        "{file}: it has no item yet; add one under `## Critical Issues`, `## Quality Issues` or \
         `## New Requirements`"
    );
    let head = "---\niteration: 2\ntimestamp: now\nprevious_iteration: 1\n---\n";
    let batch = |critical: &[&str], quality: &[&str], requirements: &[&str]| FeedbackBatch {
        critical: words(critical),
        quality: words(quality),
        requirements: words(requirements),
    };
    let rows: [(String, FeedbackBatch, Vec<String>); 7] = [
        (
            format!(
                "{head}## Critical Issues\n- [ ] **ISS-001**: It does not start\n  - Evidence: a\n* [x] b\n\
                 + [X]  c\n- \n- [ ] **ISS-002**: \n- [ ] **ISS-003**: Description\n- ...\nprose\n\
                 ## Quality Issues\n- q\n# Other\n- no\n"
            ),
            batch(&["**ISS-001**: It does not start", "b", "c"], &["q"], &[]),
            vec![],
        ),
        (
            format!(
                "{head}##  New Requirements \n<!-- - hidden -->\n- r\n<!-- - hidden\n- hidden\n-->\n- s\n"
            ),
            batch(&[], &[], &["r", "s"]),
            vec![],
        ),
        (head.to_owned(), batch(&[], &[], &[]), vec![empty.clone()]),
        (
            "## Quality Issues\n- q\n".to_owned(),
            batch(&[], &["q"], &[]),
            vec![format!("{file}:1: no front matter; begin the file with `---`")],
        ),
        (
            "---\niteration: 3\nprevious_iteration: 2\n---\n## Critical Issues\n- a\n".to_owned(),
            batch(&["a"], &[], &[]),
            vec![
                format!("{file}:2: write `iteration: 2`"),
                format!("{file}:3: write `previous_iteration: 1`"),
                format!("{file}:1: `timestamp` is missing"),
            ],
        ),
        (
            "---\ntimestamp: now\n---\n## Critical Issues\n- a\n".to_owned(),
            batch(&["a"], &[], &[]),
            vec![
                format!("{file}:1: write `iteration: 2`"),
                format!("{file}:1: write `previous_iteration: 1`"),
            ],
        ),
        (
            "---\na: 1\na: 2\n---\n".to_owned(),
            batch(&[], &[], &[]),
            vec![format!("{file}:3: `a` is set twice; delete one"), empty],
        ),
    ];
    for (text, expected, findings) in rows {
        let (read, found) = FeedbackBatch::parse(2, "s", &text);
        assert_eq!(read, expected, "{text}");
        assert_eq!(finding_texts(&found), findings, "{text}");
    }
    for (batch, says) in [
        (batch(&[], &[], &[]), false),
        (batch(&["a"], &[], &[]), true),
        (batch(&[], &["a"], &[]), true),
        (batch(&[], &[], &["a"]), true),
    ] {
        assert_eq!(batch.says_something(), says, "{batch:?}");
    }
}

#[test]
fn a_new_batch_of_feedback_is_headings_and_comments() {
    let text = feedback::template(2, "20260131-120000", now().into());
    assert_eq!(
        text,
        "---\niteration: 2\ntimestamp: 2026-01-31T12:00:00+00:00\nprevious_iteration: 1\n---\n\n\
         # Feedback Batch: 20260131-120000\n\n## Critical Issues\n<!-- - [ ] **ISS-001**: the defect\n  \
         - Evidence: app.log, lines 45-60\n  - Suggested Fix: … -->\n\n## Quality Issues\n\
         <!-- - [ ] **Q-001**: the improvement -->\n\n## New Requirements\n<!-- - the addition -->\n\n\
         ## Artifacts Index\n| File | Description |\n|------|-------------|\n"
    );
    let (read, found) = FeedbackBatch::parse(2, "20260131-120000", &text);
    assert!(!read.says_something());
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn metadata_say_each_mistake_with_its_line() {
    let id = OrchestrationId::parse("260131-120000").unwrap();
    let file = "Invalid metadata.yaml";
    let text = "version: x\nsession_id: 260131-120001\ncreated_at: <now>\nupdated_at: 2026-01-31 12:00\n\
                iteration: 0\nstatus: completed\norchestrator:\n  state: RESTING\n  current_wave: 2\n\
                tasks:\n  total: -1\n  completed:\n  failed: 0\n";
    let (metadata, found) = OrchestrationMetadata::parse(text, &id);
    assert_eq!(
        metadata,
        OrchestrationMetadata {
            updated_at: Some("2026-01-31 12:00".to_owned()),
            wave: Some(2),
            standing: Some(MetadataStatus::Completed),
            ..OrchestrationMetadata::default()
        }
    );
    assert_eq!(
        finding_texts(&found),
        [
            format!("{file}:12: `tasks.completed` has no value"),
            format!("{file}: `tasks.pending` is missing"),
            format!("{file}:1: `version: x` is not a number of at least 0"),
            format!("{file}:5: `iteration: 0` is not a number of at least 1"),
            format!("{file}:11: `tasks.total: -1` is not a number of at least 0"),
            format!(
                "{file}:2: `session_id: 260131-120001` differs from the folder's name, 260131-120000"
            ),
            format!(
                "{file}:8: `RESTING` is not a state; write one of INITIALIZING, PLANNING, REPLANNING, BATCHING, \
                 EXECUTING_BATCH, REVIEWING_BATCH, SESSION_REVIEW, COMPLETE, REPAIR_STATE"
            ),
        ]
    );
    let (metadata, found) = OrchestrationMetadata::parse("a: 1\na: 2", &id);
    assert_eq!(metadata, OrchestrationMetadata::default());
    assert_eq!(finding_texts(&found), [format!("{file}:2: `a` is set twice; delete one")]);
}

#[test]
fn the_metadata_of_an_iteration_say_each_mistake_with_its_line() {
    let file = "Notice iterations/2/metadata.yaml";
    for (text, expected, findings) in [
        (
            "iteration: 3\nplanning_completed_at: a\ncompleted_at: b\ntasks_defined: 4\n",
            IterationMetadata {
                started_at: None,
                planning_completed_at: Some("a".to_owned()),
                completed_at: Some("b".to_owned()),
                tasks_defined: 4,
            },
            vec![
                format!("{file}:1: write `iteration: 2`"),
                format!("{file}: `started_at` is missing"),
            ],
        ),
        (
            "started_at: 2026-01-31T12:00:00Z\ntasks_defined: many\n",
            IterationMetadata {
                started_at: Some("2026-01-31T12:00:00Z".to_owned()),
                ..IterationMetadata::default()
            },
            vec![format!("{file}: write `iteration: 2`")],
        ),
        (
            "a: 1\na: 2",
            IterationMetadata::default(),
            vec![format!("{file}:2: `a` is set twice; delete one")],
        ),
    ] {
        let (read, found) = IterationMetadata::parse(text, 2);
        assert_eq!((read, finding_texts(&found)), (expected, findings), "{text}");
    }
    assert_eq!(
        IterationMetadata::default().render(2),
        "version: 1\niteration: 2\nstarted_at: null\nplanning_complete: false\n\
         planning_completed_at: null\ncompleted_at: null\ntasks_defined: 0\n"
    );
}

#[test]
fn a_time_is_printed_with_the_offset_of_the_clock() {
    let at = now() + SignedDuration::from_millis(700);
    let offset = jiff::tz::Offset::from_hours(7).unwrap();
    assert_eq!(LocalTime { at: now(), offset }.to_string(), "2026-01-31T19:00:00+07:00");
    assert_eq!(LocalTime::from(now()).to_string(), "2026-01-31T12:00:00+00:00");
    assert!(LocalTime::from(at).to_string().starts_with("2026-01-31T12:00:0"));
}

#[test]
fn a_finding_names_its_line_if_it_has_one() {
    let place = OrchestrationFile::Plan;
    for (found, weight, expected) in [
        (place.notice(0, "it is gone"), Weight::Notice, "plan.md: it is gone"),
        (place.blocks(1, "a"), Weight::Blocks, "plan.md:1: a"),
        (place.invalid(12, "b"), Weight::Invalid, "plan.md:12: b"),
    ] {
        assert_eq!((found.weight, found.to_string().as_str()), (weight, expected));
    }
}

#[test]
fn a_sentence_that_continues_a_session_has_400_letters_at_most() {
    let padded = |n: usize| {
        let text = "continue session 260131-120000";
        format!("{text}{}", " ".repeat(n - text.len()))
    };
    assert!(continued(&padded(400)).is_some());
    assert_eq!(continued(&padded(401)), None);
}
