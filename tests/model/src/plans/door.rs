//! What the hooks and the command line do with the rules, in their order.
//!
//! A tool is looked at by the guard; a call of an agent by the order of turns as well, and a critic's
//! call freezes the text. A report or an answer is one event. What ends the planning ends its loop,
//! and with it the wall.

use super::act::{Act, Answer, Does, IDS, OTHERS, Prompt, Question, Says, Tool, Who, Wish};
use super::{Loop, PATH, Plans, Text, World, hash_of};
use jiff::Timestamp;
use ralph_core::guard::{
    self, Caller, LoopActivity, PlanGate, ProtectedPaths, Ruling, Situation, Skill, ToolCall,
};
use ralph_core::modes::ralplan::{
    self, NextPlanStep, PlanEvent, PlanOutcome, PlanSeen, Role, question, short,
};
use ralph_core::protocol::event::ToolInput;
use ralph_core::state::{
    DecidedBy, DecisionKind, EndingKind, LoopState, PlanDecision, PlanPhase, RalplanState,
};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;

/// What came of a happening.
#[derive(Default)]
pub(super) struct Done {
    /// Whether a tool was let through.
    pub(super) let_through: bool,
    /// What came of an event.
    pub(super) outcome: Option<PlanOutcome>,
}

pub(super) fn carry_out(model: &Plans, world: &mut World, act: Act) -> Done {
    let done = match act {
        Act::Tool(who, tool) => {
            let let_through = lets_through(world, who, tool);
            let outcome = let_through.then(|| use_tool(model, world, tool)).flatten();
            Done { let_through, outcome }
        }
        Act::Report(role, id, says) => {
            let outcome = report(model, world, role, id, says);
            Done { outcome: Some(outcome), ..Done::default() }
        }
        Act::Person(wish) => Done { outcome: person(world, wish), ..Done::default() },
    };
    if world.plan.phase != PlanPhase::CriticReview {
        world.noted.frozen = None;
    }
    if world.plan.phase.is_over() {
        world.looped = Loop::Ended;
        world.asked = None;
    }
    done
}

/// Ends the loop as a cancel does.
fn cancel(world: &mut World) {
    let plan = world.plan.clone();
    let mut state = LoopState { mode: plan.into(), ..LoopState::default() };
    state.end(EndingKind::Cancelled, "", Timestamp::UNIX_EPOCH);
    world.plan.phase = state.ralplan().map_or(PlanPhase::default(), |plan| plan.phase.clone());
}

/// Takes an event. What happened is told for people, and decides nothing.
fn take(world: &mut World, event: &PlanEvent<'_>) -> PlanOutcome {
    let outcome = ralplan::step(&mut world.plan, event);
    world.plan.log.clear();
    world.plan.untold.clear();
    outcome
}

// --- ralph-pre-tool-use --------------------------------------------------------------------------

fn lets_through(world: &mut World, who: Who, tool: Tool) -> bool {
    if !world.is_live() {
        return true;
    }
    match tool {
        Tool::Ask(asks) => {
            let input = asked(world, asks);
            let ours = question::is_ours(&world.plan, &input).is_ok();
            allows(world, who, "AskUserQuestion", "", ours)
        }
        Tool::Other(number) => {
            let (tool, text, _) = OTHERS[number];
            allows(world, who, tool, text, false)
        }
        Tool::Call(role, prompt) => {
            allows(world, who, "Agent", role.agent(), false) && may_call(world, role, prompt)
        }
    }
}

/// The order of turns, and the freezing of the text. What a critic is called for is looked at under
/// the same lock.
fn may_call(world: &mut World, role: Role, prompt: Prompt) -> bool {
    let prompt = match (prompt, ralplan::next(&world.plan, "")) {
        (Prompt::Told, NextPlanStep::Call(call)) => call.prompt,
        (Prompt::Told, _) => "What is to be done?".to_owned(),
        (Prompt::Naming(text), _) => format!("Look at {PATH} ({}).", hash_of(text)),
    };
    let hash = hash_of(world.text);
    let may = ralplan::may_call(&mut world.plan, role, &prompt, &hash).is_ok();
    world.plan.log.clear();
    world.plan.untold.clear();
    if may && role == Role::Critic {
        world.noted.frozen = Some(world.text);
    }
    may
}

/// What the guard depends on here, but for words.
type RulingKey = (bool, bool, Loop, Who, &'static str, &'static str, bool);

thread_local! {
    /// The guard is asked once for each: it is a function, and reading shell takes its time.
    static RULINGS: RefCell<HashMap<RulingKey, bool>> = RefCell::new(HashMap::new());
}

fn allows(world: &World, who: Who, tool: &'static str, text: &'static str, ours: bool) -> bool {
    let phase = &world.plan.phase;
    let awaiting_person = *phase == PlanPhase::AwaitingUserApproval;
    let planner_writes = *phase == PlanPhase::PlannerPlanning;
    let seen = (awaiting_person, planner_writes, world.looped, who, tool, text, ours);
    if let Some(ruling) = RULINGS.with_borrow(|known| known.get(&seen).copied()) {
        return ruling;
    }
    let ruling = rule(seen);
    RULINGS.with_borrow_mut(|known| known.insert(seen, ruling));
    ruling
}

fn rule((awaiting_person, planner_writes, looped, who, tool, text, ours): RulingKey) -> bool {
    let field = match tool {
        "Bash" => "command",
        "Skill" => "skill",
        "Agent" => "subagent_type",
        "NotebookEdit" => "notebook_path",
        _ => "file_path",
    };
    let input = ToolInput::from(json!({field: text}));
    let places = ProtectedPaths {
        ralph_home: "/home/u/.ralph".into(),
        home: "/home/u".into(),
        skill: Some(Skill { is_shipped: true, ..Skill::default() }),
        ..ProtectedPaths::default()
    };
    let gate = PlanGate {
        awaiting_person,
        planner_writes,
        project_root: "/project".to_owned(),
        plan_path: PATH.to_owned(),
        plan_hash: String::new(),
        not_its_question: (!ours).then(|| "it is another".to_owned()),
        no_wall: Some("there is none".to_owned()),
    };
    let situation = Situation {
        standing: if looped == Loop::Rests { LoopActivity::Paused } else { LoopActivity::Running },
        agent: match who {
            Who::Main => Caller::Main,
            Who::Agent(kind) => Caller::Subagent(kind),
        },
        session_id: "s-1",
        places: &places,
        ralplan: Some(&gate),
        session: None,
    };
    let resolved = input.path().filter(|path| !path.contains(".."));
    let call = ToolCall { tool, input: &input, cwd: "/project", resolved, cut: false };
    guard::decide(&situation, &call) == Ruling::Allow
}

/// The input of the question tool.
fn asked(world: &World, asks: Question) -> Value {
    match asks {
        Question::Told => input(&question::text(&world.plan)),
        Question::Naming(text) => input(&wording(&world.plan, text)),
        Question::Answered => {
            let mut input = input(&question::text(&world.plan));
            input["answers"] = json!({question::text(&world.plan): "Proceed"});
            input
        }
        Question::Else => input("Which database?"),
    }
}

/// A session's own words; where the critic has not approved, with the warning and its list.
fn wording(plan: &RalplanState, text: Text) -> String {
    match plan.forced {
        true => question::text(plan).replace(short(&plan.plan_hash), &hash_of(text)),
        false => format!("Carry out {PATH} ({})?", hash_of(text)),
    }
}

fn input(text: &str) -> Value {
    let options =
        question::OPTIONS.map(|(label, _, about)| json!({"label": label, "description": about}));
    json!({"questions": [{"question": text, "header": "Plan", "options": options}]})
}

/// The text whose digits a digest has.
fn text_of(hash: &str) -> Text {
    hash.get(..1).and_then(|digit| digit.parse().ok()).unwrap_or(0)
}

/// What a tool does that was let through.
fn use_tool(model: &Plans, world: &mut World, tool: Tool) -> Option<PlanOutcome> {
    let Tool::Other(number) = tool else {
        if let Tool::Ask(asks) = tool
            && world.is_live()
        {
            world.asked = match asks {
                Question::Naming(text) => Some(text),
                Question::Told | Question::Answered => Some(text_of(&world.plan.plan_hash)),
                Question::Else => Some(0),
            };
        }
        return None;
    };
    match OTHERS[number].2 {
        Does::Reads | Does::LeavesPlanMode => None,
        Does::Changes => {
            world.changed = true;
            None
        }
        Does::WritesPlan => {
            world.text = world.text % model.texts + 1;
            None
        }
        Does::RemovesPlan => {
            world.text = 0;
            None
        }
        Does::RemovesDocument => {
            cancel(world);
            None
        }
        Does::Approves => Some(decide(world, DecisionKind::Proceed, "", DecidedBy::CommandLine)),
    }
}

// --- ralph-stop-hook, at the end of a subagent ---------------------------------------------------

fn report(model: &Plans, world: &mut World, role: Role, id: usize, says: Says) -> PlanOutcome {
    let (agent, message) = (IDS[id], message(says));
    match role {
        Role::Planner => world.noted.planned[id] = true,
        Role::Critic => world.noted.judging[id] = true,
        Role::Architect | Role::GapFinder => {}
    }
    let file = seen(world, role, says, &message);
    let event = PlanEvent::Reported { role, agent, message: &message, file };
    let before = world.plan.phase.clone();
    let outcome = take(world, &event);
    if matches!(outcome, PlanOutcome::Taken(_)) && before == PlanPhase::CriticReview {
        // Whether this was right is a promise; here is only noted what was taken.
        match says {
            Says::Okay(text) => world.noted.judged = Some(text),
            Says::Reject(text) | Says::RejectAsking(text) => {
                world.noted.judged = Some(text);
                world.noted.rejections = (world.noted.rejections + 1).min(model.max_rejections + 1);
            }
            _ => {}
        }
    }
    outcome
}

/// The file that a report is about, as the hook looks at it.
fn seen(world: &World, role: Role, says: Says, message: &str) -> Option<PlanSeen> {
    let path = ralplan::reported_path(&world.plan, role, message, "/project");
    let hash = hash_of(world.text);
    let gates = match says {
        Says::ReadyFailing => vec!["line 3: `better` cannot be checked".to_owned()],
        _ => Vec::new(),
    };
    (path == PATH && !hash.is_empty()).then_some(PlanSeen {
        path,
        hash,
        gates,
        ..PlanSeen::default()
    })
}

fn message(says: Says) -> String {
    let verdict = |word: &str, text: Text, more: &str| {
        let hash = match text {
            0 => String::new(),
            text => format!("\n- Plan hash: {}", &hash_of(text)[..12]),
        };
        format!("CRITIC_FEEDBACK:\n- Verdict: {word}{hash}{more}")
    };
    let issue = "\n- Critical Issues:\n  1. T-2 has no test";
    match says {
        Says::Ready | Says::ReadyFailing => format!("PLAN_READY: {PATH}"),
        Says::ReadyElsewhere => "PLAN_READY: src/a.md".to_owned(),
        Says::Asks => format!(
            "ARCHITECT_QUESTION:\n- Topic: a\n- Context: b\n- Files to examine: src/a.rs\n\
             - Specific Question: c?\n\nPLAN_READY: {PATH}"
        ),
        Says::Answers => "ARCHITECT_ANSWER:\n- Topic: a\n- Analysis: b\n- Recommendation: c\n\
                          - Trade-offs: d\n- References: src/a.rs:1"
            .to_owned(),
        Says::Okay(text) => verdict("OKAY", text, ""),
        Says::Reject(text) => verdict("REJECT", text, issue),
        Says::RejectAsking(text) => {
            verdict("REJECT", text, &format!("{issue}\n- Questions for Architect:\n  1. A lock?"))
        }
        Says::Prose => "All is well.\n\nOKAY".to_owned(),
        Says::Nothing => String::new(),
    }
}

// --- ralph-backpressure, after the question; the command line; the other hooks -------------------

fn person(world: &mut World, wish: Wish) -> Option<PlanOutcome> {
    let before = world.plan.phase.clone();
    let outcome = match wish {
        Wish::Answers(answer) => answered(world, answer),
        Wish::Says(answer) => {
            let kind = match answer {
                Answer::Proceed => DecisionKind::Proceed,
                Answer::Discard => DecisionKind::Discard,
                Answer::Adjust | Answer::Free | Answer::Silence => DecisionKind::Adjust,
            };
            Some(decide(world, kind, "use less", DecidedBy::CommandLine))
        }
        Wish::Edits(text) => {
            world.text = text;
            None
        }
        Wish::RemovesDocument | Wish::Cancels => {
            cancel(world);
            None
        }
        Wish::Pauses | Wish::Resumes => {
            let stands = if wish == Wish::Pauses { Loop::Rests } else { Loop::Runs };
            world.looped = if world.is_live() { stands } else { Loop::Ended };
            None
        }
    };
    match world.plan.phase {
        PlanPhase::Complete if before != PlanPhase::Complete => world.noted.agreed = true,
        PlanPhase::Cancelled if before != PlanPhase::Cancelled => world.noted.ended = true,
        PlanPhase::PlannerPlanning if before == PlanPhase::AwaitingUserApproval => {
            (world.noted.rejections, world.noted.judged) = (0, None);
        }
        _ => {}
    }
    outcome
}

/// The client writes the question again, and under it what the person said.
fn answered(world: &mut World, answer: Answer) -> Option<PlanOutcome> {
    let asked = world.asked.take()?;
    let text = wording(&world.plan, asked);
    let said = match answer {
        Answer::Proceed => "Proceed",
        Answer::Adjust => "Adjust",
        Answer::Free => "Proceed, but use less",
        Answer::Discard => "Discard",
        Answer::Silence => "",
    };
    let mut response = input(&text);
    response["answers"] = match answer {
        Answer::Silence => json!({}),
        _ => json!({text: said}),
    };
    let said = question::answer(&world.plan, &response)?;
    Some(decide(world, said.kind, &said.text, DecidedBy::Answer))
}

fn decide(world: &mut World, kind: DecisionKind, text: &str, by: DecidedBy) -> PlanOutcome {
    let plan_hash = hash_of(world.text);
    let at = Timestamp::UNIX_EPOCH;
    take(
        world,
        &PlanEvent::Answered(PlanDecision { kind, text: text.to_owned(), plan_hash, by, at }),
    )
}
