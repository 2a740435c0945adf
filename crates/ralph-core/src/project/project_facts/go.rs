//! `go.mod`: the module and its version of Go.

use super::{Fact, Project, show};

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let text = project.text("go.mod".as_ref())?;
    let stated = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
        let (_, rest) = lines.find(|(first, _)| *first == key)?;
        let word = rest.split_whitespace().next()?.trim_matches(['"', '`']);
        (word != "(").then(|| show::quoted(word))
    };
    let module = stated("module")?;
    let version = stated("go").map(|version| format!(", go {version}")).unwrap_or_default();
    Some(Fact::line(format!("go.mod: module {module}{version}")))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn a_module_takes_one_line() {
        let text = "// why\nmodule \"example.com/a\"\n\ngo 1.22\n\nrequire (\n\tgithub.com/z/w v0.1.0\n)\n";
        ProjectFixture::new()
            .file("go.mod", text)
            .tells(fact, "go.mod: module \"example.com/a\", go \"1.22\"");
    }

    #[test]
    fn without_a_module_there_is_nothing_to_tell() {
        ProjectFixture::new().file("go.mod", "// nothing\n").tells_nothing(fact);
        ProjectFixture::new().file("go.mod", "module\ngo (\n").tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
