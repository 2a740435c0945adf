//! `go.mod` and `go.work`: the module, its version of Go, and what it requires directly.

use super::{Fact, Project, show};

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let module = project.text("go.mod").unwrap_or_default();
    let work = project.text("go.work").unwrap_or_default();
    let name = directives(&module, "module").next();
    let used: Vec<&str> = directives(&work, "use").map(word).collect();
    let (file, text) = match name {
        Some(_) => ("go.mod", &module),
        None if used.is_empty() => return None,
        None => ("go.work", &work),
    };
    let name = name.map(|name| format!("module {}", show::quoted(word(name))));
    let version = directives(text, "go").next();
    let version = version.map(|version| format!("go {}", show::quoted(word(version))));
    let told: Vec<String> = [name, version].into_iter().flatten().collect();
    let required = directives(&module, "require").filter(|line| !line.contains("// indirect"));
    let lines = [
        line("go.work uses", used),
        line("requires", required.map(word).collect()),
        line("replaces", directives(&module, "replace").map(word).collect()),
        line("tools", directives(&module, "tool").map(word).collect()),
    ];
    let lines = lines.into_iter().flatten().collect();
    let heading =
        if told.is_empty() { file.to_owned() } else { format!("{file}: {}", told.join(", ")) };
    Some(Fact { heading, lines })
}

fn line(heading: &str, names: Vec<&str>) -> Option<String> {
    (!names.is_empty()).then(|| format!("{heading} {}", show::list(names, 12)))
}

/// What stands after a word, on its line or on each line of its block.
fn directives<'a>(text: &'a str, wanted: &str) -> impl Iterator<Item = &'a str> {
    let mut block: Option<&str> = None;
    text.lines().map(str::trim).filter_map(move |line| {
        if line.starts_with("//") {
            return None;
        }
        if line.starts_with(')') {
            block = None;
            return None;
        }
        if let Some(open) = block {
            return (open == wanted && !line.is_empty()).then_some(line);
        }
        let (key, rest) = line.split_once(char::is_whitespace)?;
        match rest.trim_start() {
            rest if rest.starts_with('(') => {
                block = Some(key);
                None
            }
            rest => (key == wanted && !rest.is_empty()).then_some(rest),
        }
    })
}

/// The first word, which may be in quotes.
fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default().trim_matches(['"', '`'])
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;

    #[test]
    fn module_version_and_direct_requirements() {
        let text = "module example.com/a\n\ngo 1.22\n\nrequire github.com/x/y v1.2.3\n\nrequire (\n\
                    \tgithub.com/z/w v0.1.0\n\t// why\n\tgolang.org/x/sys v0.2.0 // indirect\n)\n";
        ProjectFixture::new().file("go.mod", text).tells(
            fact,
            "go.mod: module \"example.com/a\", go \"1.22\"\n  requires \"github.com/x/y\", \"github.com/z/w\"",
        );
    }

    #[test]
    fn only_what_is_required_is_told_as_required() {
        let text = "module \"a.b/c\"\nreplace (\n\ta.b/x v1.0.0 => ../x\n)\nexclude (\n\ta.b/y v1\n)\n\
                    retract v1.0.0\ntool a.b/z/cmd\n";
        ProjectFixture::new()
            .file("go.mod", text)
            .tells(fact, "go.mod: module \"a.b/c\"\n  replaces \"a.b/x\"\n  tools \"a.b/z/cmd\"");
    }

    #[test]
    fn a_workspace_names_its_folders() {
        ProjectFixture::new()
            .file("go.work", "go 1.23\nuse (\n\t./api\n\t./web\n)\nuse ./cli\n")
            .tells(fact, "go.work: go \"1.23\"\n  go.work uses \"./api\", \"./web\", \"./cli\"");
    }

    #[test]
    fn without_a_module_there_is_nothing_to_tell() {
        ProjectFixture::new().file("go.mod", "// nothing\n").tells_nothing(fact);
        ProjectFixture::new().file("go.mod", "module\ngo (\n").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
