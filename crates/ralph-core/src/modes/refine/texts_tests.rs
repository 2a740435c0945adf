//! What is said about a refinement and its rounds, each in whole.

use super::chart::{PictureBar, bars};
use super::in_session::{Refine, full, is_full, made, next_step_text};
use super::measure::{ArtefactChange, BeadChange, PlanChange};
use super::prompt::{Prompt, Tracker, render};
use super::say;
use super::state::{Refinement, RoundEntry};
use super::trace::{Agrees, Decision, traces};
use super::*;
use crate::modes::mode::ModeRules;
use crate::modes::parallel::{AgentCall, Grant};
use crate::state::{EndingKind, LoopState, PauseCause, Phase, RefineState};
use crate::stop::{AtStop, StopInputs};
use jiff::Timestamp;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn state(open: u32, n_calls: usize) -> LoopState {
    let refining = RefineState {
        name: "a b".to_owned(),
        word: "'a b'".to_owned(),
        open,
        calls: (0..n_calls).map(|call| call.to_string()).collect(),
        ..RefineState::default()
    };
    LoopState {
        phase: Phase::Implementation,
        max_iterations: 5,
        iteration: 2,
        mode: refining.into(),
        ..LoopState::default()
    }
}

const FULL: &str = "A conversation has room for 5 rounds, whatever they refine, and this one has called an \
                    agent for each.";
const THEN: &str = "Then report the result to the user, who can continue in a terminal: `ralph refine loop \
                    --id 'a b' --max-iterations 10`.";

#[test]
fn each_text_of_a_refinement_in_a_session_names_it() {
    let mut running = state(0, 0);
    assert_eq!(
        (Refine.noun(), Refine.has_tasks(), Refine.has_criteria()),
        ("refinement", false, false)
    );
    assert_eq!(
        Refine.next_hint(&running).as_deref(),
        Some("`ralph refine status --id 'a b'` shows its rounds")
    );
    for (kind, expected) in [
        (EndingKind::Plateau, "`ralph refine history --id 'a b'` shows its rounds."),
        (
            EndingKind::MaxIterations,
            "`ralph refine loop --id 'a b' --max-iterations 10` continues it in a terminal.",
        ),
        (EndingKind::Stalled, "`ralph refine loop --id 'a b'` continues it in a terminal."),
    ] {
        assert_eq!(Refine.after_end(&running, &kind).as_deref(), Some(expected));
    }
    let plain = LoopState::default();
    assert_eq!(Refine.after_end(&plain, &EndingKind::Plateau), None);
    assert_eq!((next_step_text(&plain), made(&plain)), (String::new(), 0));
    assert_eq!(
        Refine.blocks_start(&running, true).as_deref(),
        Some(
            "a refinement is live in this session at 2/5: type /ralph to continue it, or /ralph-cancel to end \
             it"
        )
    );
    assert_eq!(Refine.blocks_start(&running, false), None);
    assert_eq!(
        Refine.loop_prompt("HEADING", &running, &["less".to_owned()], NOW),
        format!(
            "HEADING\nRules: agents refine, Ralph measures and names the next step; you change nothing \
             yourself. Call one agent for each round, in the foreground, and ask no questions before the \
             end.\nThe user said: STEER: less\n{}",
            next_step_text(&running)
        )
    );
    running.pause(PauseCause::Person, "", NOW);
    assert_eq!(
        Refine.next_hint(&running).as_deref(),
        Some("/ralph in its session continues it, as `ralph resume` does")
    );
}

#[test]
fn a_stop_names_the_next_step_of_a_refinement() {
    let line = |state: &LoopState| Refine.next_step(state, &StopInputs::default()).line;
    let (free, open, no_room) = (state(0, 4), state(3, 5), state(0, 5));
    assert_eq!(line(&free), "Ralph 2/5: next: open round 3 with `ralph refine begin --id 'a b'`");
    assert_eq!(line(&open), "Ralph 2/5: next: finish round 3 with `ralph refine end --id 'a b'`");
    assert_eq!(
        line(&no_room),
        "Ralph 2/5: next: tell the user how it stands; this conversation has no room for another round"
    );
    assert_eq!(line(&LoopState::default()), "Ralph 0/25: next:");
    let whole = |most: &str, next: &str| {
        format!(
            "Ralph refinement `a b`: 2 of {most} done, and it is not over. {next} Ralph reports its end; the \
             user can end it with /ralph-cancel."
        )
    };
    assert_eq!(
        next_step_text(&free),
        whole("5 rounds", "`ralph refine begin --id 'a b'` opens round 3.")
    );
    assert_eq!(
        next_step_text(&LoopState { max_iterations: 1, ..open.clone() }),
        whole(
            "1 round",
            "Round 3 is open: pass the whole answer of its agent to `ralph refine end --id 'a b'` on standard \
             input. If no agent was called for it, `ralph refine begin --id 'a b'` repeats its prompt."
        )
    );
    assert_eq!(next_step_text(&no_room), whole("5 rounds", &format!("{FULL} {THEN}")));
    assert_eq!(
        full(open.refining().unwrap()),
        format!(
            "{FULL} Round 3 is open: pass its agent's answer, or an empty text, to `ralph refine end --id 'a \
             b'`. {THEN}"
        )
    );
}

#[test]
fn the_rounds_of_a_session_count_those_before_it() {
    let of = |earlier: u32, n_calls: usize, from: u32| {
        let mut state = state(0, n_calls);
        let refining = state.refining_mut().unwrap();
        (refining.earlier, refining.from) = (earlier, from);
        (is_full(state.refining().unwrap()), made(&state))
    };
    assert_eq!(of(0, 4, 2), (false, 4));
    assert_eq!(of(1, 4, 2), (true, 5));
    assert_eq!(of(0, 5, 2), (true, 5));
    assert_eq!(of(3, 0, 0), (false, 5));
    assert_eq!(of(3, 0, 9), (false, 3));
    let grant = |state: &mut LoopState, from_worker| {
        let asked =
            AgentCall { call: "new", kind: "", prompt: "", about: "", from_worker, client: None };
        Refine.grant(state, &asked, NOW)
    };
    let refused = |text: &str| Grant::Refused(text.to_owned());
    assert_eq!(
        grant(&mut LoopState::default(), false),
        refused("This loop is no longer a refinement.")
    );
    assert_eq!(
        grant(&mut state(1, 0), true),
        refused("The agent of a round calls no other agents. Do the work yourself.")
    );
    assert_eq!(
        grant(&mut state(0, 0), false),
        refused(
            "A refinement calls an agent only for an open round, and no round is open: open the next with \
             `ralph refine begin --id 'a b'`."
        )
    );
    let mut open = state(1, 4);
    assert_eq!((grant(&mut open, false), grant(&mut open, false)), (Grant::Granted, Grant::Again));
}

fn plan_change(lines: u64, sections: u64) -> ArtefactChange {
    ArtefactChange::Plan(PlanChange { lines, sections, ..PlanChange::default() })
}

fn bead_change(added: u64, changed: u64, closed: u64, removed: u64) -> ArtefactChange {
    ArtefactChange::Beads(BeadChange { added, changed, closed, removed, ..BeadChange::default() })
}

#[test]
fn a_measured_change_has_its_size_and_its_words() {
    for (change, amount, is_small, words) in [
        (plan_change(0, 0), 0, true, "nothing"),
        (plan_change(1, 0), 1, true, "1 line in 0 sections"),
        (plan_change(5, 1), 5, true, "5 lines in 1 section"),
        (plan_change(6, 2), 6, false, "6 lines in 2 sections"),
        (bead_change(0, 0, 0, 0), 0, true, "nothing"),
        (bead_change(1, 0, 0, 0), 1, true, "1 added"),
        (bead_change(0, 2, 0, 0), 2, false, "2 changed"),
        (bead_change(0, 0, 1, 0), 1, true, "1 closed"),
        (bead_change(0, 0, 0, 1), 1, true, "1 removed"),
        (bead_change(1, 2, 3, 4), 10, false, "1 added, 2 changed, 3 closed, 4 removed"),
    ] {
        let small = change.is_small(&RefineSettings::default());
        let words_of = change.to_string();
        assert_eq!((change.amount(), small, words_of.as_str()), (amount, is_small, words));
    }
}

fn session(mode: Mode) -> Refinement {
    Refinement { mode, ..Refinement::new("p.md", RefineSettings::default(), NOW) }
}

fn entry(changes: Option<u32>, measured: Option<ArtefactChange>) -> RoundEntry {
    RoundEntry { iteration: 3, changes, measured, ..RoundEntry::default() }
}

#[test]
fn a_round_is_told_in_whole() {
    let plan = session(Mode::Plan);
    let summed = |entry: RoundEntry| RoundEntry { summary: "clearer".to_owned(), ..entry };
    let four = || Some(plan_change(4, 1));
    for (entry, expected) in [
        (
            summed(entry(Some(1), four())),
            vec!["round 3 of 10: 1 change (clearer); measured: 4 lines in 1 section"],
        ),
        (entry(Some(2), four()), vec!["round 3 of 10: 2 changes; measured: 4 lines in 1 section"]),
        (
            entry(None, None),
            vec![
                "round 3 of 10: it reported no number of changes; what changed could not be measured",
            ],
        ),
        (
            RoundEntry { end: RoundEnd::Interrupted, ..summed(entry(Some(2), four())) },
            vec!["round 3 of 10 was cut: clearer; it runs again"],
        ),
        (
            RoundEntry { edited_before: true, plan: PlanAfter::Declined, ..entry(Some(2), four()) },
            vec![
                "round 3 of 10: 2 changes; measured: 4 lines in 1 section",
                "the plan changed between the rounds; the count towards a plateau starts again",
                "its changes were declined; the plan is unchanged",
            ],
        ),
        (
            RoundEntry { plan: PlanAfter::KeptEdit, ..entry(Some(2), four()) },
            vec![
                "round 3 of 10: 2 changes; measured: 4 lines in 1 section",
                "the plan was edited while round 3 ran: that edit stays, and the text of the round is kept as \
                 a version",
            ],
        ),
    ] {
        assert_eq!(say::round(&plan, &entry), expected);
    }
    let edited = RoundEntry { edited_before: true, ..entry(Some(2), None) };
    assert_eq!(
        say::round(&session(Mode::Beads), &edited)[1],
        "the list of tasks changed between the rounds; the count towards a plateau starts again"
    );
}

#[test]
fn the_end_of_a_refinement_is_told_from_its_status() {
    let of = |status: Status, plateau_at| {
        let settled = Refinement { status, plateau_at, ..session(Mode::Plan) };
        say::ending(&Refinement { iterations_completed: 7, ..settled })
    };
    assert_eq!(
        of(Status::Plateau, Some(4)),
        [
            "plateau at round 4: the plan no longer changes",
            "the plateau came early (round 4): a fresh session may find more. Open one and type \
             `/plan-refinery context`, then `/plan-refinery review`"
        ]
    );
    assert_eq!(of(Status::Plateau, None), ["plateau at round 7: the plan no longer changes"]);
    assert_eq!(
        of(Status::MaxIterations, None),
        ["ended after 7 rounds, its limit, and the plan still changes"]
    );
    assert_eq!(of(Status::Cancelled, Some(4)), ["cancelled by the user"]);
    for status in [Status::Running, Status::Interrupted, Status::Other("x".to_owned())] {
        assert_eq!(of(status, Some(4)), Vec::<String>::new());
    }
    let tasks = Refinement { iterations_completed: 1, ..session(Mode::Beads) };
    assert_eq!(
        say::ending(&Refinement { status: Status::MaxIterations, ..tasks }),
        ["ended after 1 round, its limit, and the list of tasks still changes"]
    );
}

#[test]
fn the_commit_of_a_round_has_its_summary_and_its_numbers() {
    let plan = session(Mode::Plan);
    let commit = |summary: &str, changes, measured| {
        let entry = RoundEntry { summary: summary.to_owned(), ..entry(changes, measured) };
        say::commit("doors", &plan, &entry)
    };
    assert_eq!(
        commit("clearer", Some(1), Some(plan_change(4, 1))),
        "clearer\n\nRound 3 of the refinement doors of p.md: 1 change; measured: 4 lines in 1 section.\n"
    );
    assert_eq!(
        commit("", None, None),
        "Refine p.md\n\nRound 3 of the refinement doors of p.md: it reported no number of changes.\n"
    );
    let (fits, long) = ("x".repeat(72), "x".repeat(73));
    assert!(commit(&fits, None, None).starts_with(&format!("{fits}\n\nRound")));
    assert!(
        commit(&long, None, None).starts_with(&format!("{}…\n\n{long}\n\nRound", "x".repeat(71)))
    );
}

#[test]
fn a_trace_says_what_was_proposed_and_whether_the_number_agrees() {
    let trace = |entry: RoundEntry| {
        let session = Refinement { history: vec![entry], ..session(Mode::Plan) };
        let one = traces(&session).remove(0);
        (one.proposed, one.decision, one.agrees)
    };
    let with = |summary: &str, proposed: &[&str], end: RoundEnd| RoundEntry {
        summary: summary.to_owned(),
        proposed: proposed.iter().map(|one| (*one).to_owned()).collect(),
        end,
        ..entry(None, None)
    };
    for (summary, proposed, end, expected, decision) in [
        ("", &[][..], RoundEnd::Done, &[][..], Decision::Accepted),
        ("s", &[], RoundEnd::Done, &["s"], Decision::Accepted),
        ("s", &["a", "b"], RoundEnd::Done, &["a", "b"], Decision::Accepted),
        ("s", &[], RoundEnd::Interrupted, &[], Decision::Cut),
    ] {
        let (said, how, agrees) = trace(with(summary, proposed, end));
        assert_eq!(said, expected);
        assert_eq!((how, agrees), (decision, Agrees::Unknown));
    }
    for (changes, lines, expected) in [
        (0, 5, Agrees::Yes),
        (0, 6, Agrees::SaysLess),
        (1, 6, Agrees::SaysLess),
        (2, 6, Agrees::Yes),
        (0, 0, Agrees::Yes),
        (1, 0, Agrees::SaysMore),
        (9, 0, Agrees::SaysMore),
        (1, 1, Agrees::Yes),
    ] {
        let agrees = trace(entry(Some(changes), Some(plan_change(lines, 1)))).2;
        assert_eq!(agrees, expected, "{changes} {lines}");
    }
}

#[test]
fn the_bars_of_rounds_scale_from_eight_on_and_fit_their_room() {
    use PictureBar::{Cut, Number, Unknown};
    let of = |numbers: &[u64]| bars(&numbers.iter().copied().map(Number).collect::<Vec<_>>());
    assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6, 7]), "▁▂▃▄▅▆▇█");
    assert_eq!(of(&[0, 1, 7, 14]), "▁▂▅█");
    assert_eq!(of(&[u64::MAX, 1, 0]), "█▂▁");
    assert_eq!(bars(&[Unknown, Cut, Number(1)]), "?×▂");
    assert_eq!((of(&[0; 60]).chars().count(), of(&[0; 61]).chars().count()), (60, 61));
    assert!(of(&[0; 61]).starts_with("…▁") && !of(&[0; 60]).contains('…'));
}

#[test]
fn a_prompt_has_its_name_its_variables_and_its_flaws() {
    let names = Prompt::ALL.map(Prompt::name);
    assert_eq!(
        names,
        [
            "bead-refiner",
            "plan-improver",
            "idea-wizard",
            "context-loader",
            "post-context",
            "synthesizer",
            "robot-mode"
        ]
    );
    let variables = Prompt::ALL.map(|prompt| prompt.variables().join(" "));
    assert_eq!(
        variables,
        [
            "SESSION_NAME ROUND MAX_ROUNDS TASKS",
            "SESSION_NAME ROUND MAX_ROUNDS PLAN_FILE",
            "SESSION_NAME TASKS WISH",
            "SESSION_NAME WISH",
            "SESSION_NAME SUBJECT WISH",
            "SESSION_NAME PLAN_FILE OTHER_PLANS",
            "SESSION_NAME PLAN_FILE WISH"
        ]
    );
    let flaw = |line: u32, what: &str| format!("line {line}: {what}");
    let given = [("A", "${B}"), ("B", "b")];
    for (template, expected) in [
        ("a ${A} ${B}\n", Ok("a ${B} b\n")),
        ("$${A} $$${A}", Ok("${A} $${A}")),
        ("no $ {A}", Ok("no $ {A}")),
        (
            "x\n${C} ${A",
            Err(vec![
                flaw(2, "`${C}` is not a variable of this prompt; there are `${A}`, `${B}`"),
                flaw(2, "`${` has no `}` on its line; write `$${` for the two letters"),
            ]),
        ),
    ] {
        assert_eq!(render(template, &given), expected.map(str::to_owned), "{template}");
    }
    assert_eq!(
        render("${C}", &[]),
        Err(vec![flaw(1, "`${C}` is not a variable of this prompt; there are none")])
    );
    for (text, expected) in [
        ("fine ${WISH}", vec![]),
        (" \n", vec!["it is empty"]),
        (" /x", vec!["it begins with `/`, which the client takes for a command"]),
        (
            "a\0 ${TASKS}",
            vec![
                "it holds a NUL character",
                "line 1: `${TASKS}` is not a variable of this prompt; there are `${SESSION_NAME}`, `${WISH}`",
            ],
        ),
    ] {
        assert_eq!(Prompt::ContextLoader.flaws(text), expected, "{text:?}");
    }
    assert_eq!(
        Tracker::Beads.how(),
        "The tasks are beads, kept by `bd`. `bd list --json` shows all, `bd show ID --json` one with its \
         dependencies. Change them by `bd create`, `bd update ID`, `bd dep add`, `bd dep remove` and `bd close \
         ID --reason`; each explains its options with `--help`. Never edit the files below `.beads/`."
    );
    assert_eq!(Tracker::Beads.how_headless(), Tracker::Beads.how());
    let (here, headless) = (Tracker::TaskGraph.how(), Tracker::TaskGraph.how_headless());
    assert!(here.starts_with("The tasks are those of Ralph's task graph."), "{here}");
    assert!(headless.starts_with("The tasks are those of Ralph's own graph."), "{headless}");
}

#[test]
fn what_is_refused_says_what_to_do() {
    let of = |max_iterations, status| {
        let settings = RefineSettings { max_iterations, ..RefineSettings::default() };
        Refinement { status, settings, iterations_completed: 1, ..session(Mode::Plan) }
    };
    let begin = |mut session: Refinement| session.begin("", "", NOW).unwrap_err();
    let mut open = of(5, Status::Running);
    assert_eq!(
        open.cut("", ArtefactAfter::default(), NOW).unwrap_err(),
        "no round is open; begin one first"
    );
    open.begin("", "", NOW).unwrap();
    for (session, expected) in [
        (open, "round 2 is open; end it, or record it as cut, before the next"),
        (of(5, Status::Plateau), "the refinement is over (plateau); start one with another name"),
        (
            of(1, Status::Running),
            "the refinement has used all of its 1 round; allow more, or start one with another name",
        ),
        (
            of(5, Status::Other("x".to_owned())),
            "the refinement has `x`, which this ralph does not know; update ralph",
        ),
    ] {
        assert_eq!(begin(session), expected);
    }
    let refused = |settings: RefineSettings| settings.refused();
    assert_eq!(refused(RefineSettings::default()), None);
    assert_eq!(refused(RefineSettings { max_iterations: 10_000, ..Default::default() }), None);
    for (settings, name, given) in [
        (RefineSettings { max_iterations: 10_001, ..Default::default() }, "max_iterations", 10_001),
        (RefineSettings { plateau_threshold: 0, ..Default::default() }, "plateau_threshold", 0),
        (RefineSettings { min_iterations: 0, ..Default::default() }, "min_iterations", 0),
    ] {
        assert_eq!(
            refused(settings),
            Some(format!("`{name}` must be a whole number from 1 to 10000, not {given}"))
        );
    }
    assert_eq!(RefineSettings::default().in_foreground().max_iterations, 5);
}
