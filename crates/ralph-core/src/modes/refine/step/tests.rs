use super::*;
use crate::modes::refine::RefineSettings;
use crate::modes::refine::measure::{BeadChange, PlanChange};
use crate::modes::refine::state::RefineDocument;
use crate::modes::refine::tests::Dice;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn session(max_iterations: u32) -> Refinement {
    let settings = RefineSettings { max_iterations, ..RefineSettings::default() };
    Refinement::new(Mode::Beads, "", settings, NOW)
}

fn beads(changed: u64) -> Option<ArtefactChange> {
    Some(ArtefactChange::Beads(BeadChange { changed, ..BeadChange::default() }))
}

fn message(changes: u32) -> String {
    format!("Done.\n\n```\nCHANGES: {changes}\nSUMMARY: what changed\n```")
}

fn begin(session: &mut Refinement) -> Result<RefineOutcome, RefineRefusal> {
    let artefact = session.artefact.clone();
    step(session, RefineEvent::Begun { artefact: &artefact }, NOW)
}

fn end(session: &mut Refinement, message: &str, measured: Option<ArtefactChange>) -> RefineOutcome {
    let artefact = session.artefact.clone();
    let event =
        RefineEvent::Ended { message, measured, plan: PlanAfter::Applied, artefact: &artefact };
    step(session, event, NOW).unwrap()
}

fn cut(session: &mut Refinement) -> Result<RefineOutcome, RefineRefusal> {
    step(
        session,
        RefineEvent::Cut { why: "the \u{1b}[1mclient\nwent  away", measured: None, artefact: "x" },
        NOW,
    )
}

/// A complete round that reports this number and has as many beads measured.
fn round(session: &mut Refinement, changes: u32) -> RefineOutcome {
    begin(session).unwrap();
    end(session, &message(changes), beads(u64::from(changes)))
}

#[track_caller]
fn check(said: &[u32], max_iterations: u32, expected: RefineOutcome) -> Refinement {
    let mut session = session(max_iterations);
    let (last, before) = said.split_last().unwrap();
    for (changes, next) in before.iter().zip(2..) {
        assert_eq!(
            round(&mut session, *changes),
            RefineOutcome::Next { iteration: next },
            "{said:?}"
        );
    }
    assert_eq!(round(&mut session, *last), expected, "{said:?}");
    session
}

#[test]
fn it_goes_on_until_the_plateau() {
    let plateau = |at, is_early| RefineOutcome::Plateau(Plateau { at, is_early });
    let session = check(&[5, 3, 2, 1, 0], 10, plateau(5, false));
    assert_eq!((session.status.clone(), session.plateau_at), (Status::Plateau, Some(5)));
    assert_eq!((session.iterations_completed, session.total_changes), (5, 11));
    check(&[2, 1, 1], 10, plateau(3, true));
    check(&[9, 2, 1, 1], 10, plateau(4, true));
    // A plateau in the very last round is still a plateau.
    check(&[2, 1, 1], 3, plateau(3, true));
}

#[test]
fn without_a_plateau_it_ends_at_the_cap() {
    let session = check(&[3, 3, 3, 3], 4, RefineOutcome::Cap { at: 4 });
    assert_eq!((session.status, session.ended_at), (Status::MaxIterations, Some(NOW)));
    check(&[0, 0], 2, RefineOutcome::Cap { at: 2 });
}

#[test]
fn a_session_at_its_cap_goes_on_only_when_it_is_given_more() {
    let mut session = check(&[3, 3], 2, RefineOutcome::Cap { at: 2 });
    assert_eq!(begin(&mut session), Err(RefineRefusal::NoRoundLeft { max_iterations: 2 }));
    session.settings.max_iterations = 3;
    assert_eq!(
        begin(&mut session),
        Ok(RefineOutcome::Begin { iteration: 3, edited_before: false })
    );
    assert_eq!((session.status, session.ended_at), (Status::Running, None));
}

#[test]
fn missing_lines_are_asked_for_once_and_are_unknown_then_and_never_zero() {
    let mut session = session(10);
    begin(&mut session).unwrap();
    let RefineOutcome::AskAgain(text) = end(&mut session, "Done!", beads(0)) else { panic!() };
    assert!(text.contains("`CHANGES:` is missing") && text.contains("`SUMMARY:`"), "{text}");
    assert!(session.round.as_ref().unwrap().asked_again);
    assert!(session.history.is_empty());
    assert_eq!(end(&mut session, "Really done!", beads(0)), RefineOutcome::Next { iteration: 2 });
    let entry = &session.history[0];
    assert_eq!((entry.changes, entry.summary.as_str(), session.total_changes), (None, "", 0));
    assert_eq!(session.iterations_completed, 1);
    // The next round is asked separately, and its answer counts.
    begin(&mut session).unwrap();
    assert!(matches!(end(&mut session, "CHANGES: 3", beads(3)), RefineOutcome::AskAgain(_)));
    end(&mut session, &message(3), beads(3));
    assert_eq!((session.history[1].changes, session.total_changes), (Some(3), 3));
    // A reported number counts even if the summary never came.
    begin(&mut session).unwrap();
    end(&mut session, "CHANGES: 2", beads(2));
    end(&mut session, "CHANGES: 2", beads(2));
    assert_eq!((session.history[2].changes, session.history[2].summary.as_str()), (Some(2), ""));
}

#[test]
fn an_agent_that_never_says_anything_ends_at_the_cap() {
    let mut session = session(4);
    for last in [false, false, false, true] {
        begin(&mut session).unwrap();
        end(&mut session, "", beads(0));
        assert_eq!(matches!(end(&mut session, "", beads(0)), RefineOutcome::Cap { at: 4 }), last);
    }
}

#[test]
fn an_agent_that_says_zero_and_rewrites_the_plan_ends_at_the_cap() {
    let mut session = session(6);
    for last in [false, false, false, false, false, true] {
        begin(&mut session).unwrap();
        let change = ArtefactChange::Plan(PlanChange { lines: 200, ..PlanChange::default() });
        let outcome = end(&mut session, &message(0), Some(change));
        assert_eq!(outcome == RefineOutcome::Cap { at: 6 }, last);
    }
}

#[test]
fn a_round_that_was_cut_is_recorded_and_made_once_more() {
    let mut session = session(10);
    round(&mut session, 3);
    round(&mut session, 1);
    begin(&mut session).unwrap();
    assert_eq!(cut(&mut session), Ok(RefineOutcome::Interrupted { iteration: 3 }));
    assert_eq!((session.status.clone(), session.iterations_completed), (Status::Interrupted, 2));
    let entry = session.history[2].clone();
    assert_eq!((entry.iteration, entry.changes), (3, None));
    assert_eq!(
        (entry.end, entry.summary.as_str()),
        (RoundEnd::Interrupted, "the client went away")
    );
    assert_eq!(
        begin(&mut session),
        Ok(RefineOutcome::Begin { iteration: 3, edited_before: false })
    );
    end(&mut session, &message(0), beads(0));
    // Rounds before the cut no longer count: two more rounds without changes are needed.
    assert_eq!(round(&mut session, 0), RefineOutcome::Next { iteration: 5 });
    assert_eq!(round(&mut session, 0), RefineOutcome::Plateau(Plateau { at: 5, is_early: false }));
    let numbers: Vec<u32> = session.history.iter().map(|entry| entry.iteration).collect();
    assert_eq!(numbers, [1, 2, 3, 3, 4, 5]);
}

#[test]
fn an_edit_between_rounds_is_told_and_an_edit_in_mid_round_is_kept() {
    let mut session = session(10);
    step(&mut session, RefineEvent::Begun { artefact: "a" }, NOW).unwrap();
    let said = message(0);
    let ended =
        |plan| RefineEvent::Ended { message: &said, measured: beads(0), plan, artefact: "b" };
    step(&mut session, ended(PlanAfter::Applied), NOW).unwrap();
    let next = |artefact| RefineEvent::Begun { artefact };
    let begun = step(&mut session, next("c"), NOW);
    assert_eq!(begun, Ok(RefineOutcome::Begin { iteration: 2, edited_before: true }));
    step(&mut session, ended(PlanAfter::KeptEdit), NOW).unwrap();
    assert_eq!(
        (session.history[1].edited_before, &session.history[1].plan),
        (true, &PlanAfter::KeptEdit)
    );
    // The next round starts from the edit that was kept.
    let begun = step(&mut session, next("b"), NOW);
    assert_eq!(begun, Ok(RefineOutcome::Begin { iteration: 3, edited_before: false }));
    let outcome = step(&mut session, ended(PlanAfter::Applied), NOW);
    assert_eq!(outcome, Ok(RefineOutcome::Next { iteration: 4 }));
}

#[test]
fn what_belongs_elsewhere_is_refused_and_changes_nothing() {
    let refused = |session: &mut Refinement, event: RefineEvent, expected: RefineRefusal| {
        let before = session.clone();
        assert_eq!(step(session, event, NOW), Err(expected.clone()));
        assert_eq!(*session, before);
        assert!(expected.to_string().contains(';'), "{expected}");
    };
    let ended = |message| RefineEvent::Ended {
        message,
        measured: None,
        plan: PlanAfter::Applied,
        artefact: "",
    };
    let cut = RefineEvent::Cut { why: "", measured: None, artefact: "" };
    let mut one = session(5);
    refused(&mut one, ended(""), RefineRefusal::NoRound);
    refused(&mut one, ended("CHANGES: 0\nSUMMARY: a"), RefineRefusal::NoRound);
    refused(&mut one, cut.clone(), RefineRefusal::NoRound);
    begin(&mut one).unwrap();
    refused(
        &mut one,
        RefineEvent::Begun { artefact: "" },
        RefineRefusal::RoundOpen { iteration: 1 },
    );
    assert_eq!(step(&mut one, RefineEvent::Cancelled, NOW), Ok(RefineOutcome::Cancelled));
    assert_eq!(one.history[0].end, RoundEnd::Interrupted);
    refused(&mut one, RefineEvent::Begun { artefact: "" }, RefineRefusal::Over(Status::Cancelled));
    refused(&mut one, RefineEvent::Cancelled, RefineRefusal::Over(Status::Cancelled));
    let mut odd = Refinement { status: Status::Other("resting".into()), ..session(5) };
    refused(
        &mut odd,
        RefineEvent::Begun { artefact: "" },
        RefineRefusal::Unknown("resting".into()),
    );
    let mut odd = Refinement { mode: Mode::Other("code".into()), ..session(5) };
    refused(&mut odd, RefineEvent::Cancelled, RefineRefusal::Unknown("code".into()));
}

/// What a round may bring, as far as the rules distinguish it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Brings {
    Little,
    LittleButMuchMeasured,
    LittleUnmeasured,
    Two,
    Much,
    Silence,
    LittleOverAnEdit,
    Cut,
}

const BRINGS: [Brings; 8] = [
    Brings::Little,
    Brings::LittleButMuchMeasured,
    Brings::LittleUnmeasured,
    Brings::Two,
    Brings::Much,
    Brings::Silence,
    Brings::LittleOverAnEdit,
    Brings::Cut,
];

impl Brings {
    /// The number reported about the current text; `None` if unknown.
    fn says(self) -> Option<u32> {
        match self {
            Brings::Little | Brings::LittleButMuchMeasured => Some(1),
            Brings::Two => Some(2),
            Brings::Much => Some(7),
            _ => None,
        }
    }

    fn bring(self, session: &mut Refinement) -> RefineOutcome {
        let (changes, measured, plan) = match self {
            Brings::Little => (1, beads(1), PlanAfter::Applied),
            Brings::LittleButMuchMeasured => (1, beads(2), PlanAfter::Applied),
            Brings::LittleUnmeasured => (1, None, PlanAfter::Applied),
            Brings::Two => (2, beads(1), PlanAfter::Applied),
            Brings::Much => (7, beads(0), PlanAfter::Applied),
            Brings::LittleOverAnEdit => (1, beads(0), PlanAfter::KeptEdit),
            Brings::Cut => return cut(session).unwrap(),
            Brings::Silence => {
                let asked = end(session, "…", beads(0));
                assert!(matches!(asked, RefineOutcome::AskAgain(_)), "{asked:?}");
                return end(session, "…", beads(0));
            }
        };
        let message = message(changes);
        let event = RefineEvent::Ended { message: &message, measured, plan, artefact: "x" };
        step(session, event, NOW).unwrap()
    }
}

/// The plateau computed backwards: the last two rounds, and the round before each.
fn settled(path: &[(bool, Brings)]) -> bool {
    let counts = |at: usize| {
        let (is_edited, brings) = path[at];
        let before = at.checked_sub(1).and_then(|before| path[before].1.says());
        brings == Brings::Little && !is_edited && before.is_some_and(|before| before <= 2)
    };
    path.len() >= 2 && counts(path.len() - 1) && counts(path.len() - 2)
}

/// Runs every sequence of what rounds may bring: up to four rounds and one that is cut.
fn explore(session: &Refinement, path: &mut Vec<(bool, Brings)>, seen: &mut [u32; 4]) {
    let n_cut = path.iter().filter(|(_, brings)| *brings == Brings::Cut).count();
    for brings in BRINGS.into_iter().filter(|brings| n_cut < 1 || *brings != Brings::Cut) {
        // An edit before a round matters only if the round could count.
        let edits: &[bool] = if brings == Brings::Little { &[false, true] } else { &[false] };
        for &is_edited in edits {
            let mut session = session.clone();
            let edit = if is_edited { "'" } else { "" };
            let artefact = &format!("{}{edit}", session.artefact);
            let done = session.iterations_completed;
            let begun = step(&mut session, RefineEvent::Begun { artefact }, NOW).unwrap();
            let begin = RefineOutcome::Begin { iteration: done + 1, edited_before: is_edited };
            assert_eq!(begun, begin, "{path:?}");
            let outcome = brings.bring(&mut session);
            path.push((is_edited, brings));
            holds(&session, path);
            let cap = session.settings.max_iterations;
            let goes_on = match outcome {
                RefineOutcome::Interrupted { iteration } => {
                    assert_eq!((brings, iteration), (Brings::Cut, done + 1));
                    seen[0] += 1;
                    true
                }
                RefineOutcome::Next { iteration } => {
                    assert_eq!(iteration, done + 2);
                    assert!(iteration <= cap && !settled(path), "{path:?}");
                    seen[1] += 1;
                    true
                }
                RefineOutcome::Plateau(plateau) => {
                    assert!(settled(path) && plateau.at == done + 1 && plateau.at >= 3, "{path:?}");
                    seen[2] += 1;
                    false
                }
                RefineOutcome::Cap { at } => {
                    assert!(at == cap && !settled(path), "{path:?}");
                    seen[3] += 1;
                    false
                }
                other => panic!("{path:?}: {other:?}"),
            };
            assert_eq!(session.status.is_over(), !goes_on);
            match goes_on {
                true => explore(&session, path, seen),
                false => stays_over(session, path),
            }
            path.pop();
        }
    }
}

/// Checks what must hold for a refinement at any time.
fn holds(session: &Refinement, path: &[(bool, Brings)]) {
    let done = session.history.iter().filter(|entry| entry.end == RoundEnd::Done);
    let numbers: Vec<u32> = done.clone().map(|entry| entry.iteration).collect();
    assert!(numbers.iter().copied().eq(1..=session.iterations_completed), "{path:?}");
    assert_eq!(session.history.len(), path.len());
    let total: u64 = done.filter_map(|entry| entry.changes).map(u64::from).sum();
    assert_eq!(session.total_changes, total);
    let unknown = path.iter().zip(&session.history);
    let silent = unknown.filter(|((_, brings), _)| matches!(brings, Brings::Silence | Brings::Cut));
    assert!(silent.clone().all(|(_, entry)| entry.changes.is_none()), "{path:?}");
    assert!(
        session.round.is_none() && session.iterations_completed <= session.settings.max_iterations
    );
}

fn stays_over(mut session: Refinement, path: &[(bool, Brings)]) {
    let before = session.clone();
    assert!(begin(&mut session).is_err() && cut(&mut session).is_err(), "{path:?}");
    assert!(step(&mut session, RefineEvent::Cancelled, NOW).is_err(), "{path:?}");
    assert_eq!(session, before);
}

#[test]
fn every_order_of_what_four_rounds_may_bring_holds() {
    let mut seen = [0; 4];
    let session = Refinement { artefact: "x".to_owned(), ..session(4) };
    explore(&session, &mut Vec::new(), &mut seen);
    // Each kind of outcome occurred, and none only rarely.
    assert!(seen.iter().all(|number| *number > 50), "{seen:?}");
}

#[test]
fn long_sessions_of_chance_survive_being_written_and_read_at_every_moment() {
    let mut dice = Dice(0xbead);
    for _ in 0..80 {
        let mut session = session(1 + u32::try_from(dice.roll(12)).unwrap());
        let mut path = Vec::new();
        while !session.status.is_over() && path.len() < 40 {
            let through = |session: &Refinement| {
                let mut document = RefineDocument::default();
                document.put("s", session.clone()).unwrap();
                let again =
                    RefineDocument::parse(&document.render()).unwrap().session("s").unwrap();
                assert_eq!(again.as_ref(), Some(session));
                again.unwrap()
            };
            begin(&mut session).unwrap();
            session = through(&session);
            let brings = BRINGS[dice.roll(BRINGS.len())];
            brings.bring(&mut session);
            path.push((false, brings));
            session = through(&session);
            holds(&session, &path);
            assert_eq!(session.status == Status::Plateau, settled(&path), "{path:?}");
        }
    }
}
