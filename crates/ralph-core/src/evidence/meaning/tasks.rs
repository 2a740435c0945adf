//! Task files of other tools: Taskfile, Composer, Rake, Deno, Python package managers, Mix, Grunt.

use super::resolve::{At, Resolver};
use super::text::{self, join};
use super::{Weight, python};
use serde_json::Value;

/// Follows a program known here. False for any other program.
pub(super) fn follow(resolver: &mut Resolver<'_>, name: &str, words: &[&str], at: &At) -> bool {
    let plain: Vec<&str> = words
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .copied()
        .collect();
    let first = plain.first().copied();
    match name {
        "task" | "go-task" => taskfile(resolver, first.unwrap_or("default"), at),
        "composer" | "composer.phar" => {
            let script = match plain.as_slice() {
                ["run-script" | "run", script, ..] | [script, ..] => *script,
                [] => return true,
            };
            composer(resolver, script, at, 0);
        }
        "rake" => rake(resolver, first.unwrap_or("default"), at),
        "tox" => python::tox(resolver, at),
        "nox" => python::nox(resolver, words, at),
        "hatch" if first == Some("test") => of_python_manager(resolver, "hatch", "test", at),
        "poe" | "poethepoet" => of_python_manager(resolver, "poe", first.unwrap_or_default(), at),
        "invoke" | "inv" => of_functions(resolver, &["tasks.py"], "task", at),
        "doit" => of_functions(resolver, &["dodo.py"], "", at),
        "mise" | "rtx" if matches!(first, Some("run" | "r")) => {
            mise(resolver, plain.get(1).copied().unwrap_or_default(), at);
        }
        "grunt" => whole(resolver, &["Gruntfile.js", "Gruntfile.cjs", "gruntfile.js"], at),
        "gulp" => {
            whole(resolver, &["gulpfile.js", "gulpfile.mjs", "gulpfile.cjs", "gulpfile.ts"], at)
        }
        "pre-commit" => whole(resolver, &[".pre-commit-config.yaml"], at),
        "ant" => whole(resolver, &["build.xml"], at),
        "earthly" => whole(resolver, &["Earthfile"], at),
        "ninja" => whole(resolver, &["build.ninja"], at),
        "mix" | "lein" | "sbt" | "zig" | "stack" | "cabal" | "flutter" | "dart" | "meson" => {
            let files: &[&str] = match name {
                "mix" => &["mix.exs"],
                "lein" => &["project.clj"],
                "sbt" => &["build.sbt"],
                "zig" => &["build.zig"],
                "meson" => &["meson.build"],
                "dart" | "flutter" => &["dart_test.yaml"],
                _ => &["package.yaml"],
            };
            whole(resolver, files, at);
        }
        _ => return false,
    }
    true
}

/// Records a whole file: any part of it may decide what is tested.
fn whole(resolver: &mut Resolver<'_>, names: &[&str], at: &At) {
    for name in names {
        let Some(path) = join(&at.folder, name) else { continue };
        let Some(source) = resolver.text(&path) else { continue };
        let told = match path.ends_with(".yaml") || path.ends_with(".yml") {
            true => text::indented(&source, "#"),
            false => without_dependencies(&source),
        };
        resolver.meaning.add(path, Weight::Frozen, Some(told));
    }
}

/// The text of a build file without the lines that only name dependencies.
pub(super) fn without_dependencies(source: &str) -> String {
    let is_dependency = |line: &&str| {
        let line = line.trim();
        line.starts_with("{:")
            || line.contains("libraryDependencies")
            || line.starts_with("version")
    };
    let kept: Vec<&str> = source.lines().filter(|line| !is_dependency(line)).collect();
    text::lines(&text::code(&kept.join("\n")), &["#"])
}

fn taskfile(resolver: &mut Resolver<'_>, task: &str, at: &At) {
    for name in
        ["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml"]
    {
        let Some(path) = join(&at.folder, name) else { continue };
        let Some(source) = resolver.text(&path) else { continue };
        for key in ["vars", "env", "dotenv", "set", "shopt", "includes"] {
            let told = text::block(&source, |line| line.starts_with(&format!("{key}:")));
            if let Some(told) = told {
                resolver.meaning.add(
                    format!("`{key}` of {path}"),
                    Weight::Frozen,
                    Some(text::indented(&told, "#")),
                );
            }
        }
        one_of_taskfile(resolver, &path, &source, task, at);
        return;
    }
    resolver.meaning.add(format!("task `{task}`"), Weight::Frozen, None);
}

fn one_of_taskfile(resolver: &mut Resolver<'_>, path: &str, source: &str, task: &str, at: &At) {
    if !resolver.is_first(&format!("task {task} of {path}")) || at.depth > 6 {
        return;
    }
    let tasks = text::block(source, |line| line.starts_with("tasks:")).unwrap_or_default();
    let block = text::block(&tasks, |line| {
        line.starts_with([' ', '\t'])
            && line.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'', ':'])
                == task
            || line.trim().starts_with(&format!("{task}: "))
            || line.trim() == format!("{task}:")
    });
    let told = block.as_deref().map(|block| text::indented(block, "#"));
    resolver.meaning.add(format!("task `{task}` of {path}"), Weight::Frozen, told);
    for line in block.unwrap_or_default().lines().skip(1) {
        let line = line.trim().trim_start_matches("- ").trim_start_matches("cmd: ").trim();
        if let Some(other) = line.strip_prefix("task: ") {
            one_of_taskfile(resolver, path, source, other.trim(), &at.deeper(&at.folder));
        } else if let Some(needs) = line.strip_prefix("deps:") {
            for need in needs.split(['[', ']', ',', ' ']).filter(|need| !need.is_empty()) {
                one_of_taskfile(resolver, path, source, need, &at.deeper(&at.folder));
            }
        } else {
            resolver.line(line.trim_matches(['"', '\'']), &at.deeper(&at.folder));
        }
    }
}

fn composer(resolver: &mut Resolver<'_>, script: &str, at: &At, depth: usize) {
    let Some(path) = join(&at.folder, "composer.json") else { return };
    let scripts = resolver.json(&path).map(|all| all["scripts"].clone()).unwrap_or_default();
    if depth > 5 || !resolver.is_first(&format!("script {script} of {path}")) {
        return;
    }
    let lines: Vec<String> = match &scripts[script] {
        Value::String(line) => vec![text::line(line)],
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).map(text::line).collect(),
        _ => Vec::new(),
    };
    let told = (!lines.is_empty()).then(|| lines.join("\n"));
    resolver.meaning.add_shell(format!("script `{script}` of {path}"), Weight::Frozen, told);
    for line in lines {
        let line =
            line.strip_prefix("@php ").or_else(|| line.strip_prefix("@putenv ")).unwrap_or(&line);
        match line.strip_prefix('@') {
            Some(other) => {
                let other = other.strip_prefix("composer ").unwrap_or(other);
                let other = other.trim_start_matches("run-script ").trim_start_matches("run ");
                composer(resolver, other.split(' ').next().unwrap_or_default(), at, depth + 1);
            }
            None => resolver.line(line, &at.deeper(&at.folder)),
        }
    }
}

fn rake(resolver: &mut Resolver<'_>, task: &str, at: &At) {
    let mut files: Vec<String> = ["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]
        .iter()
        .filter_map(|name| join(&at.folder, name))
        .collect();
    for folder in ["lib/tasks", "rakelib", "tasks"] {
        let Some(folder) = join(&at.folder, folder) else { continue };
        let names = resolver.names(&folder);
        files.extend(
            names
                .iter()
                .filter(|name| name.ends_with(".rake"))
                .filter_map(|name| join(&folder, name)),
        );
    }
    let mut open = vec![task.to_owned()];
    let mut is_there = false;
    while let Some(task) = open.pop() {
        if !resolver.is_first(&format!("rake {task}")) {
            continue;
        }
        for path in &files {
            let Some(source) = resolver.text(path) else { continue };
            let names = [
                format!(":{task}"),
                format!("{task}:"),
                format!("\"{task}\""),
                format!("'{task}'"),
                format!("(:{task}"),
            ];
            let opens = |line: &str| {
                let line = line.trim();
                (line.starts_with("task")
                    || line.contains("TestTask.new")
                    || line.contains("RakeTask.new"))
                    && names.iter().any(|name| {
                        line.split([' ', ',']).any(|word| {
                            word.trim_start_matches("Rake::TestTask.new").contains(name.as_str())
                        })
                    })
            };
            let Some(block) = text::block(&source, opens) else { continue };
            is_there = true;
            resolver.meaning.add(
                format!("task `{task}` of {path}"),
                Weight::Frozen,
                Some(text::lines(&block, &["#", "desc"])),
            );
            let head = block.lines().next().unwrap_or_default();
            let needs = head
                .split_once("=>")
                .map_or_else(|| head.split_once(": ").map_or("", |(_, n)| n), |(_, n)| n);
            open.extend(
                needs
                    .split(['[', ']', ',', ' ', ':', '"', '\''])
                    .filter(|need| !need.is_empty() && *need != "do")
                    .map(str::to_owned),
            );
            for line in block.lines().filter(|line| line.trim().starts_with("sh ")) {
                let line = line.trim().trim_start_matches("sh ").trim_matches(['"', '\'']);
                resolver.line(line, &at.deeper(&at.folder));
            }
        }
    }
    if !is_there {
        resolver.meaning.add(format!("task `{task}` of Rakefile"), Weight::Frozen, None);
    }
}

/// The tasks that Python package managers read from `pyproject.toml` or a file of their own.
pub(super) fn of_python_manager(resolver: &mut Resolver<'_>, manager: &str, task: &str, at: &At) {
    let task = task.rsplit(':').next().unwrap_or(task);
    for name in
        ["pyproject.toml", "Pipfile", "pixi.toml", "hatch.toml", "poe_tasks.toml", "devbox.json"]
    {
        let Some(path) = join(&at.folder, name) else { continue };
        let all = if name.ends_with(".json") { resolver.json(&path) } else { resolver.toml(&path) };
        let Some(all) = all else { continue };
        let tool = &all["tool"];
        let tables = [
            &tool["pdm"]["scripts"],
            &tool["rye"]["scripts"],
            &tool["pixi"]["tasks"],
            &tool["poe"]["tasks"],
            &tool["poetry"]["scripts"],
            &all["scripts"],
            &all["tasks"],
            &all["shell"]["scripts"],
        ];
        let mut found: Vec<Value> = tables.iter().map(|table| table[task].clone()).collect();
        let hatch = if name == "hatch.toml" { &all["envs"] } else { &tool["hatch"]["envs"] };
        for environment in hatch.as_object().into_iter().flat_map(|all| all.values()) {
            found.push(environment["scripts"][task].clone());
        }
        for value in found.into_iter().filter(|value| !value.is_null()) {
            resolver.meaning.add(
                format!("task `{task}` of {path}"),
                Weight::Frozen,
                Some(value.to_string()),
            );
            if resolver.is_first(&format!("task {task} of {path} for {manager}")) {
                python::commands_within(resolver, &value, at);
            }
        }
    }
}

fn mise(resolver: &mut Resolver<'_>, task: &str, at: &At) {
    for name in ["mise.toml", ".mise.toml", ".mise/config.toml", "mise/config.toml"] {
        let Some(path) = join(&at.folder, name) else { continue };
        let Some(all) = resolver.toml(&path) else { continue };
        let value = match &all["tasks"][task] {
            Value::Object(task) => task.get("run").cloned().unwrap_or_default(),
            other => other.clone(),
        };
        if !value.is_null() {
            resolver.meaning.add(
                format!("task `{task}` of {path}"),
                Weight::Frozen,
                Some(value.to_string()),
            );
            python::commands_within(resolver, &value, at);
        }
    }
    for folder in ["mise-tasks", ".mise/tasks", "mise/tasks"] {
        if let Some(path) = join(&at.folder, &format!("{folder}/{task}"))
            && resolver.text(&path).is_some()
        {
            resolver.script(&path, &At { folder: String::new(), ..at.deeper("") });
        }
    }
}

fn of_functions(resolver: &mut Resolver<'_>, files: &[&str], mark: &str, at: &At) {
    for name in files {
        let Some(path) = join(&at.folder, name) else { continue };
        match resolver.text(&path) {
            Some(source) => functions(resolver, &path, &source, mark, Weight::Grows),
            None => resolver.meaning.add(format!("tasks of {path}"), Weight::Frozen, None),
        }
    }
}

/// Records each function of a Python file with this decorator as a separate piece.
pub(super) fn functions(
    resolver: &mut Resolver<'_>,
    path: &str,
    source: &str,
    mark: &str,
    weight: Weight,
) {
    let mut open: Option<(String, String)> = None;
    let mut decorators = String::new();
    let mut rest = String::new();
    let mut done = Vec::new();
    for line in source.lines() {
        let at_margin = !line.starts_with([' ', '\t', ')', '#']) && !line.trim().is_empty();
        if at_margin {
            done.extend(open.take());
            if line.starts_with('@') {
                decorators.push_str(line);
                decorators.push('\n');
                continue;
            }
            if let Some(name) = line.strip_prefix("def ").and_then(|rest| rest.split('(').next())
                && (mark.is_empty() || decorators.contains(mark))
            {
                open =
                    Some((name.to_owned(), format!("{}{line}\n", std::mem::take(&mut decorators))));
                continue;
            }
            decorators.clear();
        }
        match &mut open {
            Some((_, body)) => body.push_str(&format!("{line}\n")),
            None if !line.starts_with("import ") && !line.starts_with("from ") => {
                rest.push_str(&format!("{line}\n"))
            }
            None => {}
        }
    }
    done.extend(open);
    for (name, body) in done {
        resolver.meaning.add(
            format!("`{name}` of {path}"),
            weight,
            Some(text::indented(&body, "#")),
        );
    }
    resolver.meaning.add(
        format!("the rest of {path}"),
        Weight::Frozen,
        Some(text::indented(&rest, "#")),
    );
}
