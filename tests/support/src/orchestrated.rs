//! Scripted agents of an orchestration: what each writes when it is called.

use std::collections::BTreeMap;
use std::path::Path;

/// A call of an agent, read from its prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    pub kind: String,
    pub prompt: String,
}

impl Called {
    /// The value of this field in the prompt.
    pub fn said(&self, name: &str) -> String {
        let line = self.prompt.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_default().to_owned()
    }

    /// The mode. Two agents get no `MODE` field; the attempt number tells them apart.
    pub fn mode(&self) -> String {
        match (self.said("MODE").as_str(), self.prompt.contains("\nATTEMPT_NUMBER: ")) {
            ("", true) => "EXECUTE".to_owned(),
            ("", false) => "TASK_REVIEW".to_owned(),
            (mode, _) => mode.to_owned(),
        }
    }

    /// `EXECUTE task-1`, `SESSION_REVIEW`
    pub fn short(&self) -> String {
        format!("{} {}", self.mode(), self.said("TASK_ID")).trim().to_owned()
    }
}

/// The calls that a text from Ralph names.
pub fn calls_in(text: &str) -> Vec<Called> {
    let Some((_, next)) = text.rsplit_once("Next: ") else { return Vec::new() };
    // Cut off what the client adds around it.
    let next = next.split("\n<").next().unwrap();
    let parts: Vec<&str> = next.split("subagent_type `").skip(1).collect();
    let call = |part: &&str| {
        let (kind, rest) = part.split_once('`').unwrap();
        let (_, prompt) = rest.split_once(":\n").unwrap();
        let prompt = prompt.split("\nCall ").next().unwrap().trim_end();
        Called { kind: kind.to_owned(), prompt: prompt.to_owned() }
    };
    parts.iter().map(call).collect()
}

#[derive(Debug, Clone, Default)]
pub struct Script {
    /// The tasks' ids, with their dependencies.
    pub tasks: Vec<(&'static str, &'static str)>,
    /// How often a reviewer fails each task before qualifying it.
    pub fails: BTreeMap<&'static str, usize>,
    /// The assessment in each iteration's review, from the first.
    pub assessments: Vec<&'static str>,
}

/// Six tasks in three waves.
pub fn six_tasks() -> Script {
    Script {
        tasks: vec![
            ("task-1", ""),
            ("task-2", ""),
            ("task-3", "task-1"),
            ("task-4", "task-1"),
            ("task-5", "task-2"),
            ("task-6", "task-3, task-4, task-5"),
        ],
        fails: BTreeMap::new(),
        assessments: vec!["Complete"],
    }
}

impl Script {
    /// The files that the agent of this call writes: path below the
    /// orchestration's folder, and content.
    pub fn writes(&self, folder: &Path, call: &Called) -> Vec<(String, String)> {
        let read = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap_or_default();
        let task = call.said("TASK_ID");
        let iteration: usize = call.said("ITERATION").parse().unwrap_or(1);
        let marked = |id: &str, mark: &str| {
            vec![("progress.md".to_owned(), set_mark(&read("progress.md"), id, mark))]
        };
        let file = |path: String, text: &str| vec![(path, text.to_owned())];
        match call.mode().as_str() {
            "INITIALIZE" => laid_out(folder.file_name().unwrap().to_str().unwrap()),
            "brainstorm" => {
                [file("questions/risks.md".into(), "# Risks\n"), marked("plan-brainstorm", "[x]")]
                    .concat()
            }
            "research" if iteration > 1 => marked("plan-reresearch", "[x]"),
            "research" => marked("plan-research", "[x]"),
            "TASK_BREAKDOWN" => {
                let tasks = self.tasks.iter();
                let tasks = tasks.map(|(id, deps)| (format!("tasks/{id}.md"), task_file(id, deps)));
                tasks.chain(marked("plan-breakdown", "[x]")).collect()
            }
            "EXECUTE" => {
                let attempt: u32 = call.said("ATTEMPT_NUMBER").parse().unwrap();
                let path = match attempt {
                    1 => format!("reports/{task}-report.md"),
                    more => format!("reports/{task}-report-r{more}.md"),
                };
                let text = format!(
                    "---\ntask_id: {task}\niteration: {iteration}\n---\n## PART 1: IMPLEMENTATION REPORT\nDone.\n\
                     ## PART 2: REVIEW REPORT\n"
                );
                [file(path, &text), marked(&task, "[P]")].concat()
            }
            "TASK_REVIEW" => {
                let path = call.said("REPORT_PATH");
                let failed = self.fails.get(task.as_str()).copied().unwrap_or_default();
                let attempt = path
                    .split("-r")
                    .last()
                    .and_then(|rest| rest.trim_end_matches(".md").parse().ok());
                let is_failed = attempt.unwrap_or(1) <= failed;
                let (word, mark) = if is_failed { ("Failed", "[F]") } else { ("Qualified", "[x]") };
                let text = format!("{}**Status**: {word}\n", read(&path));
                [file(path, &text), marked(&task, mark)].concat()
            }
            "TIMEOUT_FAIL" => marked(&task, "[F]"),
            "SESSION_REVIEW" => {
                let says = self.assessments.get(iteration - 1).unwrap_or(&"Complete");
                let text = format!("# Review\n## Overall Assessment\n**Status**: {says}\n");
                file(format!("iterations/{iteration}/review.md"), &text)
            }
            "UPDATE_METADATA" => {
                let text = read("metadata.yaml");
                let lines = text.lines().map(|line| match line.starts_with("status:") {
                    true => format!("status: {}", call.said("STATUS")),
                    false => line.to_owned(),
                });
                let lines: Vec<String> = lines.collect();
                file("metadata.yaml".into(), &(lines.join("\n") + "\n"))
            }
            "feedback-analysis" => {
                [file(call.said("OUTPUT"), "# Questions\n"), marked("plan-rebrainstorm", "[x]")]
                    .concat()
            }
            "UPDATE" => {
                [file("plan.md".into(), "Goal: two doors\n"), marked("plan-update", "[x]")].concat()
            }
            "REBREAKDOWN" => {
                let id = format!("fix-{iteration}");
                let new = file(format!("tasks/{id}.md"), &task_file(&id, ""));
                [new, marked("plan-rebreakdown", "[x]")].concat()
            }
            "REBREAKDOWN_TASK" => marked(&task, "[C]"),
            "REPAIR_STATE" => repaired(&read("progress.md")),
            mode => panic!("no agent knows the mode {mode}"),
        }
    }
}

/// Removes lines with the invalid mark `[?]`.
fn repaired(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("[?]")).collect();
    vec![("progress.md".to_owned(), lines.join("\n") + "\n")]
}

pub fn set_mark(text: &str, id: &str, mark: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_entry = |line: &String| {
        let rest = line.strip_prefix("- [").and_then(|rest| rest.get(3..));
        rest.is_some_and(|rest| rest.split([' ', '(']).next() == Some(id))
    };
    let at = lines.iter().rposition(is_entry).unwrap_or_else(|| panic!("no {id} in {text}"));
    let rest = lines[at].split_once("] ").unwrap().1.to_owned();
    lines[at] = format!("- {mark} {rest}");
    lines.join("\n") + "\n"
}

fn task_file(id: &str, deps: &str) -> String {
    format!(
        "---\nid: {id}\niteration: 1\n---\n# Task: {id}\n## Title\nDo {id}\n## Objective\nIt.\n## Success Criteria\n\
         - [ ] it is\n## Dependencies\ndepends_on: [{deps}]\n"
    )
}

fn laid_out(id: &str) -> Vec<(String, String)> {
    let progress = "# Progress\n\n## Legend\n- `[ ]` open\n- `[/]` started\n- `[P]` review\n- `[x]` done\n- `[F]` failed\n\
                    - `[C]` cancelled\n\n## Planning Progress (Iteration 1)\n- [x] plan-init\n- [ ] plan-brainstorm\n\
                    - [ ] plan-research\n- [ ] plan-breakdown\n\n## Implementation Progress (Iteration 1)\n";
    let metadata = format!(
        "version: 1\nsession_id: {id}\ncreated_at: 2026-01-31T12:00:00Z\nupdated_at: 2026-01-31T12:00:00Z\n\
         status: in_progress\niteration: 1\norchestrator:\n  state: PLANNING\ntasks:\n  total: 0\n  completed: 0\n  \
         failed: 0\n  pending: 0\n"
    );
    let of_iteration = "iteration: 1\nstarted_at: 2026-01-31T12:00:00Z\n";
    [
        ("plan.md", "Goal: a door\n"),
        ("progress.md", progress),
        ("metadata.yaml", &metadata),
        ("iterations/1/metadata.yaml", of_iteration),
    ]
    .map(|(path, text)| (path.to_owned(), text.to_owned()))
    .to_vec()
}
