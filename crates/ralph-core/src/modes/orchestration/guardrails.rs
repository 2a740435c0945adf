//! The guardrails of an orchestration, from `<SESSION_ID>.instructions.md` next to its folder.
//!
//! They are in the front matter, or in a line of their own as `max_cycles: 3`. A missing or unreadable
//! value falls back to the default; an unreadable one is reported.

use super::files::OrchestrationFile;
use super::finding::OrchestrationFinding;
use super::yaml::{self, Yaml};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guardrails {
    /// `planning.max_cycles`: question cycles before the plan is broken into tasks.
    pub max_cycles: u32,
    /// `retries.max_subagent_retries`: how often a failed task is executed again.
    pub max_subagent_retries: u32,
    /// `timeouts.task_wip_minutes`: how long a task may stay in progress.
    pub task_wip_minutes: u32,
    /// `concurrency.max_parallel_executors`.
    pub max_parallel_executors: u32,
    /// `concurrency.max_parallel_reviewers`.
    pub max_parallel_reviewers: u32,
}

impl Default for Guardrails {
    fn default() -> Self {
        Guardrails {
            max_cycles: 2,
            max_subagent_retries: 1,
            task_wip_minutes: 60,
            max_parallel_executors: 4,
            max_parallel_reviewers: 4,
        }
    }
}

/// Section, name, minimum and maximum of each limit.
const NAMES: [(&str, &str, u32, u32); 5] = [
    ("planning", "max_cycles", 0, 100),
    ("retries", "max_subagent_retries", 0, 100),
    ("timeouts", "task_wip_minutes", 1, 10_080),
    ("concurrency", "max_parallel_executors", 1, 32),
    ("concurrency", "max_parallel_reviewers", 1, 32),
];

impl Guardrails {
    /// Reads the instructions of an orchestration, and returns what is wrong with them.
    pub fn parse(text: &str) -> (Guardrails, Vec<OrchestrationFinding>) {
        let mut rails = Guardrails::default();
        let mut findings = Vec::new();
        let mut tell = |line: usize, what: String| {
            findings.push(OrchestrationFile::Instructions.notice(line, what))
        };
        let yaml = match Yaml::in_front(text) {
            Some(Ok(yaml)) => yaml,
            Some(Err(flaw)) => {
                tell(flaw.line, format!("the front matter is ignored: {}", flaw.what));
                Yaml::default()
            }
            None => Yaml::default(),
        };
        for (group, name, least, most) in NAMES {
            let at = |path: &[&str]| Some((yaml.text(path)?.to_owned(), yaml.line(path)?));
            let said = at(&[group, name]).or_else(|| at(&[name])).or_else(|| in_body(text, name));
            let Some((said, line)) = said else { continue };
            match said.parse().ok().filter(|number| (least..=most).contains(number)) {
                Some(number) => *rails.limit_mut(name) = number,
                None => {
                    let default = *rails.limit_mut(name);
                    tell(
                        line,
                        format!("`{name}: {said}` is not from {least} to {most}; it is {default}"),
                    );
                }
            }
        }
        (rails, findings)
    }

    fn limit_mut(&mut self, name: &str) -> &mut u32 {
        match name {
            "max_cycles" => &mut self.max_cycles,
            "max_subagent_retries" => &mut self.max_subagent_retries,
            "task_wip_minutes" => &mut self.task_wip_minutes,
            "max_parallel_executors" => &mut self.max_parallel_executors,
            _ => &mut self.max_parallel_reviewers,
        }
    }
}

/// Reads `- max_cycles: 3` or `max_cycles: 3` from the body, with its line.
fn in_body(text: &str, name: &str) -> Option<(String, usize)> {
    yaml::body(text).find_map(|(number, line)| {
        let item = line.trim_start().trim_start_matches(['-', '*']).trim_start();
        let said = item.strip_prefix(name)?.strip_prefix(':')?;
        Some((said.trim().to_owned(), number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: [u32; 5], findings: &[usize]) {
        let (rails, found) = Guardrails::parse(text);
        let Guardrails {
            max_cycles,
            max_subagent_retries,
            task_wip_minutes,
            max_parallel_executors,
            max_parallel_reviewers,
        } = rails;
        assert_eq!(
            [
                max_cycles,
                max_subagent_retries,
                task_wip_minutes,
                max_parallel_executors,
                max_parallel_reviewers
            ],
            expected
        );
        assert_eq!(found.iter().map(|one| one.line).collect::<Vec<_>>(), findings, "{found:?}");
    }

    #[test]
    fn what_is_not_said_is_as_by_default() {
        check("", [2, 1, 60, 4, 4], &[]);
        check("# Prose\nmax_cycles at all\n", [2, 1, 60, 4, 4], &[]);
        check("max_parallel_executors: 2\n", [2, 1, 60, 2, 4], &[]);
    }

    #[test]
    fn guardrails_stand_in_the_front_matter_or_under_headings() {
        check(
            "---\nconcurrency:\n  max_parallel_executors: 3\nplanning:\n  max_cycles: 5\nretries:\n  \
             max_subagent_retries: 0\ntimeouts:\n  task_wip_minutes: 90\n---\n# Text\n",
            [5, 0, 90, 3, 4],
            &[],
        );
        check(
            "---\napplyTo: x\n---\n## Planning\n- max_cycles: 0\n## Concurrency\n* max_parallel_reviewers: 1\n",
            [0, 1, 60, 4, 1],
            &[],
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_and_counts_for_nothing() {
        check(
            "---\nplanning:\n  max_cycles: many\n---\n- task_wip_minutes: 0\n",
            [2, 1, 60, 4, 4],
            &[3, 5],
        );
        check("---\nplanning: [\n---\n- max_cycles: 3\n", [3, 1, 60, 4, 4], &[3]);
    }
}
