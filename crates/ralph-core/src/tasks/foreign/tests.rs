//! Each form is read, and its boxes are ticked byte by byte.

use super::*;
use serde_json::json;

/// Of the form that ralphex's README describes.
const SECTIONS: &str = include_str!("../../../../../tests/fixtures/plans/sections.md");
/// Of the form of `fix_plan.md` in frankbria/ralph-claude-code.
const FIX_PLAN: &str = include_str!("../../../../../tests/fixtures/plans/fix_plan.md");
/// Of the form of `prd.json` in snarktank/ralph.
const PRD: &str = include_str!("../../../../../tests/fixtures/plans/prd.json");
/// Of the form that `/ralplan` writes.
const RALPLAN: &str = include_str!("../../../../../tests/fixtures/plans/ralplan.md");

#[track_caller]
fn plan_of(name: &str, text: &str) -> ForeignPlan {
    let format = format(text).expect("a form is recognised");
    read(format, name, text).expect("the plan is read")
}

/// The tasks as `id status name | condition | deps`, the criteria as `id description | command or
/// question`, and the notes.
fn shown(plan: &ForeignPlan) -> Vec<String> {
    let task = |task: &crate::state::Task| {
        let deps = if task.deps.is_empty() { String::new() } else { format!(" | {:?}", task.deps) };
        let condition = &task.completion_condition;
        format!("{} {} {} | {condition}{deps}", task.id, task.status.as_str(), task.name)
    };
    let criterion = |one: &Criterion| {
        let review = one.review.as_ref().unwrap_or(&one.verification_command);
        format!("{} {} | {review}", one.id, one.description)
    };
    let tasks = plan.plan.tasks.iter().map(task);
    let criteria = plan.plan.criteria.iter().map(criterion);
    tasks.chain(criteria).chain(plan.notes.iter().map(ToString::to_string)).collect()
}

#[track_caller]
fn check(name: &str, text: &str, expected: &[&str]) {
    assert_eq!(shown(&plan_of(name, text)), expected, "{text}");
}

#[track_caller]
fn check_refused(name: &str, text: &str, expected: &[&str]) {
    let format = format(text).unwrap_or_default();
    let problems = read(format, name, text).expect_err(text);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected, "{text}");
}

/// The text after the tasks with these ids are done.
#[track_caller]
fn ticked(plan: &ForeignPlan, text: &str, done: &[&str]) -> Ticks {
    let ticks = tick(text, &plan.file("plan"), |id| done.contains(&id));
    let again =
        tick(ticks.text.as_deref().unwrap_or(text), &plan.file("plan"), |id| done.contains(&id));
    assert_eq!(again.text, None, "ticking twice changes nothing");
    ticks
}

/// The bytes that differ, as `old → new` with what stands before each on its line.
#[track_caller]
fn changes(old: &str, new: &str) -> Vec<String> {
    assert_eq!(old.len(), new.len());
    let differ = (0..old.len()).filter(|at| old.as_bytes()[*at] != new.as_bytes()[*at]);
    differ
        .map(|at| {
            let end = new[at..].find(['\r', '\n']).map_or(new.len(), |end| at + end);
            let start = new[..at].rfind('\n').map_or(0, |start| start + 1);
            new[start..end].trim().to_owned()
        })
        .collect()
}

#[test]
fn a_plan_with_task_sections_is_read() {
    check(
        "docs/plans/attempts.md",
        SECTIONS,
        &[
            "T-1 done count failed attempts | ",
            "T-2 pending answer 429 at login | each step is done (`docs/plans/attempts.md`, line 43): \
             ask `retryAfter` before the password is compared; tests for both answers | [\"T-1\"]",
            "T-2.5 pending tell the user | each step is done (`docs/plans/attempts.md`, line 60): \
             write `docs/login.md`; name the limit | [\"T-2\"]",
            "AC-1 `npm test -- attempts` passes | npm test -- attempts",
            "AC-2 types | npm run typecheck",
            "AC-3 Tests pass | Does this hold? Tests pass",
            "AC-4 A locked account learns when it may try again | Does this hold? A locked account \
             learns when it may try again",
            "line 12: left out: `this is no task` is below no task heading; move it below one to \
             have it done",
            "line 18: \"Tests pass\" names no command, so it is reviewed",
            "line 19: \"A locked account learns when it may try again\" names no command, so it is \
             reviewed",
            "line 68: left out: `watch the log for a day` is below no task heading; move it below \
             one to have it done",
            "line 72: left out: `ask the team` is below no task heading; move it below one to have \
             it done",
        ],
    );
    let plan = plan_of("docs/plans/attempts.md", SECTIONS).plan;
    assert_eq!(
        plan.prompt,
        "Carry out the plan: Limit login attempts\nThe whole plan is in `docs/plans/attempts.md`. Ralph ticks \
         its boxes; do not edit it."
    );
}

#[test]
fn a_list_of_boxes_is_read_in_its_order() {
    check(
        ".ralph/@fix_plan.md",
        FIX_PLAN,
        &[
            "T-1 pending Write the guide | it is as `.ralph/@fix_plan.md`, line 4, says",
            "T-2 pending Store the counts in `src/counts.ts` | each step is done \
             (`.ralph/@fix_plan.md`, line 7): a map; tests",
            "T-3 done Answer 429 | ",
            "T-4 pending Write the guide | it is as `.ralph/@fix_plan.md`, line 14, says",
            "T-5 done Set the project up | ",
            "T-6 pending Count by address too | it is as `.ralph/@fix_plan.md`, line 21, says",
        ],
    );
}

#[test]
fn the_tasks_of_spec_kit_and_openspec_keep_their_ids() {
    check(
        "specs/001-login/tasks.md",
        "# Tasks: Login\n\n**Input**: plan.md\n\n## Format: `[ID] [P?] [Story] Description`\n\n\
         ## Phase 1: Setup\n\n- [x] T001 Create the project\n- [ ] T002 [P] [US1] Add a form in \
         src/form.py\n- [ ] T003 [US1] Post it (depends on T001, T002)\n\n**Checkpoint**: it runs\n",
        &[
            "T001 done Create the project | ",
            "T002 pending Add a form in src/form.py | it is as `specs/001-login/tasks.md`, line 10, \
             says",
            "T003 pending Post it (depends on T001, T002) | it is as `specs/001-login/tasks.md`, line \
             11, says | [\"T001\", \"T002\"]",
        ],
    );
    check(
        "openspec/changes/login/tasks.md",
        "## 1. Form\n- [ ] 1.1 Add it\n- [ ] 1.2 Post it\n\n## 2. Validation\n- [ ] 2.1 Write tests\n",
        &[
            "1.1 pending Add it | it is as `openspec/changes/login/tasks.md`, line 2, says",
            "1.2 pending Post it | it is as `openspec/changes/login/tasks.md`, line 3, says",
            "2.1 pending Write tests | it is as `openspec/changes/login/tasks.md`, line 6, says",
        ],
    );
}

#[test]
fn a_condition_is_a_command_where_it_begins_with_one_or_is_one_behind_a_label() {
    for (text, expected) in [
        ("`go test ./...`", Some("`go test ./...` passes | go test ./...")),
        ("`npm test` passes.", Some("`npm test` passes | npm test")),
        ("`npm run build` - builds, with `tsc`.", Some("builds, with `tsc` | npm run build")),
        ("Backend: `cargo test`", Some("Backend | cargo test")),
        ("`Config` passes", None),
        ("Backend: `cargo test` passes", None),
        ("Run `cargo test`", None),
        ("Read `a.md`, then `b.md`", None),
        ("`unclosed", None),
        ("npm test", None),
    ] {
        let mut collected = Collected::default();
        let is_command = collected.command(1, text);
        let found = collected.criteria.first();
        let found = found.map(|one| format!("{} | {}", one.description, one.verification_command));
        assert_eq!((is_command, found.as_deref()), (expected.is_some(), expected), "{text}");
    }
}

#[test]
fn stories_are_read_in_the_order_of_their_priority() {
    check(
        "prd.json",
        PRD,
        &[
            "US-001 pending Count failed attempts | Typecheck passes",
            "US-002 pending Answer 429 at login | As an owner, I want attempts to be limited; The \
             6th attempt is answered with 429; Typecheck passes; Lint passes",
            "US-003 done Set it up |  | [\"US-001\"]",
            "AC-1 `npm test -- attempts` passes | npm test -- attempts",
        ],
    );
    let file = plan_of("prd.json", PRD).file("prd.json");
    assert_eq!((file.path.as_str(), file.branch.as_str()), ("prd.json", "ralph/attempts"));
}

#[test]
fn the_commands_of_a_prd_are_taken_as_they_are() {
    check(
        "prd.json",
        r#"{"userStories": [{"id": "US-1", "title": "t", "passes": true}], "verificationCommands": {"types": " tsc ", "unit": "test `./sum 1 2` = 3", "none": " ", "odd": 7}}"#,
        &["US-1 done t | ", "AC-1 types passes | tsc", "AC-2 unit passes | test `./sum 1 2` = 3"],
    );
}

#[test]
fn a_plan_of_ralplan_keeps_its_block_and_has_its_boxes_ticked() {
    let plan = plan_of(".omc/plans/attempts.md", RALPLAN);
    assert_eq!(plan.format, PlanFormat::Ralplan);
    assert_eq!(plan.plan, crate::tasks::plan::parse(RALPLAN).unwrap());
    let new = ticked(&plan, RALPLAN, &["T-2"]).text.unwrap();
    assert_eq!(changes(RALPLAN, &new), ["- [x] T-2: ask it in `src/login.ts`"]);
    let unboxed = RALPLAN.replace("- [ ] ", "1. ");
    assert_eq!(format(&unboxed), None, "nothing can be ticked: a plan of our own");
    let example = SECTIONS.replace("```markdown", "```json").replace("~", "");
    assert_eq!(format(&example), Some(PlanFormat::Markdown), "an example is no plan");
}

#[test]
fn what_is_no_plan_is_not_taken_for_one() {
    for text in [
        "",
        "# Title\n\ntext\n",
        "{\"task_graph\": []}",
        "{\"task_graph\": [], \"userStories\": []}",
        "{\"tasks\": []}",
        "[1]",
        "```json\n{}\n```\n",
    ] {
        assert_eq!(format(text), None, "{text}");
    }
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_with_its_lines() {
    check_refused(
        "a.md",
        "- [ ] a\n\n## Validation commands\n\n- `echo ok`\n```sh\nnpm test || true\nfor x in a; do\n```\n",
        &[
            "line 5: `echo ok` proves nothing: it succeeds whatever the work is; name a command that \
             fails until the work is done, or remove the line",
            "line 6: a block of code is not read; write each command as - `COMMAND`",
        ],
    );
    check_refused(
        "a.md",
        "### Task 1: a\nDepends on: Task 2\n- [ ] x\n### Task 2: b\nDepends on: Task 1\n- [ ] y\n### Task 3:\n- [ ] z\n",
        &["line 1: T-1 → T-2 → T-1 is a dependency cycle; remove one dependency"],
    );
    check_refused(
        "prd.json",
        "{\"userStories\": [\n{},\n",
        &["line 3: the plan is not JSON: EOF while parsing a value at line 3 column 0"],
    );
    check_refused(
        "prd.json",
        "{\n \"userStories\": [\n  {\"id\": \"US-1\"},\n  7]}",
        &[
            "line 4: not a story: invalid type: integer `7`, expected struct StoryText at line 1 column 1; \
             write an object with `id`, `title`, `acceptanceCriteria` and `passes`",
        ],
    );
    check_refused(
        "prd.json",
        "{\n \"userStories\": [\n  {\"id\": \"US-1\"}, {\"id\": \"US-2\", \"title\": \"t\", \"dependsOn\": [\"US-9\"]}]}",
        &[
            "line 3: the story has no title; write `\"title\": \"WHAT IS TO BE DONE\"`",
            "line 3: US-1 has no name; write the task in words",
            "line 3: US-2 depends on US-9, which does not exist; add that task or remove the dependency",
        ],
    );
    check_refused(
        "prd.json",
        "{\"userStories\": {}}",
        &["line 1: the stories are not a list; write `\"userStories\": […]`"],
    );
}

#[test]
fn only_the_boxes_of_done_tasks_change() {
    let plan = plan_of("plan.md", SECTIONS);
    let old = SECTIONS.replace('\n', "\r\n");
    let old = format!("\u{feff}{old}").replace("at login\r\n", "at login  \t\r\n");
    let ticks = ticked(&plan, &old, &["T-1", "T-2"]);
    assert_eq!(ticks.lost, Vec::<String>::new());
    assert_eq!(
        changes(&old, &ticks.text.unwrap()),
        ["- [x] ask `retryAfter` before the password is compared", "- [x] tests for both answers",]
    );
    let plan = plan_of("fix_plan.md", FIX_PLAN);
    let new = ticked(&plan, FIX_PLAN, &["T-2", "T-4"]).text.unwrap();
    assert_eq!(
        changes(FIX_PLAN, &new),
        [
            "- [x] Store the counts in `src/counts.ts`",
            "- [x] a map",
            "- [x] tests",
            "- [x] Write the guide",
        ]
    );
}

#[test]
fn of_a_story_only_the_value_of_passes_changes() {
    let plan = plan_of("prd.json", PRD);
    let ticks = ticked(&plan, PRD, &["US-002", "US-003"]);
    assert_eq!(ticks.lost, [""; 0]);
    let new = ticks.text.unwrap();
    let expected = PRD.replacen("\"passes\": false,\n", "\"passes\": true,\n", 1);
    assert_eq!(new, expected);
    let marked = format!("\u{feff}{PRD}");
    let new = ticked(&plan, &marked, &["US-001"]).text.unwrap();
    assert_eq!(new, marked.replacen("\"passes\" :  false", "\"passes\" :  true", 1));
    for broken in ["{", "{\"userStories\": [{\"id\": \"US-001\"}]}", "{}"] {
        let ticks = ticked(&plan, broken, &["US-001"]);
        assert_eq!((ticks.text, ticks.lost), (None, vec!["US-001".to_owned()]), "{broken}");
    }
}

#[test]
fn a_story_is_found_by_its_id_and_else_by_its_title() {
    let stories = |rows: [(&str, &str, bool); 2]| {
        let row = |(id, title, passes)| json!({"id": id, "title": title, "passes": passes});
        json!({"userStories": rows.map(row)}).to_string()
    };
    let plan = plan_of("prd.json", &stories([("US-1", "a", false), ("US-2", "a", false)]));
    for (now, after) in [
        (("US-1", "US-2"), Some((true, false))),
        (("US-2", "US-1"), Some((false, true))),
        (("US-8", "US-9"), None),
        (("US-1", "US-1"), None),
    ] {
        let text = stories([(now.0, "a", false), (now.1, "a", false)]);
        let ticks = ticked(&plan, &text, &["US-1"]);
        let expected = after.map(|of| stories([(now.0, "a", of.0), (now.1, "a", of.1)]));
        assert_eq!(
            (ticks.text, ticks.lost.len()),
            (expected, usize::from(after.is_none())),
            "{now:?}"
        );
    }
    let text = stories([("US-8", "a", false), ("US-9", "b", false)]);
    let expected = stories([("US-8", "a", true), ("US-9", "b", false)]);
    assert_eq!(ticked(&plan, &text, &["US-1"]).text, Some(expected));
}

#[test]
fn a_box_is_found_again_by_its_words_and_left_when_two_could_be_meant() {
    let text = "## A\n- [ ] one\n- [ ] two\n## B\n- [ ] one\n";
    let plan = plan_of("a.md", text);
    let check = |edited: &str, done: &str, expected: &[&str], lost: &[&str]| {
        let ticks = ticked(&plan, edited, &[done]);
        let new = ticks.text.unwrap_or_else(|| edited.to_owned());
        assert_eq!(changes(edited, &new), expected, "{edited}");
        assert_eq!(ticks.lost, lost, "{edited}");
    };
    // `one` of the second section, wherever the lines went.
    check("# New\n\n## B\ntext\n* [ ] one\n## A\n- [ ] one\n", "T-3", &["* [x] one"], &[]);
    check("## A\n- [ ] one\n- [ ] one\n## B\n- [ ] one\n", "T-1", &[], &["T-1"]);
    check("## C\n- [ ] one\n- [ ] one\n", "T-1", &[], &["T-1"]);
    check("## C\n- [ ] two\n", "T-2", &["- [x] two"], &[]);
    check("## A\n- [ ] two\n- [ ] two\n", "T-2", &[], &["T-2"]);
    check("## A\n- [x] two\n", "T-2", &[], &[]);
    check("```\n- [ ] two\n```\n", "T-2", &[], &["T-2"]);
    let steps = "### Task 1: a\n- [ ] x\n- [ ] y\n";
    let plan = plan_of("a.md", steps);
    let edited = "### Task 1: a\n- [ ] x\n- [ ] new\n- [ ] y\n- [ ] y\n";
    let new = ticked(&plan, edited, &["T-1"]).text.unwrap();
    assert_eq!(changes(edited, &new), ["- [x] x"], "a new step stays open");
}

#[test]
fn of_equal_tasks_in_one_section_each_keeps_its_box() {
    let text = "- [ ] a\n- [ ] a\n- [ ] a\n";
    let plan = plan_of("a.md", text);
    let new = ticked(&plan, text, &["T-2"]).text.unwrap();
    assert_eq!(new, "- [ ] a\n- [x] a\n- [ ] a\n");
}

/// Draws of a small generator; the seed repeats a failure.
struct Draws(u64);

impl Draws {
    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        choices[usize::try_from(self.0 >> 33).unwrap() % choices.len()]
    }
}

#[test]
fn whatever_is_written_around_the_boxes_stays_as_it_is() {
    for seed in 0..400_u64 {
        let mut draws = Draws(seed);
        let end = draws.pick(&["\n", "\r\n"]);
        let mut text = draws.pick(&["", "\u{feff}", "---\na: [ ]\n---\n"]).to_owned();
        for number in 1..=6 {
            text.push_str(draws.pick(&[
                "",
                "<!-- - [ ] no -->\n",
                "```\n- [ ] no\n```\n",
                "# Ümlaut\n",
            ]));
            let heading = draws.pick(&[
                "",
                "## High Priority",
                "### Task %: née",
                "## Task % - ö",
                "#### Step %. x",
            ]);
            text.push_str(&heading.replace('%', &number.to_string()));
            text.push_str(end);
            for _ in 0..3 {
                let bullet = draws.pick(&["- ", "* ", "+ ", "1. ", "  - ", "\t* ", "2) "]);
                let mark = draws.pick(&["[ ] ", "[x] ", "[X] ", "[ ]  ", ""]);
                let words = draws.pick(&[
                    "é – a",
                    "run `x` [ ]",
                    "**b**: c",
                    "T-1: d",
                    "depends on Task 2",
                    "x\t ",
                ]);
                text.push_str(&format!("{bullet}{mark}{words}{end}"));
            }
        }
        let Some(form) = format(&text) else { continue };
        let Ok(plan) = read(form, "plan.md", &text) else { continue };
        let ids: Vec<&str> = plan.plan.tasks.iter().map(|task| task.id.as_str()).collect();
        let ticks = ticked(&plan, &text, &ids);
        assert_eq!(ticks.lost, Vec::<String>::new(), "seed {seed}: {text}");
        let new = ticks.text.unwrap_or_else(|| text.clone());
        for (old, new) in text.bytes().zip(new.bytes()).filter(|(old, new)| old != new) {
            assert_eq!((old, new), (b' ', b'x'), "seed {seed}: {text}");
        }
        let after = read(form_of(&new), "plan.md", &new).expect("it is still a plan");
        let open =
            after.plan.tasks.iter().filter(|task| task.status != crate::state::TaskStatus::Done);
        let without_box = |id: &str| !after.tasks.iter().any(|one| one.task == id);
        assert!(open.clone().all(|task| without_box(&task.id)), "seed {seed}: {new}");
    }
}

fn form_of(text: &str) -> PlanFormat {
    format(text).expect("a form is recognised")
}

#[test]
fn the_file_of_a_plan_of_ralplan_has_the_boxes_of_its_tasks() {
    let tasks = crate::tasks::plan::parse(RALPLAN).unwrap().tasks;
    let file = ralplan_file("a.md", RALPLAN, &tasks).unwrap();
    assert_eq!(file, plan_of("a.md", RALPLAN).file("a.md"));
    assert_eq!((file.path.as_str(), file.format), ("a.md", PlanFormat::Ralplan));
    assert!(!file.tasks.is_empty());
    assert_eq!(ralplan_file("a.md", "# no box\n", &tasks), None);
    assert_eq!(ralplan_file("a.md", RALPLAN, &[]), None);
}

#[test]
fn a_goal_says_what_the_plan_is_about_and_who_ticks_its_boxes() {
    let whole = "The whole plan is in `p`. Ralph ticks its boxes; do not edit it.";
    for (title, about, expected) in [
        ("", "", format!("Carry out the plan. {whole}")),
        ("a", "", format!("Carry out the plan: a\n{whole}")),
        ("", "b", format!("Carry out the plan: b\n{whole}")),
        ("a", "b", format!("Carry out the plan: a. b\n{whole}")),
    ] {
        assert_eq!(goal(title, about, "p"), expected);
    }
    let note = |line| PlanNote { line, what: "left out".to_owned() }.to_string();
    assert_eq!((note(0), note(1)), ("left out".to_owned(), "line 1: left out".to_owned()));
}
