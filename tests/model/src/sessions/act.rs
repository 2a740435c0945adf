//! What may happen in a session, who does it, and how the client passes it on to the hooks.

use super::client::{Client, Typed};
use super::hooks::{self, Call};
use super::{Answer, FOREIGN, Sessions, World};
use ralph_core::guard::commands;
use ralph_core::protocol::event::ToolInput;
use ralph_core::state::{PauseCause, Registration};
use serde_json::json;

/// One happening.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    // The model.
    /// The turn wants to end, with the token or without; the client may override what is answered.
    Stop {
        /// With the token.
        asks: bool,
        /// Overridden by the client.
        capped: bool,
    },
    /// It calls a tool.
    UseTool,
    /// It gives a command that is only a person's: the one of this number.
    SayPersons(usize),
    /// It says `ralph blocked`.
    SayBlocked,
    /// It passes the task on, as the skill tells it where no prompt hook has started the loop.
    StartBySkill,
    /// It starts a background worker.
    StartWorker,
    // A worker.
    /// It calls a tool.
    WorkerUsesTool,
    /// It reports, or the session is woken because it does not.
    Report {
        /// It has ended.
        ended: bool,
    },
    // The person.
    /// Types something.
    Type(Typed),
    /// What was typed while the turn ran is taken from the queue.
    Dequeue,
    /// Presses Esc, early enough to leave no mark or not.
    Esc {
        /// The transcript shows it.
        mark: bool,
    },
    /// `/clear`.
    Clear,
    /// Leaves.
    Leave,
    /// Comes back with `claude --resume`.
    Return,
    /// In a terminal: `ralph cancel`, with `--let-finish` or without.
    Cancel {
        /// The turn may finish.
        let_finish: bool,
    },
    /// In a terminal: `ralph pause`.
    Pause,
    /// In a terminal: `ralph resume`.
    Resume,
    /// In a terminal: `ralph start` outside a session.
    Plan,
    // The host.
    /// The client is gone without a word.
    Crash,
    /// An API error, by a usage limit or not.
    ApiError {
        /// Of a usage limit.
        limit: bool,
    },
    /// The client's own limit of turns.
    HostBudget,
    // Somebody else's session.
    /// It stops, asks for completion.
    ForeignStop,
    /// It is typed into.
    ForeignPrompt(Typed),
    /// It calls a tool that a loop would be refused.
    ForeignTool,
}

/// Commands of a person that the model tries.
pub(super) const PERSONS: [&str; 4] = ["cancel", "pause", "resume", "start"];

/// What may happen now.
pub(super) fn possible(model: &Sessions, world: &World, acts: &mut Vec<Act>) {
    let client = &world.client;
    if client.turn.is_none() && client.queued.is_some() {
        acts.push(Act::Dequeue);
        return;
    }
    acts.extend([Act::Cancel { let_finish: false }, Act::Cancel { let_finish: true }]);
    acts.extend([Act::Pause, Act::Resume, Act::Plan]);
    acts.extend([Act::ForeignStop, Act::ForeignTool]);
    acts.extend([Typed::Words, Typed::CancelWords, Typed::PauseWords].map(Act::ForeignPrompt));
    if client.process.is_none() {
        acts.push(Act::Return);
        return;
    }
    let typed = [Typed::Words, Typed::CancelWords, Typed::PauseWords];
    let commands = [Typed::Task, Typed::Ralph, Typed::RalphCancel];
    acts.extend(typed.into_iter().chain(commands).map(Act::Type));
    acts.push(Act::Crash);
    if model.host {
        acts.push(Act::HostBudget);
    }
    acts.push(Act::Leave);
    if client.worker {
        acts.push(Act::WorkerUsesTool);
    }
    match client.turn {
        Some(_) => in_turn(model, world, acts),
        None => {
            if world.new_session().is_some() {
                acts.push(Act::Clear);
            }
            if client.worker {
                acts.extend([Act::Report { ended: true }, Act::Report { ended: false }]);
            }
        }
    }
}

fn in_turn(model: &Sessions, world: &World, acts: &mut Vec<Act>) {
    acts.extend([
        Act::Stop { asks: false, capped: false },
        Act::Stop { asks: true, capped: false },
    ]);
    acts.extend([Act::UseTool, Act::SayBlocked]);
    acts.extend((0..PERSONS.len()).map(Act::SayPersons));
    acts.extend([Act::Esc { mark: true }, Act::Esc { mark: false }]);
    if world.client.skill && model.registered == [Registration::Skill] {
        acts.push(Act::StartBySkill);
    }
    if model.workers && !world.client.worker {
        acts.push(Act::StartWorker);
    }
    if model.host {
        acts.push(Act::Stop { asks: false, capped: true });
        acts.extend([Act::ApiError { limit: true }, Act::ApiError { limit: false }]);
    }
}

/// Does it; what the hooks answered comes back.
pub(super) fn carry_out(model: &Sessions, world: &mut World, act: Act) -> Vec<Answer> {
    let here = world.client.session;
    let turn = world.client.turn.unwrap_or(0);
    match act {
        Act::Stop { asks, capped } => stop(model, world, asks, capped),
        Act::UseTool => use_tool(model, world, "Bash", "cargo test"),
        Act::SayPersons(number) => say_persons(model, world, PERSONS[number]),
        Act::SayBlocked => {
            if let Some(one) = world.looped.as_mut().filter(|one| one.is_running()) {
                let what = "a key".to_owned();
                one.blocked = Some(ralph_core::state::Blocked { what, ..Default::default() });
            }
            Vec::new()
        }
        Act::StartBySkill => vec![hooks::begin(world, here, None, Some("do it"))],
        Act::StartWorker => {
            world.client.worker = true;
            Vec::new()
        }
        Act::WorkerUsesTool => {
            let tool = input("cargo test");
            let answers = ask(model, world, here, turn, |world, call| {
                hooks::before_tool(world, call, "Bash", &tool, true)
            });
            ask(model, world, here, turn, |world, call| hooks::after_tool(world, call, true));
            answers
        }
        Act::Report { ended } => {
            // An Esc without a mark cannot be told from a turn that the client has let go.
            world.noted.cut &= world.client.mark == Some(PauseCause::Interrupted);
            world.client.worker = !ended;
            submit(model, world, Typed::Report)
        }
        Act::Type(typed) => type_it(model, world, typed),
        Act::Dequeue => match world.client.queued.take() {
            Some(typed) => submit(model, world, typed),
            None => Vec::new(),
        },
        Act::Esc { mark } => esc(world, mark),
        Act::Clear => clear(model, world),
        Act::Leave => leave(model, world),
        Act::Return => come_back(model, world),
        Act::Cancel { let_finish } => {
            if world.looped.as_ref().is_some_and(|one| one.ending.is_none()) {
                hooks::end_loop(world, let_finish);
                world.noted.rests = true;
            }
            Vec::new()
        }
        Act::Pause => {
            let live = is_live(world);
            hooks::pause_in_terminal(world);
            world.noted.rests |= live;
            Vec::new()
        }
        Act::Resume => {
            hooks::resume_in_terminal(world);
            if is_live(world) {
                (world.noted.rests, world.noted.cut) = (false, false);
            }
            Vec::new()
        }
        Act::Plan => {
            if world.looped.as_ref().is_none_or(|one| one.ending.is_some()) {
                hooks::plan(world);
            }
            Vec::new()
        }
        Act::Crash => {
            gone(world);
            Vec::new()
        }
        Act::ApiError { limit } => {
            world.client.turn = None;
            let error = if limit { "rate_limit" } else { "server_error" };
            ask(model, world, here, turn, |world, call| hooks::at_failure(world, call, error))
        }
        Act::HostBudget => {
            if world.client.turn.is_some() {
                world.client.mark = Some(PauseCause::HostBudget);
            }
            leave(model, world)
        }
        Act::ForeignStop => ask(model, world, FOREIGN, 99, |world, call| {
            hooks::at_stop(world, call, Some("RALPH_COMPLETE"))
        }),
        Act::ForeignPrompt(typed) => {
            ask(model, world, FOREIGN, 99, |world, call| hooks::prompt(world, call, typed))
        }
        Act::ForeignTool => {
            let tool = input("ralph cancel");
            ask(model, world, FOREIGN, 99, |world, call| {
                hooks::before_tool(world, call, "Bash", &tool, false)
            })
        }
    }
}

fn is_live(world: &World) -> bool {
    world.looped.as_ref().is_some_and(|one| one.is_live())
}

fn input(command: &str) -> ToolInput {
    ToolInput::from(json!({"command": command}))
}

/// Starts every copy of a hook: one after the other, or all at once.
fn ask(
    model: &Sessions,
    world: &mut World,
    session: u8,
    prompt: u8,
    hook: impl Fn(&mut World, &Call) -> Answer,
) -> Vec<Answer> {
    let copies = model.registered.iter().copied();
    let copies: Vec<Registration> =
        copies.filter(|via| *via != Registration::Skill || world.client.skill).collect();
    let early: Vec<Call> =
        copies.iter().map(|via| Call::find(world, session, *via, prompt)).collect();
    let mut answers = Vec::new();
    for early in early {
        let call = match model.overlap {
            true => early,
            false => Call::find(world, session, early.via, prompt),
        };
        answers.push(hook(world, &call));
    }
    answers
}

fn stop(model: &Sessions, world: &mut World, asks: bool, capped: bool) -> Vec<Answer> {
    let (here, turn) = (world.client.session, world.client.turn.unwrap_or(0));
    let message = if asks { "done\nRALPH_COMPLETE" } else { "not yet" };
    let answers =
        ask(model, world, here, turn, |world, call| hooks::at_stop(world, call, Some(message)));
    let goes_on = answers.contains(&Answer::GoOn);
    world.noted.went_on += u32::from(goes_on);
    if goes_on && capped {
        world.client.mark = Some(PauseCause::HostCapped);
    }
    if !goes_on || capped {
        world.client.turn = None;
    }
    answers
}

fn use_tool(model: &Sessions, world: &mut World, tool: &str, command: &str) -> Vec<Answer> {
    let (here, turn) = (world.client.session, world.client.turn.unwrap_or(0));
    let tool_input = input(command);
    let answers = ask(model, world, here, turn, |world, call| {
        hooks::before_tool(world, call, tool, &tool_input, false)
    });
    if answers.contains(&Answer::Cut) {
        world.client.turn = None;
    } else if !answers.contains(&Answer::Deny) {
        ask(model, world, here, turn, |world, call| hooks::after_tool(world, call, false));
    }
    answers
}

/// The model gives a command of a person's. It reaches the loop only if neither the guard nor the
/// command itself refuses it, as `ralph/src/cli/who_may.rs` asks.
fn say_persons(model: &Sessions, world: &mut World, command: &str) -> Vec<Answer> {
    let answers = use_tool(model, world, "Bash", &format!("ralph {command}"));
    let denied = answers.iter().any(|answer| matches!(answer, Answer::Deny | Answer::Cut));
    let here = super::client::session_id(world.client.session);
    let in_session = world.looped.as_ref().is_some_and(|one| one.is_live() && one.is_of(&here));
    let refused = in_session && commands::refusal(command).is_some();
    let anothers = !in_session;
    if !denied && !refused && !anothers {
        match command {
            "cancel" => hooks::end_loop(world, false),
            "pause" => hooks::pause_in_terminal(world),
            "resume" => hooks::resume_in_terminal(world),
            _ => drop(hooks::begin(world, world.client.session, None, None)),
        }
    }
    answers
}

fn type_it(model: &Sessions, world: &mut World, typed: Typed) -> Vec<Answer> {
    if world.client.turn.is_some() && typed.is_command() {
        world.client.queued = Some(typed);
        return Vec::new();
    }
    submit(model, world, typed)
}

/// What is typed, or reported, becomes a prompt, in mid-turn a part of the running one.
fn submit(model: &Sessions, world: &mut World, typed: Typed) -> Vec<Answer> {
    let here = world.client.session;
    let prompt = world.client.turn.unwrap_or_else(|| world.new_prompt());
    let lives = is_live(world) && belongs(world);
    let hears = hears(model, world);
    let mut answers =
        ask(model, world, here, prompt, |world, call| hooks::prompt(world, call, typed));
    if hears && lives {
        // From here on the person has stopped it: by these words, or by Esc and going on otherwise.
        let stops = matches!(typed, Typed::CancelWords | Typed::PauseWords);
        let cut = world.noted.cut && typed == Typed::Words;
        world.noted.rests |= stops || cut;
    }
    if typed.is_command() {
        let first = !world.client.skill && model.registered == [Registration::Skill];
        answers.extend(expand(model, world, typed, prompt));
        if typed == Typed::RalphCancel && hears && lives {
            world.noted.rests = true;
        }
        // The skill's own hooks are there from its first invocation on.
        world.client.skill |= typed != Typed::RalphCancel;
        if first {
            answers.clear();
        }
    }
    let blocked = answers.contains(&Answer::Block);
    if world.client.turn.is_none() && !blocked {
        world.client.turn = Some(prompt);
    }
    answers
}

/// Starting and continuing take turns under a lock, so that no copy looks before another has acted.
fn expand(model: &Sessions, world: &mut World, typed: Typed, prompt: u8) -> Vec<Answer> {
    let here = world.client.session;
    let one_by_one = Sessions { overlap: false, ..model.clone() };
    let model = if typed == Typed::RalphCancel { model } else { &one_by_one };
    ask(model, world, here, prompt, |world, call| hooks::command(world, call, typed))
}

/// True when a hook of ours hears what is typed.
fn hears(model: &Sessions, world: &World) -> bool {
    world.client.skill || model.registered != [Registration::Skill]
}

/// True when the session that the client shows is the loop's.
pub(super) fn belongs(world: &World) -> bool {
    let here = super::client::session_id(world.client.session);
    world.looped.as_ref().is_some_and(|one| one.is_of(&here))
}

fn esc(world: &mut World, mark: bool) -> Vec<Answer> {
    let turn = world.client.turn.take().map(super::client::prompt_id);
    let looped = world.looped.as_ref().filter(|one| one.is_running());
    let drove = looped.and_then(|one| one.turn.as_ref()).map(|turn| turn.prompt_id.clone());
    world.noted.cut |= drove.is_some() && drove == turn && belongs(world);
    world.client.queued = None;
    if mark {
        world.client.mark = Some(PauseCause::Interrupted);
    }
    Vec::new()
}

fn clear(model: &Sessions, world: &mut World) -> Vec<Answer> {
    let Some(next) = world.new_session() else { return Vec::new() };
    let here = world.client.session;
    let heard = hears(model, world) && belongs(world) && is_live(world);
    // The skill's front matter has no entry for the end of a session.
    let answers =
        no_skill(model, world, here, |world, call| hooks::at_session_end(world, call, "clear"));
    if heard && model.registered != [Registration::Skill] {
        world.noted.rests = true;
    }
    world.client.session = next;
    world.client.worker = false;
    world.client.mark = None;
    no_skill(model, world, next, hooks::after_clear);
    answers
}

fn leave(model: &Sessions, world: &mut World) -> Vec<Answer> {
    let here = world.client.session;
    let answers =
        no_skill(model, world, here, |world, call| hooks::at_session_end(world, call, "other"));
    gone(world);
    answers
}

fn come_back(model: &Sessions, world: &mut World) -> Vec<Answer> {
    world.client.process = Some(world.new_process());
    world.client.skill = false;
    // Hooks of a skill alone are not loaded when a session returns: nobody is there to see what the
    // transcript shows.
    world.noted.cut &= model.registered != [Registration::Skill];
    let here = world.client.session;
    no_skill(model, world, here, hooks::after_resume)
}

fn no_skill(
    model: &Sessions,
    world: &mut World,
    session: u8,
    hook: impl Fn(&mut World, &Call) -> Answer,
) -> Vec<Answer> {
    let registered = model.registered.iter().copied().filter(|via| *via != Registration::Skill);
    let model = Sessions { registered: registered.collect(), ..model.clone() };
    ask(&model, world, session, 0, hook)
}

/// What is left of a client is its transcript. An Esc that left no mark there cannot be told from
/// a crash by anybody.
fn gone(world: &mut World) {
    let client = &mut world.client;
    world.noted.cut &= client.mark == Some(PauseCause::Interrupted);
    *client = Client {
        session: client.session,
        process: None,
        mark: client.mark.take(),
        ..Client::default()
    };
}
