//! `go.mod`: the module, its version of Go, and what it requires directly.

use super::{Fact, Project, show};

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let text = project.text("go.mod")?;
    let word_after = |key: &str| {
        text.lines().find_map(|line| line.trim().strip_prefix(key)?.split_whitespace().next())
    };
    let module = word_after("module ")?;
    let version = word_after("go ").map(|version| format!(", go {}", show::quoted(version)));
    let heading = format!("go.mod: module {}{}", show::quoted(module), version.unwrap_or_default());
    let required: Vec<&str> = text.lines().filter_map(required).collect();
    let lines = match required.is_empty() {
        true => Vec::new(),
        false => vec![format!("requires {}", show::list(required, 12))],
    };
    Some(Fact { heading, lines })
}

/// The module that a line requires; what others need of it is not the project's own choice.
fn required(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("require ").unwrap_or(line);
    let mut words = line.split_whitespace();
    let (module, version) = (words.next()?, words.next()?);
    let is_direct =
        module.contains('.') && version.starts_with('v') && !line.contains("// indirect");
    is_direct.then_some(module)
}

#[cfg(test)]
mod tests {
    use super::super::world::World;

    #[test]
    fn module_version_and_direct_requirements() {
        let text = "module example.com/a\n\ngo 1.22\n\nrequire github.com/x/y v1.2.3\n\nrequire (\n\
                    \tgithub.com/z/w v0.1.0\n\tgolang.org/x/sys v0.2.0 // indirect\n)\n";
        World::new().file("go.mod", text).tells(
            super::fact,
            "go.mod: module \"example.com/a\", go \"1.22\"\n  requires \"github.com/x/y\", \"github.com/z/w\"",
        );
    }

    #[test]
    fn without_a_module_there_is_nothing_to_tell() {
        World::new().file("go.mod", "// nothing\n").tells_nothing(super::fact);
        World::new().tells_nothing(super::fact);
    }
}
