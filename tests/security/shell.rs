//! Text that a shell would run, and words that a program would take for options, wherever a text or
//! a name of someone else's meets another program.

use crate::attack::{COMMANDS, Canary, command, events, hook, looping};
use crate::world::World;
use serde_json::json;
use std::fs;

/// Each would leave a file, if any shell ever saw it.
fn bait(canary: &Canary) -> Vec<String> {
    let touch = |name: &str| canary.trap(name).replace("; cat", "");
    vec![
        format!("$({})", touch("dollar")),
        format!("`{}`", touch("backtick")),
        format!("; {} ;", touch("semicolon")),
        format!("| {} |", touch("pipe")),
        format!("& {} &", touch("ampersand")),
        format!("x\n{}\n", touch("line")),
        format!("'; {} ; '", touch("quote")),
        format!("\"; {} ; \"", touch("double")),
        format!("--upload-pack={}", touch("pack")),
        format!("--output={}", touch("output").replace("touch ", "")),
        format!("-c core.pager={}", touch("pager")),
        format!("${{IFS}}$({})", touch("ifs")),
    ]
}

#[test]
fn what_is_typed_and_what_a_model_says_meets_no_shell() {
    let world = looping();
    let canary = Canary::in_world(&world);
    for text in crate::sample(bait(&canary), 2) {
        world.stop(&text);
        for words in [
            &["task", "add", "--", text.as_str()][..],
            &["task", "show", "--", text.as_str()],
            &["task", "done", "T-1", "--result", text.as_str()],
            &["blocked", text.as_str()],
            &["verify", "--", text.as_str()],
            &["status", "--loop", text.as_str()],
            &["checkpoint", "list", "--loop", text.as_str()],
        ] {
            world.ralph(words);
        }
        for tool in ["Bash", "Write"] {
            world.tool(tool, json!({"command": text, "file_path": text}));
        }
        hook(&world, "ralph-user-prompt", "UserPromptSubmit", json!({"prompt": text}));
        let other = World::new();
        let quoted = text.replace('"', "'");
        other.expansion("ralph", &format!("\"{quoted}\" --ac \"{quoted}=true {quoted}\""));
        other.expansion("ralph", &text);
        command(&other, &["start", "--", &text]);
    }
    canary.lives();
}

#[test]
fn the_description_of_a_criterion_is_no_part_of_its_command() {
    let world = World::new();
    let canary = Canary::in_world(&world);
    for text in bait(&canary) {
        let ac = format!("{}=grep -q yes done", text.replace('=', "-"));
        command(&world, &["start", "--session", "session-1", "--ac", &ac, "x"]);
        world.write("done", "yes\n");
        command(&world, &["verify"]);
        command(&world, &["cancel"]);
    }
    canary.lives();
}

/// Files, and a folder, of names that a shell or git would take for something else.
#[test]
fn files_of_any_name_are_compared_kept_and_restored_and_are_no_options() {
    let world = looping();
    let canary = Canary::in_world(&world);
    let mut names: Vec<String> =
        bait(&canary).into_iter().map(|text| text.replace('/', "|")).collect();
    names.extend(
        [
            "-rf",
            "--",
            "--all",
            "-",
            "--upload-pack=x",
            "--exec=x",
            ":(top)x",
            ":!x",
            "*",
            "a\tb",
            "\"q\"",
            "--output=hit",
            "folder;x/--output=hit",
        ]
        .map(str::to_owned),
    );
    for name in &names {
        world.write(name, "first\n");
    }
    world.write("done", "yes\n");
    let verified = command(&world, &["verify"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    for name in &names {
        world.write(name, "second\n");
    }
    world.write("done", "no\n");
    for words in COMMANDS.into_iter().filter(|words| words[0] != "pause") {
        command(&world, words);
    }
    for (name, event, members) in events() {
        hook(&world, name, event, members);
    }
    let listed = command(&world, &["checkpoint", "list"]);
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    command(&world, &["checkpoint", "restore", "1"]);
    for name in &names {
        let text = fs::read_to_string(world.project().join(name)).unwrap();
        assert_eq!(text, "first\n", "{name:?}");
    }
    canary.lives();
    assert!(!world.project().join("hit").exists());
}

/// The file that stands where Ralph's own commands would be looked for.
#[test]
fn a_program_of_the_project_is_not_taken_for_one_of_ours() {
    let mut world = looping();
    let canary = Canary::in_world(&world);
    for name in ["ralph", "git", "ralph-stop-hook", "sh", "timeout"] {
        world.write(name, &format!("#!/bin/sh\n{}\n", canary.trap(name)));
        let path = world.project().join(name);
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let path = world.env["PATH"].clone();
    world.set("PATH", &path);
    world.write("done", "yes\n");
    for (name, event, members) in events() {
        hook(&world, name, event, members);
    }
    command(&world, &["status"]);
    canary.lives();
}
