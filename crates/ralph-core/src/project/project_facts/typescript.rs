//! `tsconfig.json`: the options that decide how code must be written, and where the output goes.

use super::{Fact, FileFormat, Project, shape, show};
use serde_json::Value;

/// In order of preference; only the first that exists is described.
const FILES: [&str; 3] = ["tsconfig.json", "tsconfig.base.json", "jsconfig.json"];

/// The options that matter most for writing code.
const OPTIONS: [&str; 26] = [
    "strict",
    "target",
    "module",
    "moduleResolution",
    "jsx",
    "baseUrl",
    "paths",
    "rootDir",
    "outDir",
    "noEmit",
    "noUncheckedIndexedAccess",
    "exactOptionalPropertyTypes",
    "verbatimModuleSyntax",
    "isolatedModules",
    "erasableSyntaxOnly",
    "allowImportingTsExtensions",
    "noImplicitAny",
    "strictNullChecks",
    "noUnusedLocals",
    "noUnusedParameters",
    "noImplicitReturns",
    "experimentalDecorators",
    "incremental",
    "composite",
    "allowJs",
    "lib",
];

pub(super) fn fact(project: &dyn Project) -> Option<Fact> {
    let read = |name: &'static str| Some((name, project.document(name, FileFormat::Json)?));
    let (name, config) = FILES.into_iter().find_map(read).filter(|(_, text)| text.is_object())?;
    let mut lines = Vec::new();
    lines.extend(options("compilerOptions", &config));
    lines.extend(inherited(project, &config));
    for key in ["include", "exclude", "files"] {
        let mut patterns = shape::texts(&config[key]);
        patterns.retain(|pattern| *pattern != "node_modules");
        if !patterns.is_empty() {
            lines.push(format!("{key}: {}", show::list(patterns, 8)));
        }
    }
    lines.extend(references(&config));
    lines.extend(others(project, name));
    let extends = shape::texts(&config["extends"]);
    let extends = match extends.is_empty() {
        true => String::new(),
        false => format!(": extends {}", show::list(extends, 4)),
    };
    let says_something = !lines.is_empty() || !extends.is_empty();
    says_something.then(|| Fact { heading: format!("{name}{extends}"), lines })
}

fn options(heading: &str, config: &Value) -> Option<String> {
    let options = &config["compilerOptions"];
    let shown: Vec<String> = OPTIONS
        .iter()
        .filter_map(|name| Some(format!("{name} {}", value(&options[*name])?)))
        .collect();
    (!shown.is_empty()).then(|| format!("{heading}: {}", shown.join(", ")))
}

fn value(value: &Value) -> Option<String> {
    match value {
        Value::Bool(set) => Some(set.to_string()),
        Value::String(text) => Some(show::quoted(text)),
        Value::Array(_) => {
            Some(show::list(shape::texts(value), 4)).filter(|shown| !shown.is_empty())
        }
        Value::Object(_) => Some(paths(value)).filter(|shown| !shown.is_empty()),
        Value::Null | Value::Number(_) => None,
    }
}

/// Import prefixes that stand for another folder.
fn paths(paths: &Value) -> String {
    let shown: Vec<String> = shape::members(paths)
        .filter_map(|(from, targets)| Some(format!("{from} -> {}", shape::texts(targets).first()?)))
        .collect();
    show::list(shown.iter().map(String::as_str), 6)
}

/// The options of a configuration in the project that this one extends.
fn inherited(project: &dyn Project, config: &Value) -> Option<String> {
    let is_own = |name: &&str| !name.split('/').any(|part| part == "..");
    let own = shape::texts(&config["extends"])
        .into_iter()
        .find_map(|name| name.strip_prefix("./").filter(is_own))?;
    let document = project.document(own, FileFormat::Json);
    let document =
        document.or_else(|| project.document(&format!("{own}.json"), FileFormat::Json))?;
    options(&format!("inherited from {}", show::quoted(own)), &document)
}

fn references(config: &Value) -> Option<String> {
    let references = config["references"].as_array()?;
    let paths: Vec<&str> =
        references.iter().filter_map(|reference| reference["path"].as_str()).collect();
    (!paths.is_empty()).then(|| format!("references: {}", show::list(paths, 8)))
}

fn others(project: &dyn Project, told: &str) -> Option<String> {
    let entries = project.folder("".as_ref())?.entries;
    let is_other =
        |name: &&str| name.starts_with("tsconfig.") && name.ends_with(".json") && *name != told;
    let names: Vec<&str> =
        entries.iter().map(|entry| entry.name.as_str()).filter(is_other).collect();
    (!names.is_empty()).then(|| format!("also {}", show::list(names, 8)))
}

#[cfg(test)]
mod tests {
    use super::fact;
    use crate::project::fixture::ProjectFixture;

    #[test]
    fn the_options_that_matter_in_their_order() {
        let text = r#"{
            // for the bundler
            "compilerOptions": {"skipLibCheck": true, "target": "ES2022", "strict": true,
                "paths": {"@/*": ["./src/*"], "x": 3}, "lib": ["dom"], "jsx": 7, "noEmit": {}, "module": []},
            "include": ["src", "types"], "exclude": ["node_modules", "dist"],
            "references": [{"path": "./a"}, 3],
        }"#;
        ProjectFixture::new().file("tsconfig.json", text).file("tsconfig.node.json", "{}").tells(
            fact,
            "tsconfig.json\n  \
             compilerOptions: strict true, target \"ES2022\", paths \"@/* -> ./src/*\", \
             lib \"dom\"\n  \
             include: \"src\", \"types\"\n  \
             exclude: \"dist\"\n  \
             references: \"./a\"\n  \
             also \"tsconfig.node.json\"",
        );
    }

    #[test]
    fn what_it_extends_is_named_and_looked_into_where_it_is_the_projects_own() {
        let text = r#"{"extends": ["@tsconfig/node22/tsconfig.json", "./base"]}"#;
        ProjectFixture::new()
            .file("tsconfig.json", text)
            .file("base.json", r#"{"compilerOptions": {"noEmit": true}}"#)
            .tells(
                fact,
                "tsconfig.json: extends \"@tsconfig/node22/tsconfig.json\", \"./base\"\n  \
                 inherited from \"base\": noEmit true",
            );
        ProjectFixture::new()
            .file("tsconfig.json", r#"{"extends": "./../base.json"}"#)
            .file("../base.json", r#"{"compilerOptions": {"noEmit": true}}"#)
            .tells(fact, "tsconfig.json: extends \"./../base.json\"");
    }

    #[test]
    fn what_has_another_shape_is_left_out() {
        for text in ["", "3", "[]", "{}", r#"{"compilerOptions": 3, "references": {}}"#] {
            ProjectFixture::new().file("tsconfig.json", text).tells_nothing(fact);
        }
        ProjectFixture::new().tells_nothing(fact);
    }
}
