//! Plays one case against one implementation, step by step, up to the first difference.

use crate::case::Case;
use crate::check::{self, ActualAnswer, Expected};
use crate::implementation::{Implementation, Start};
use crate::judge::{self, Answer, Decision};
use crate::step::{Event, Repeat, Step, Transcript, Twice, Types};
use crate::suite::Form;
use crate::typed;
use crate::work;
use crate::world::World;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::time::Duration;

/// Plays a case as often as it says, and each time once more with `stop_hook_active` the other
/// way round: at no step may it decide anything.
pub(crate) fn play(implementation: &Implementation, case: &Case, form: Form) -> Result<()> {
    let (times, ways) = match form {
        // With each stop the first of its turn there is no other way round.
        Form::Full if implementation.first_stops.is_some() => (case.times, &[false][..]),
        Form::Full => (case.times, &[false, true][..]),
        Form::Once | Form::Short => (case.times.min(2), &[false][..]),
    };
    for round in 1..=times {
        for &inverted in ways {
            once(implementation, case, inverted)
                .with_context(|| situation(case, round, inverted))?;
        }
    }
    Ok(())
}

fn situation(case: &Case, round: u32, inverted: bool) -> String {
    let round = if case.times > 1 { format!("round {round}, ") } else { String::new() };
    let active = if inverted { "the other way round" } else { "as the client sends it" };
    format!("{round}`stop_hook_active` {active}")
}

fn once(implementation: &Implementation, case: &Case, inverted: bool) -> Result<()> {
    let mut world = World::new(implementation, &case.given).context("the world")?;
    world.inverted = inverted;
    work::prepare(&world, &case.given).context("the project")?;
    if let Some(options) = &case.given.looping {
        typed::start(&world, options).context("could not start a loop")?;
    }
    all(&mut world, &case.steps)
}

fn all(world: &mut World<'_>, steps: &[Step]) -> Result<()> {
    for (at, step) in steps.iter().enumerate() {
        one(world, step).with_context(|| format!("step {}", at + 1))?;
    }
    Ok(())
}

fn one(world: &mut World<'_>, step: &Step) -> Result<()> {
    match step {
        Step::Event(event) => fire(world, event).map(drop),
        Step::Twice(twice) => fire_twice(world, twice),
        Step::Types(types) => type_start(world, types),
        Step::Starts(options) => {
            begin_turn(world, true);
            typed::start(world, options)
        }
        Step::Person(person) => {
            let new = typed::begins_a_turn(&person.person);
            begin_turn(world, new);
            typed::act(world, &person.person)
        }
        Step::Work(work) => work::work(world, work),
        Step::State(state) => work::damage(world, &state.state),
        Step::Transcript(transcript) => transcribe(world, transcript),
        Step::Session(session) => {
            session.session.clone_into(&mut world.session);
            begin_turn(world, true);
            Ok(())
        }
        Step::Together(steps) => together(world, steps),
        Step::Repeat(repeat) => again(world, repeat),
        Step::Files(files) => work::look(world, files),
    }
}

fn begin_turn(world: &mut World<'_>, new: bool) {
    if new {
        world.prompt += 1;
        world.hook_active = false;
    }
}

fn fire(world: &mut World<'_>, event: &Event) -> Result<Answer> {
    let begins = event.name() == "UserPromptSubmit" && !event.members.contains_key("prompt_id");
    begin_turn(world, begins);
    world.end_turn(event)?;
    let (answer, took) = world.fire(event, 0)?;
    compare(world, &event.expect, &answer, took)?;
    if event.name() == "Stop" {
        world.hook_active = answer.decision == Decision::GoesOn;
    }
    if !answer.to_model.is_empty() {
        world.told = answer.to_model.join("\n");
    }
    Ok(answer)
}

fn compare(world: &World<'_>, expected: &Expected, answer: &Answer, took: Duration) -> Result<()> {
    let mut expected = expected.clone();
    expected.reaches_model = expected.reaches_model.iter().map(|text| world.filled(text)).collect();
    let kind = expected.ended_as.as_ref();
    let ending_words = kind.and_then(|kind| world.implementation.endings.get(kind));
    let ending_words = ending_words.map(String::as_str);
    let came = ActualAnswer { answer, live: world.live(), took, ending_words };
    check::difference(&expected, &came).map_or(Ok(()), |why| bail!(why))
}

/// The client starts both copies at once, or one after the other, and honours both answers.
fn fire_twice(world: &mut World<'_>, twice: &Twice) -> Result<()> {
    let event = &twice.twice;
    world.end_turn(event)?;
    let world_now = &*world;
    let answers: Vec<(Answer, Duration)> = match twice.order.as_str() {
        "in order" => vec![world.fire(event, 0)?, world.fire(event, 1)?],
        "in reverse" => vec![world.fire(event, 1)?, world.fire(event, 0)?],
        "together" => std::thread::scope(|scope| {
            let second = scope.spawn(move || world_now.fire(event, 1));
            let first = world_now.fire(event, 0)?;
            let second = second.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
            anyhow::Ok(vec![first, second])
        })?,
        other => bail!("`{other}` is no order"),
    };
    let took = answers.iter().map(|(_, took)| *took).max().unwrap_or_default();
    let answer = judge::joined(answers.into_iter().map(|(answer, _)| answer).collect());
    compare(world, &event.expect, &answer, took)?;
    world.hook_active = answer.decision == Decision::GoesOn;
    Ok(())
}

fn type_start(world: &mut World<'_>, types: &Types) -> Result<()> {
    let Start::Typed(spelling) = &world.implementation.start else {
        bail!("`{}` has no command that a program reads", world.implementation.name)
    };
    begin_turn(world, true);
    let answer = typed::start_by_typing(world, spelling, &world.filled(&types.types), None)?;
    compare(world, &types.expect, &answer, Duration::ZERO)
}

fn transcribe(world: &mut World<'_>, transcript: &Transcript) -> Result<()> {
    world.transcript_stays = transcript.stays;
    match &transcript.transcript {
        Value::Null => fs::remove_file(world.transcript()).context("could not remove it"),
        Value::Array(rows) => {
            let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
            world.transcribe(&world.filled(&text))
        }
        Value::String(text) => world.transcribe(&world.filled(text)),
        other => bail!("not a transcript: {other}"),
    }
}

/// Each step is a process or more; whichever comes first, what follows must hold.
fn together(world: &World<'_>, steps: &[Step]) -> Result<()> {
    std::thread::scope(|scope| {
        let running: Vec<_> =
            steps.iter().map(|step| scope.spawn(move || beside(world, step))).collect();
        for side in running {
            side.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        Ok(())
    })
}

fn beside(world: &World<'_>, step: &Step) -> Result<()> {
    match step {
        Step::Event(event) => {
            world.end_turn(event)?;
            let (answer, took) = world.fire(event, 0)?;
            compare(world, &event.expect, &answer, took)
        }
        Step::Person(person) => typed::act(world, &person.person),
        other => bail!("nothing that can happen beside something else: {other:?}"),
    }
}

fn again(world: &mut World<'_>, repeat: &Repeat) -> Result<()> {
    for n in 1..=repeat.times {
        world.n = n;
        for (at, step) in repeat.steps.iter().enumerate() {
            let place = || format!("repetition {n}, step {}", at + 1);
            match step {
                Step::Event(event) if repeat.until_allowed => {
                    if fire(world, event).with_context(place)?.decision == Decision::Allows {
                        return Ok(());
                    }
                }
                step => one(world, step).with_context(place)?,
            }
        }
    }
    ensure!(!repeat.until_allowed, "went on {} times and was never let through", repeat.times);
    Ok(())
}
