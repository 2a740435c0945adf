//! The versions of languages and tools that the project pins, each with the files that say so.
//!
//! Two files that disagree make two lines: which one wins is not ours to guess.

use super::{Fact, FileFormat, Project, shape, show};
use serde_json::Value;

/// Files that hold nothing but one version, and what it is the version of.
const FILES: [(&str, &str); 10] = [
    (".nvmrc", "node"),
    (".node-version", "node"),
    (".bun-version", "bun"),
    (".python-version", "python"),
    (".ruby-version", "ruby"),
    (".java-version", "java"),
    (".go-version", "go"),
    (".php-version", "php"),
    (".terraform-version", "terraform"),
    (".opentofu-version", "opentofu"),
];

/// The most tools that are told of.
const TOOLS: usize = 16;

/// A tool with a version, and where that stands.
type Pin = (String, String, &'static str);

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let pins = [of_files(project), of_lists(project), of_manifests(project)].concat();
    let mut lines: Vec<(String, String, Vec<&str>)> = Vec::new();
    for (tool, version, file) in pins {
        let (tool, version) = (known_as(&tool).to_owned(), plainly(&version).to_owned());
        let known = lines.iter().position(|line| line.0 == tool && line.1 == version);
        match known {
            Some(at) if lines[at].2.contains(&file) => {}
            Some(at) => lines[at].2.push(file),
            None if lines.len() < TOOLS => lines.push((tool, version, vec![file])),
            None => {}
        }
    }
    let mut lines: Vec<String> = lines
        .into_iter()
        .map(|(tool, version, files)| {
            format!("{} {}: {}", show::quoted(&tool), show::quoted(&version), files.join(", "))
        })
        .collect();
    lines.extend(images(project));
    (!lines.is_empty()).then(|| Fact { heading: "pinned versions".to_owned(), lines })
}

fn of_files(project: &dyn Project) -> Vec<Pin> {
    let pin = |(file, tool): (&'static str, &str)| {
        let text = project.text(file)?;
        let line = text.lines().map(str::trim).find(|line| is_content(line))?;
        Some((tool.to_owned(), line.to_owned(), file))
    };
    FILES.into_iter().filter_map(pin).collect()
}

fn is_content(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

/// Files that pin one tool after the other.
fn of_lists(project: &dyn Project) -> Vec<Pin> {
    let text = project.text(".tool-versions").unwrap_or_default();
    let mut pins: Vec<Pin> = text
        .lines()
        .filter(|line| is_content(line))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned(), ".tool-versions"))
        })
        .take(TOOLS)
        .collect();
    for file in ["mise.toml", ".mise.toml", ".config/mise.toml"] {
        let document = project.document(file, FileFormat::Toml).unwrap_or_default();
        pins.extend(table(&document["tools"], file));
    }
    pins
}

/// A version, several of them, or a table with one.
fn table(tools: &Value, file: &'static str) -> Vec<Pin> {
    let version = |value: &Value| {
        let version = value["version"].as_str().map(str::to_owned);
        version.or_else(|| shape::texts(value).first().map(|text| (*text).to_owned()))
    };
    shape::members(tools)
        .filter_map(|(tool, value)| Some((tool.to_owned(), version(value)?, file)))
        .take(TOOLS)
        .collect()
}

/// Files that are about more than versions.
fn of_manifests(project: &dyn Project) -> Vec<Pin> {
    let manifest = project.document("package.json", FileFormat::Json).unwrap_or_default();
    let mut pins = table(&manifest["volta"], "package.json volta");
    pins.extend(table(&manifest["engines"], "package.json engines"));
    pins.extend(rust(project));
    let module = project.text("go.mod").unwrap_or_default();
    let toolchain = module.lines().find_map(|line| line.trim().strip_prefix("toolchain "));
    pins.extend(toolchain.map(|version| ("go".to_owned(), version.trim().to_owned(), "go.mod")));
    let sdk = project.document("global.json", FileFormat::Json).unwrap_or_default();
    let sdk = sdk["sdk"]["version"].as_str().map(str::to_owned);
    pins.extend(sdk.map(|version| ("dotnet".to_owned(), version, "global.json")));
    pins
}

/// The older form of the file is nothing but the name of a toolchain.
fn rust(project: &dyn Project) -> Option<Pin> {
    ["rust-toolchain.toml", "rust-toolchain"].into_iter().find_map(|file| {
        let document = project.document(file, FileFormat::Toml).unwrap_or_default();
        let channel = document["toolchain"]["channel"].as_str().map(str::to_owned);
        let plain = || {
            let text = project.text(file).filter(|_| file == "rust-toolchain")?;
            let line = text.lines().map(str::trim).find(|line| is_content(line))?;
            (!line.contains(['[', '='])).then(|| line.to_owned())
        };
        Some(("rust".to_owned(), channel.or_else(plain)?, file))
    })
}

/// The images that the project's own one is made from.
fn images(project: &dyn Project) -> Option<String> {
    let text = project.text("Dockerfile")?;
    let (mut images, mut stages) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let is_from = words.next().is_some_and(|word| word.eq_ignore_ascii_case("from"));
        let Some(image) = words.find(|word| !word.starts_with("--")).filter(|_| is_from) else {
            continue;
        };
        if image != "scratch" && !stages.contains(&image) && !images.contains(&image) {
            images.push(image);
        }
        stages.extend(words.nth(1));
        if images.len() == TOOLS || stages.len() == 4 * TOOLS {
            break;
        }
    }
    (!images.is_empty()).then(|| format!("Dockerfile: from {}", show::list(images, 6)))
}

fn known_as(tool: &str) -> &str {
    match tool {
        "nodejs" => "node",
        "golang" => "go",
        tool => tool,
    }
}

/// `v22.1.0`, `go1.24.1` and `ruby-3.4` are versions with a name before them.
fn plainly(version: &str) -> &str {
    let begins = ["v", "go", "ruby-", "python-"];
    let bare = begins.iter().find_map(|begin| version.strip_prefix(begin));
    bare.filter(|bare| bare.starts_with(|letter: char| letter.is_ascii_digit())).unwrap_or(version)
}

#[cfg(test)]
mod tests {
    use super::super::world::ProjectFixture;
    use super::fact;
    use serde_json::json;

    #[test]
    fn one_line_for_a_version_whatever_says_so() {
        ProjectFixture::new()
            .file(".nvmrc", "# lts\nv22.1.0\n")
            .file(".tool-versions", "nodejs 22.1.0\n# x\nruby 3.4.1 3.3\nalone\n")
            .file(".ruby-version", "ruby-3.4.1\n")
            .file("package.json", r#"{"engines": {"node": ">=20"}, "volta": {"node": "22.1.0"}}"#)
            .tells(
                fact,
                "pinned versions\n  \
                 \"node\" \"22.1.0\": .nvmrc, .tool-versions, package.json volta\n  \
                 \"ruby\" \"3.4.1\": .ruby-version, .tool-versions\n  \
                 \"node\" \">=20\": package.json engines",
            );
    }

    #[test]
    fn every_other_place_is_read() {
        let tools = json!({"go": ["1.24", "1.23"], "jq": {"version": "1.7"}, "x": 3});
        ProjectFixture::new()
            .document("mise.toml", json!({"tools": tools, "env": {"A_KEY": "hunter2"}}))
            .document("rust-toolchain.toml", json!({"toolchain": {"channel": "1.95"}}))
            .file("go.mod", "module a\ntoolchain go1.24.1\n")
            .file("global.json", r#"{"sdk": {"version": "9.0.100"}}"#)
            .tells(
                fact,
                "pinned versions\n  \
                 \"go\" \"1.24\": mise.toml\n  \
                 \"jq\" \"1.7\": mise.toml\n  \
                 \"rust\" \"1.95\": rust-toolchain.toml\n  \
                 \"go\" \"1.24.1\": go.mod\n  \
                 \"dotnet\" \"9.0.100\": global.json",
            );
        ProjectFixture::new()
            .file("rust-toolchain", "nightly-2026-01-01\n")
            .tells(fact, "pinned versions\n  \"rust\" \"nightly-2026-01-01\": rust-toolchain");
    }

    #[test]
    fn an_image_is_told_and_a_stage_is_not() {
        let text = "# x\nARG A=b\nFROM --platform=linux/amd64 node:22 AS build\nRUN from x\n\
                    from build AS next\nFROM scratch\nFROM nginx\nFROM\n";
        ProjectFixture::new()
            .file("Dockerfile", text)
            .tells(fact, "pinned versions\n  Dockerfile: from \"node:22\", \"nginx\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        ProjectFixture::new()
            .document("mise.toml", json!({"tools": 3}))
            .document("rust-toolchain.toml", json!({"toolchain": 3}))
            .file("package.json", r#"{"engines": "x", "volta": [1]}"#)
            .file("global.json", "[")
            .file("rust-toolchain", "[toolchain]\nprofile = 'minimal'\n")
            .file(".nvmrc", "\n\n")
            .file("Dockerfile", "FROM")
            .tells_nothing(fact);
        ProjectFixture::new().tells_nothing(fact);
    }
}
