//! Takes a case through a conversation: what the hooks of a session are asked, and what they answer.

use crate::corpus::Case;
use crate::judge::{self, Answer, Standing, Verdict};
use crate::scene::Scene;
use crate::table;
use crate::world::{Ran, World};
use serde_json::{Value, json};

const TOKEN: &str = "RALPH_COMPLETE";

/// The requests that count; one that asks for another does not.
const REQUESTS: usize = 2;

/// More would be a loop of its own.
const MOST_PARTS: usize = 20;

/// Plays a case and compares what came of it with what it states.
pub(crate) fn check(case: &Case) -> Result<(), String> {
    let played = std::panic::catch_unwind(|| play(case));
    let (verdict, differs) = match played {
        Ok(Ok(answers)) => judge::judge(case, &answers),
        Ok(Err(why)) => (Verdict::Differs, Some(why)),
        Err(_) => (Verdict::Differs, Some("it could not be played, as said above".to_owned())),
    };
    table::record(case, verdict);
    differs.map_or(Ok(()), Err)
}

fn play(case: &Case) -> Result<Vec<Answer>, String> {
    let mut scene = Scene::lay(case)?;
    start(&scene.world, case);
    if case.told.asks_first {
        request(&scene.world);
    }
    scene.apply(&case.told.change)?;
    let mut answers = vec![request(&scene.world)];
    if answers[0].standing == Standing::Refused && REQUESTS > 1 {
        scene.apply(&case.told.then)?;
        answers.push(request(&scene.world));
    }
    let is_paused = matches!(answers[answers.len() - 1].standing, Standing::Paused(_));
    if is_paused && case.told.expect.as_ref().is_some_and(|expect| expect.contains(judge::THEN)) {
        answers.push(accept(&mut scene)?);
    }
    Ok(answers)
}

fn start(world: &World, case: &Case) {
    let quoted = |criterion: &String| match criterion.contains('\'') {
        true => format!("--ac \"{criterion}\""),
        false => format!("--ac '{criterion}'"),
    };
    let criteria: Vec<String> = case.project.criteria.iter().map(quoted).collect();
    let typed = format!("\"Make the tests pass\" {} {}", criteria.join(" "), case.told.flags);
    let started = world.type_command("ralph", typed.trim_end());
    assert!(started.out().contains(" started"), "{started:?}");
}

/// Ends the turn with the word, as often as Ralph asks for it to finish its checks.
fn request(world: &World) -> Answer {
    // A turn in which nothing was done is no turn.
    world.tool("Read", json!({"file_path": world.cwd.join(".gitignore")}));
    for _ in 0..MOST_PARTS {
        let stopped = world.stop(TOKEN);
        let ending = text(&stopped);
        let details = text(&world.tool("Read", json!({"file_path": world.cwd.join(".gitignore")})));
        if ending.contains("ask again") || details.contains("ask again") {
            continue;
        }
        let shown = world.ralph(&["status", "--all"]).text;
        let (standing, states) = stands(world);
        return Answer {
            standing,
            states,
            said: format!("{ending}\n{details}\n{shown}\n"),
            ending,
        };
    }
    panic!("the checks did not come to an end");
}

/// The user accepts what paused the loop, and has it go on.
fn accept(scene: &mut Scene) -> Result<Answer, String> {
    let accepted = scene.world.elsewhere(&["accept"]);
    if !accepted.success {
        return Err(format!("`ralph accept` failed: {}", accepted.text.trim_end()));
    }
    scene.world.prompt = "prompt-2".to_owned();
    scene.world.type_command("ralph", "");
    Ok(request(&scene.world))
}

/// What a hook has the user and the model read.
fn text(ran: &Ran) -> String {
    let said = ran.json();
    let texts = [
        &said["systemMessage"],
        &said["reason"],
        &said["stopReason"],
        &said["hookSpecificOutput"]["additionalContext"],
        &said["hookSpecificOutput"]["permissionDecisionReason"],
    ];
    let texts: Vec<&str> = texts.into_iter().filter_map(Value::as_str).collect();
    format!("{}{}", texts.join("\n"), ran.err())
}

/// The loop and its criteria as `ralph status --json` has them.
fn stands(world: &World) -> (Standing, Vec<String>) {
    let status = world.ralph(&["status", "--all", "--json"]).text;
    let status: Value = serde_json::from_str(&status).unwrap_or_else(|_| panic!("{status}"));
    let one = &status["loops"][0];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let standing = match one["phase"].as_str() {
        Some("ended") => Standing::Ended(word(&one["ending"]["kind"])),
        Some("paused") => Standing::Paused(word(&one["pause"]["cause"])),
        Some(_) => Standing::Refused,
        None => panic!("there is no loop: {status}"),
    };
    let criteria = one["criteria"].as_array().map(Vec::as_slice).unwrap_or_default();
    (standing, criteria.iter().map(|criterion| word(&criterion["state"])).collect())
}
