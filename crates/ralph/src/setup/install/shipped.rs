//! The skills and agents built into the executable, so that one file is enough to install.
//!
//! A test compares this table with the folders `skills/` and `agents/`.

/// A file that is copied into the client's configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shipped {
    /// The path below the configuration folder, and in the repository.
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

impl Shipped {
    /// The text without the `hooks:` of its front matter, for an installation that registers the
    /// hooks elsewhere. With both, each hook would run twice.
    pub(crate) fn without_hooks(&self) -> String {
        let Some((front_matter, body)) =
            self.text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"))
        else {
            return self.text.to_owned();
        };
        let mut kept = String::from("---\n");
        let mut in_hooks = false;
        for line in front_matter.lines() {
            in_hooks = line == "hooks:" || (in_hooks && line.starts_with(' '));
            if !in_hooks {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        kept + "---\n" + body
    }
}

macro_rules! shipped {
    ($($path:literal),* $(,)?) => {
        &[$(Shipped {
            path: $path,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../", $path)),
        }),*]
    };
}

pub(crate) const SHIPPED: &[Shipped] = shipped![
    "agents/Ralph-v2-Executor.md",
    "agents/Ralph-v2-Planner.md",
    "agents/Ralph-v2-Questioner.md",
    "agents/Ralph-v2-Reviewer.md",
    "agents/ralph-worker.md",
    "agents/ralplan-architect.md",
    "agents/ralplan-critic.md",
    "agents/ralplan-metis.md",
    "agents/ralplan-planner.md",
    "skills/ideate/SKILL.md",
    "skills/plan-refinery/SKILL.md",
    "skills/planloop/SKILL.md",
    "skills/ralph/SKILL.md",
    "skills/ralph-cancel/SKILL.md",
    "skills/ralph-parallel/SKILL.md",
    "skills/ralph-pause/SKILL.md",
    "skills/ralph-plan/SKILL.md",
    "skills/ralph-v2/SKILL.md",
    "skills/ralplan/SKILL.md",
    "skills/refine/SKILL.md",
    "skills/rp/SKILL.md",
];

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::protocol::agents;
    use ralph_core::protocol::registration::{Location, skill_front_matter};
    use std::path::Path;

    #[test]
    fn an_installed_skill_has_everything_but_hooks() {
        let skill = SHIPPED.iter().find(|file| file.path == "skills/ralph/SKILL.md").unwrap();
        let text = skill.without_hooks();
        assert!(skill.text.contains("command: ralph-stop-hook"));
        assert!(!text.contains("hooks:\n") && !text.contains("command: ralph-"), "{text}");
        assert!(text.contains("name: ralph\n") && text.contains("allowed-tools: "), "{text}");
        let body = |text: &str| text.split_once("\n---\n").unwrap().1.to_owned();
        assert_eq!(body(&text), body(skill.text));
        let agent = SHIPPED.iter().find(|file| file.path == "agents/ralph-worker.md").unwrap();
        assert_eq!(agent.without_hooks(), agent.text);
    }

    #[test]
    fn a_shipped_skill_with_hooks_has_exactly_those_of_the_table() {
        let front_matter = skill_front_matter(Location::Path);
        for file in SHIPPED.iter().filter(|file| file.text.contains("\nhooks:")) {
            assert!(
                file.text.contains(&front_matter),
                "{} differs from\n{front_matter}",
                file.path
            );
        }
    }

    #[test]
    fn every_file_below_skills_and_agents_is_in_the_table() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut found = Vec::new();
        for folder in ["skills", "agents"] {
            list(&root, folder, &mut found);
        }
        let mut known: Vec<String> = SHIPPED.iter().map(|file| file.path.to_owned()).collect();
        found.sort();
        known.sort();
        assert_eq!(found, known);
    }

    #[test]
    fn every_agent_is_known_as_one_of_ralphs() {
        for file in SHIPPED.iter().filter(|file| file.path.starts_with("agents/")) {
            let name = Path::new(file.path).file_stem().unwrap().to_str().unwrap();
            assert!(
                agents::is_shipped(name) && agents::replaces(file.text, "").is_none(),
                "{name}"
            );
        }
    }

    fn list(root: &Path, folder: &str, found: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
        for entry in entries.flatten() {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => list(root, &path, found),
                false => found.push(path),
            }
        }
    }
}
