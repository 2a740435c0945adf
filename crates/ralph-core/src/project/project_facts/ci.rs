//! The files that configure the project's CI.

use super::{EntryKind, Fact, Project, show};

const WORKFLOWS: &str = ".github/workflows";

/// Files of the other services, by folder.
const FILES: [(&str, &str); 5] = [
    ("", ".gitlab-ci.yml"),
    (".circleci", "config.yml"),
    ("", "azure-pipelines.yml"),
    ("", "bitbucket-pipelines.yml"),
    ("", ".travis.yml"),
];

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let files = |folder: &str| {
        let entries = project.folder(folder.as_ref()).unwrap_or_default().entries;
        entries.into_iter().filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.name)
    };
    let mut found: Vec<String> = files(WORKFLOWS)
        .filter(|name| name.ends_with(".yml") || name.ends_with(".yaml"))
        .map(|name| format!("{WORKFLOWS}/{name}"))
        .collect();
    let is_there = |(folder, name): &&(&str, &str)| files(folder).any(|file| file == *name);
    let path = |(folder, name): &(&str, &str)| format!("{folder}/{name}");
    found.extend(
        FILES.iter().filter(is_there).map(path).map(|path| path.trim_start_matches('/').to_owned()),
    );
    let shown = show::list(found.iter().map(String::as_str), 12);
    (!found.is_empty()).then(|| Fact::line(format!("CI: {shown}")))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn the_files_of_each_service_are_named() {
        ProjectFixture::new()
            .file(".github/workflows/ci.yml", "")
            .file(".github/workflows/notes.md", "")
            .file(".circleci/config.yml", "")
            .file(".travis.yml", "")
            .tells(
                fact,
                "CI: \".github/workflows/ci.yml\", \".circleci/config.yml\", \".travis.yml\"",
            );
        ProjectFixture::new().file("ci.yml", "").tells_nothing(fact);
    }
}
