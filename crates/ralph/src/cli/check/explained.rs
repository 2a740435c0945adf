//! `ralph check --explain`: which checks apply to a file, why, and how each is run.

use crate::check::{self, CheckOrder};
use crate::command::exit::Exit;
use crate::command::screen::{self, visible};
use anyhow::Result;
use ralph_core::project::check::{Check, CheckKind, CheckMethod, Parser};
use ralph_io::store::checks::line_of;
use serde_json::json;

pub(super) fn run(order: &CheckOrder<'_>, as_json: bool) -> Result<Exit> {
    let targets = check::targets(order)?;
    if as_json {
        let files: Vec<_> = targets
            .iter()
            .map(|target| {
                let checks: Vec<_> = target.items.iter().map(|item| document(&item.check)).collect();
                let lacking: Vec<_> = target
                    .lacking
                    .iter()
                    .map(|one| json!({"name": one.name, "why": one.why}))
                    .collect();
                json!({"file": target.name(), "root": target.root, "checks": checks, "lacking": lacking})
            })
            .collect();
        screen::print_json(&json!({"schema_version": 1, "files": files}))?;
        return Ok(Exit::Done);
    }
    let mut blocks = Vec::new();
    for target in &targets {
        let root = target.root.display().to_string();
        let mut text = format!("{} in {}", visible(&target.name()), visible(&root));
        for item in &target.items {
            text.push_str(&told(&item.check));
            if let Some(took) = target.took_last(item) {
                text.push_str(&format!("\n      took {:.1} s last", took.as_secs_f64()));
            }
        }
        for lacking in &target.lacking {
            let line = format!("\n  {} does not run: {}", lacking.name, lacking.why);
            text.push_str(&visible(&line).replace("\\n", "\n"));
        }
        if target.items.is_empty() && target.lacking.is_empty() {
            text.push_str("\n  no check applies");
        }
        blocks.push(text);
    }
    screen::print(&blocks.join("\n\n"))?;
    Ok(Exit::Done)
}

fn told(check: &Check) -> String {
    let folder = check.folder.display().to_string();
    format!(
        "\n  {} ({}): {}\n      {}\n      in {}",
        visible(&check.name),
        kind(check.kind),
        visible(&check.why),
        visible(&how(&check.by)),
        visible(&folder)
    )
}

fn document(check: &Check) -> serde_json::Value {
    json!({"name": check.name, "kind": kind(check.kind), "why": check.why,
        "command": how(&check.by), "folder": check.folder})
}

fn kind(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Fix => "fixes",
        CheckKind::Look => "looks",
        CheckKind::Test => "tests",
    }
}

fn how(by: &CheckMethod) -> String {
    match by {
        CheckMethod::Program(program) => line_of(program, None),
        CheckMethod::Filter(program) => {
            format!("{} with the file as its input", line_of(program, None))
        }
        CheckMethod::Shell(line) => line.clone(),
        CheckMethod::Parser(Parser::Json) => "Ralph's own parser of JSON".to_owned(),
        CheckMethod::Parser(Parser::JsonWithComments) => {
            "Ralph's own parser of JSON, comments allowed".to_owned()
        }
        CheckMethod::Parser(Parser::Toml) => "Ralph's own parser of TOML".to_owned(),
        CheckMethod::Parser(Parser::Yaml) => "Ralph's own parser of YAML".to_owned(),
    }
}
