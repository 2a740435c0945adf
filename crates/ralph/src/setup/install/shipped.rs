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
    "skills/ralph-build/SKILL.md",
    "skills/ralph-cancel/SKILL.md",
    "skills/ralph-parallel/SKILL.md",
    "skills/ralph-plan/SKILL.md",
    "skills/ralph-v2/SKILL.md",
    "skills/ralplan/SKILL.md",
    "skills/refine/SKILL.md",
    "skills/rp/SKILL.md",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

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
