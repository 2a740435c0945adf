//! The hooks of ours that stand in the front matter of skills, as the client would start them.
//!
//! They are no part of any settings file: a skill brings its own, from the moment at which it is typed until
//! the session ends. Where one cannot be started, the client says so at every tool call of such a session.

use super::super::install::shipped::SHIPPED;
use super::super::places::InstallPaths;
use super::super::screen::visible;
use super::check::{Check, fail};
use super::plugin::Plugin;
use super::settings::{RegisteredHook, hooks_in, project_root};
use crate::context::yaml;
use ralph_core::protocol::registration::Origin;
use ralph_io::project::user_files;
use std::path::{Path, PathBuf};

/// A skill with hooks of ours, or one of ours whose hooks nobody can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Skill {
    /// Its name: that of its folder.
    pub(super) name: String,
    /// The file.
    pub(super) file: PathBuf,
    /// Whose it is.
    pub(super) of: SkillOwner,
    /// What its hooks are told as `CLAUDE_PLUGIN_ROOT`: the plugin's folder, else its own.
    pub(super) root: PathBuf,
    /// Its hooks, with folders in the place of variables; none where they cannot be read.
    pub(super) hooks: Option<Vec<RegisteredHook>>,
}

/// Where a skill lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkillOwner {
    /// Below the person's own configuration.
    Person,
    /// In the project.
    Project,
    /// In the plugin.
    Plugin,
}

/// All of them that the client would load here.
pub(super) fn gather(plugin: Option<&Plugin>, places: &InstallPaths) -> Vec<Skill> {
    let project = project_root(&places.current);
    let mut folders = vec![(SkillOwner::Person, places.config.join("skills"))];
    folders.push((SkillOwner::Project, project.join(".claude/skills")));
    folders.extend(
        plugin.and_then(Plugin::root).map(|root| (SkillOwner::Plugin, root.join("skills"))),
    );
    // Standing in the home folder, the project's skills are the person's own.
    folders.dedup_by(|one, before| one.1 == before.1);
    let mut skills = Vec::new();
    for (of, folder) in folders {
        for name in user_files::names(&folder) {
            let folder = folder.join(&name);
            let root = plugin.and_then(Plugin::root).filter(|_| of == SkillOwner::Plugin);
            let root = root.unwrap_or(&folder);
            skills.extend(read(&folder.join("SKILL.md"), name, of, (root, project)));
        }
    }
    skills
}

/// One line for each skill of ours whose hooks the client cannot read.
pub(super) fn check_readable(skills: &[Skill]) -> Vec<Check> {
    let unreadable = skills.iter().filter(|skill| skill.hooks.is_none());
    let told = unreadable.map(|skill| {
        let shown = visible(&skill.file.display().to_string());
        let detail = format!("the front matter of `{shown}` is not YAML: its hooks never run");
        fail("registration", detail, skill.of.cure())
    });
    told.collect()
}

impl SkillOwner {
    /// What to do about a file of theirs.
    pub(super) fn cure(self) -> &'static str {
        match self {
            SkillOwner::Person => {
                "look at that file; `ralph install` writes it anew where nobody has edited it"
            }
            SkillOwner::Project => {
                "look at that file; `ralph install --project DIR` writes it anew where nobody has edited it"
            }
            SkillOwner::Plugin => super::plugin::CURE,
        }
    }
}

fn read(file: &Path, name: String, of: SkillOwner, roots: (&Path, &Path)) -> Option<Skill> {
    let text = user_files::find(file).ok()?.text?;
    let front_matter = front_matter(&text)?;
    let has_hooks = front_matter.lines().any(|line| line.starts_with("hooks:"));
    let is_shipped = SHIPPED.iter().any(|one| one.path == format!("skills/{name}/SKILL.md"));
    let hooks = match yaml::read(&front_matter) {
        Some(value) => Some(hooks_in(&value, Origin::Skill)),
        // What somebody else has written wrong is not for us to tell.
        None if has_hooks && is_shipped => None,
        None => return None,
    };
    if hooks.as_ref().is_some_and(Vec::is_empty) {
        return None;
    }
    let hooks = hooks.map(|hooks| hooks.into_iter().map(|hook| filled_in(hook, roots)).collect());
    Some(Skill { name, file: file.to_owned(), of, root: roots.0.to_owned(), hooks })
}

/// What stands between the first line, if that is three dashes, and the next such line.
fn front_matter(text: &str) -> Option<String> {
    let is_fence = |line: &&str| line.trim_end() == "---";
    let mut lines = text.lines();
    lines.next().filter(is_fence)?;
    let inside: Vec<&str> = lines.by_ref().take_while(|line| !is_fence(line)).collect();
    Some(inside.join("\n") + "\n")
}

/// In exec form there is no shell to do it, so the client puts the folders in itself.
fn filled_in(hook: RegisteredHook, (root, project): (&Path, &Path)) -> RegisteredHook {
    let Some(args) = &hook.args else { return hook };
    let fill = |word: &str| {
        let word = word.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy());
        word.replace("${CLAUDE_PROJECT_DIR}", &project.to_string_lossy())
    };
    RegisteredHook {
        command: fill(&hook.command),
        args: Some(args.iter().map(|word| fill(word)).collect()),
        ..hook
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOK: &str = "hooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: \"${CLAUDE_PLUGIN_ROOT}/ralph-stop-hook\"\n          args: [wait, skill]\n";

    fn skill(name: &str, text: &str) -> Option<Skill> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("SKILL.md");
        std::fs::write(&file, text).unwrap();
        read(
            &file,
            name.to_owned(),
            SkillOwner::Person,
            (Path::new("/skill"), Path::new("/project")),
        )
    }

    #[test]
    fn hooks_are_taken_as_the_client_starts_them() {
        let found = skill("mine", &format!("---\r\nname: x\n{HOOK}---\nbody\n---\n")).unwrap();
        let hooks = found.hooks.unwrap();
        assert_eq!((hooks.len(), hooks[0].event.as_str()), (1, "Stop"));
        assert_eq!(hooks[0].command, "/skill/ralph-stop-hook");
        assert_eq!(hooks[0].args.as_deref().unwrap(), ["wait", "skill"]);
    }

    #[test]
    fn what_is_not_ours_is_not_looked_at() {
        let theirs = HOOK.replace("ralph-stop-hook", "their-hook");
        assert_eq!(skill("ralph", &format!("---\n{theirs}---\n")), None);
        assert_eq!(skill("ralph", &format!("body\n---\n{HOOK}---\n")), None);
        assert_eq!(skill("ralph", "---\nname: x\n---\n"), None);
        assert_eq!(skill("theirs", "---\nhooks: [\n---\n"), None);
    }

    #[test]
    fn one_of_ours_that_is_no_yaml_is_told() {
        let found = skill("ralph", "---\nhooks: [\n---\n").unwrap();
        assert_eq!(found.hooks, None);
        let told = check_readable(&[found]).remove(0).to_string();
        assert!(told.contains("SKILL.md` is not YAML: its hooks never run; look at"), "{told}");
    }
}
