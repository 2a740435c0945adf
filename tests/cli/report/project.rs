//! A home and a project of a test's own, and the real executable.

use super::story::{ID, Story};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

pub(crate) struct ReportProject {
    folder: tempfile::TempDir,
}

impl ReportProject {
    pub(crate) fn new() -> ReportProject {
        let place = ReportProject { folder: ralph_test_support::private_folder("ralph-test-") };
        ["home", "project", "ralph"]
            .iter()
            .for_each(|name| fs::create_dir(place.at(name)).unwrap());
        place
    }

    /// With this loop, archived.
    pub(crate) fn with(story: &Story) -> ReportProject {
        let place = ReportProject::new();
        story.keep(&place.at("ralph"));
        place
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn ralph(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ralph"));
        command.args(arguments).env_clear().current_dir(self.at("project"));
        command.env("HOME", self.at("home")).env("RALPH_HOME", self.at("ralph"));
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.output().unwrap()
    }

    /// What it prints; it must have been done.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.ralph(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it says when it refuses, and its exit code.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.ralph(arguments);
        assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code().unwrap(),
            said.replace(self.folder.path().to_str().unwrap(), "[ROOT]"),
        )
    }

    /// The page of the story.
    pub(crate) fn page(&self) -> PathBuf {
        let path = self.at("page.html");
        self.done(&["report", ID, "--html", path.to_str().unwrap()]);
        path
    }
}

impl ReportProject {
    pub(crate) const SESSION: &str = "260131-120000";

    /// With an orchestrated session in its second iteration, which is over.
    pub(crate) fn with_session() -> ReportProject {
        let place = ReportProject::new();
        place.done(&["session", "new", "--id", ReportProject::SESSION, "Build a door"]);
        for (name, text) in SESSION_FILES {
            let path = place.at("project/.ralph-sessions").join(ReportProject::SESSION).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }
}

const SESSION_FILES: [(&str, &str); 16] = [
    ("plan.md", "Goal: a door\n"),
    ("plan.iteration-1.md", "Goal: a door\n"),
    (
        "metadata.yaml",
        "version: 9\nsession_id: 260131-120000\ncreated_at: 2026-01-31T12:00:00Z\n\
         updated_at: 2026-01-31T14:00:00Z\nstatus: completed\niteration: 2\norchestrator:\n  \
         state: COMPLETE\n  current_wave: null\ntasks:\n  total: 3\n  completed: 3\n  failed: 0\n  \
         pending: 0\n",
    ),
    (
        "progress.md",
        "# Progress\n\n## Legend\n- `[ ]` Not started\n- `[/]` In progress\n- `[P]` Pending review\n\
         - `[x]` Completed\n- `[F]` Failed\n- `[C]` Cancelled\n\n## Planning Progress (Iteration 1)\n\
         - [x] plan-init\n- [x] plan-brainstorm\n- [x] plan-research\n- [x] plan-breakdown\n\n\
         ## Implementation Progress (Iteration 1)\n- [x] task-1\n- [x] task-2\n\n\
         ## Planning Progress (Iteration 2)\n- [x] plan-update\n\n\
         ## Implementation Progress (Iteration 2)\n- [x] task-3\n",
    ),
    (
        "tasks/task-1.md",
        "---\nid: task-1\niteration: 1\n---\n# Task: task-1\n## Title\nSaw the wood\n## Objective\nIt.\n## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: []\n",
    ),
    (
        "tasks/task-2.md",
        "---\nid: task-2\niteration: 1\n---\n# Task: task-2\n## Title\nHang it on `two` hinges\n## Objective\nIt.\n## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: [task-1]\n",
    ),
    (
        "tasks/task-3.md",
        "---\nid: task-3\niteration: 2\n---\n# Task: task-3\n## Title\nPaint it <b>green</b>\n## Objective\nIt.\n## Success Criteria\n- [ ] it is\n## Dependencies\ndepends_on: [task-1, task-2]\n",
    ),
    (
        "reports/task-1-report.md",
        "---\ntask_id: task-1\niteration: 1\n---\n## PART 1: IMPLEMENTATION REPORT\n## PART 2: REVIEW REPORT\n**Status**: Qualified\n",
    ),
    (
        "reports/task-2-report.md",
        "---\ntask_id: task-2\niteration: 1\n---\n## PART 1: IMPLEMENTATION REPORT\n## PART 2: REVIEW REPORT\n**Status**: Failed\n",
    ),
    (
        "reports/task-2-report-r2.md",
        "---\ntask_id: task-2\niteration: 1\n---\n## PART 1: IMPLEMENTATION REPORT\n## PART 2: REVIEW REPORT\n**Status**: Qualified\n",
    ),
    (
        "reports/task-3-report.md",
        "---\ntask_id: task-3\niteration: 2\n---\n## PART 1: IMPLEMENTATION REPORT\n## PART 2: REVIEW REPORT\n**Status**: Qualified\n",
    ),
    (
        "iterations/1/metadata.yaml",
        "iteration: 1\nstarted_at: 2026-01-31T12:00:00Z\nplanning_completed_at: 2026-01-31T12:20:00Z\ncompleted_at: 2026-01-31T13:10:00Z\n",
    ),
    ("iterations/1/review.md", "# Session Review\n## Overall Assessment\n**Status**: Complete\n"),
    (
        "iterations/2/metadata.yaml",
        "iteration: 2\nstarted_at: 2026-01-31T13:30:00Z\nplanning_completed_at: 2026-01-31T13:35:00Z\ncompleted_at: 2026-01-31T14:00:00Z\n",
    ),
    ("iterations/2/review.md", "# Session Review\n## Overall Assessment\n**Status**: Complete\n"),
    (
        "iterations/2/feedbacks/20260131-133000/feedbacks.md",
        "---\niteration: 2\ntimestamp: 2026-01-31T13:30:00Z\nprevious_iteration: 1\n---\n# Feedback\n## Critical Issues\n- [ ] **ISS-001**: It squeaks\n## Quality Issues\n## New Requirements\n- Make it green\n",
    ),
];
