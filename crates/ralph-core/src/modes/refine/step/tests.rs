use super::*;
use crate::modes::refine::RefineSettings;
use crate::modes::refine::measure::{BeadChange, PlanChange};
use crate::modes::refine::state::RefineDocument;
use crate::modes::refine::tests::Dice;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn session(max_iterations: u32) -> Refinement {
    let settings = RefineSettings { max_iterations, ..RefineSettings::default() };
    Refinement::new("", settings, NOW)
}

fn beads(changed: u64) -> Option<ArtefactChange> {
    Some(ArtefactChange::Beads(BeadChange { changed, ..BeadChange::default() }))
}

fn message(changes: u32) -> String {
    format!("Done.\n\n```\nCHANGES: {changes}\nSUMMARY: what changed\n```")
}

fn begin(session: &mut Refinement) -> Result<u32, String> {
    let artefact = session.artefact.clone();
    session.begin(&artefact, "", NOW)
}

/// The artefact as it was, with this change measured.
fn after(session: &Refinement, measured: Option<ArtefactChange>) -> ArtefactAfter {
    ArtefactAfter { measured, plan: PlanAfter::Applied, digest: session.artefact.clone() }
}

fn end(session: &mut Refinement, message: &str, measured: Option<ArtefactChange>) -> Status {
    let after = after(session, measured);
    session.end(message, after, NOW).unwrap();
    session.status.clone()
}

fn cut(session: &mut Refinement) -> Result<(), String> {
    let after = ArtefactAfter { digest: "x".to_owned(), ..ArtefactAfter::default() };
    session.cut("the \u{1b}[1mclient\nwent  away", after, NOW)
}

/// A complete round that reports this number and has as many beads measured.
fn round(session: &mut Refinement, changes: u32) -> Status {
    begin(session).unwrap();
    end(session, &message(changes), beads(u64::from(changes)))
}

#[track_caller]
fn check(said: &[u32], max_iterations: u32, expected: Status) -> Refinement {
    let mut session = session(max_iterations);
    let (last, before) = said.split_last().unwrap();
    for changes in before {
        assert_eq!(round(&mut session, *changes), Status::Running, "{said:?}");
    }
    assert_eq!(round(&mut session, *last), expected, "{said:?}");
    session
}

#[test]
fn it_goes_on_until_the_plateau() {
    let session = check(&[5, 3, 2, 1, 0], 10, Status::Plateau);
    assert_eq!((session.status.clone(), session.plateau_at), (Status::Plateau, Some(5)));
    assert_eq!((session.iterations_completed, session.total_changes), (5, 11));
    assert!(!session.is_early());
    assert!(check(&[2, 1, 1], 10, Status::Plateau).is_early());
    assert!(check(&[9, 2, 1, 1], 10, Status::Plateau).is_early());
    // A plateau in the very last round is still a plateau.
    check(&[2, 1, 1], 3, Status::Plateau);
}

#[test]
fn without_a_plateau_it_ends_at_the_cap() {
    let session = check(&[3, 3, 3, 3], 4, Status::MaxIterations);
    assert_eq!((session.iterations_completed, session.ended_at), (4, Some(NOW)));
    check(&[0, 0], 2, Status::MaxIterations);
}

#[test]
fn a_session_at_its_cap_goes_on_only_when_it_is_given_more() {
    let mut session = check(&[3, 3], 2, Status::MaxIterations);
    assert!(begin(&mut session).unwrap_err().contains("used all of its 2 rounds"));
    session.settings.max_iterations = 3;
    assert_eq!(begin(&mut session), Ok(3));
    assert_eq!((session.status, session.ended_at), (Status::Running, None));
}

#[test]
fn missing_lines_are_asked_for_once_and_are_unknown_then_and_never_zero() {
    let mut session = session(10);
    assert_eq!(session.ask_again("Done!"), None, "no round is open");
    begin(&mut session).unwrap();
    let text = session.ask_again("Done!").unwrap();
    assert!(text.contains("`CHANGES:` is missing") && text.contains("`SUMMARY:`"), "{text}");
    assert!(session.round.as_ref().unwrap().asked_again);
    assert_eq!(session.ask_again("Really done!"), None);
    assert_eq!(end(&mut session, "Really done!", beads(0)), Status::Running);
    let entry = &session.history[0];
    assert_eq!((entry.changes, entry.summary.as_str(), session.total_changes), (None, "", 0));
    assert_eq!(session.iterations_completed, 1);
    // The next round is asked separately, and its answer counts.
    begin(&mut session).unwrap();
    assert_eq!(session.ask_again(&message(3)), None);
    assert!(session.ask_again("CHANGES: 3").is_some());
    end(&mut session, &message(3), beads(3));
    assert_eq!((session.history[1].changes, session.total_changes), (Some(3), 3));
    // A reported number counts even if the summary never came.
    begin(&mut session).unwrap();
    end(&mut session, "CHANGES: 2", beads(2));
    assert_eq!((session.history[2].changes, session.history[2].summary.as_str()), (Some(2), ""));
}

#[test]
fn an_agent_that_never_says_anything_ends_at_the_cap() {
    let mut session = session(4);
    for last in [false, false, false, true] {
        begin(&mut session).unwrap();
        assert_eq!(end(&mut session, "", beads(0)) == Status::MaxIterations, last);
    }
}

#[test]
fn an_agent_that_says_zero_and_rewrites_the_plan_ends_at_the_cap() {
    let mut session = session(6);
    for last in [false, false, false, false, false, true] {
        begin(&mut session).unwrap();
        let change = ArtefactChange::Plan(PlanChange { lines: 200, ..PlanChange::default() });
        let status = end(&mut session, &message(0), Some(change));
        assert_eq!(status == Status::MaxIterations, last);
    }
}

#[test]
fn a_round_that_was_cut_is_recorded_and_made_once_more() {
    let mut session = session(10);
    round(&mut session, 3);
    round(&mut session, 1);
    begin(&mut session).unwrap();
    cut(&mut session).unwrap();
    assert_eq!((session.status.clone(), session.iterations_completed), (Status::Interrupted, 2));
    let entry = session.history[2].clone();
    assert_eq!((entry.iteration, entry.changes), (3, None));
    assert_eq!(
        (entry.end, entry.summary.as_str()),
        (RoundEnd::Interrupted, "the client went away")
    );
    assert_eq!(begin(&mut session), Ok(3));
    end(&mut session, &message(0), beads(0));
    // Rounds before the cut no longer count: two more rounds without changes are needed.
    assert_eq!(round(&mut session, 0), Status::Running);
    assert_eq!(round(&mut session, 0), Status::Plateau);
    let numbers: Vec<u32> = session.history.iter().map(|entry| entry.iteration).collect();
    assert_eq!(numbers, [1, 2, 3, 3, 4, 5]);
}

#[test]
fn a_round_is_recorded_with_its_times_its_session_and_its_words() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let mut session = session(10);
    session.begin("a", "s", at(1)).unwrap();
    let open = OpenRound {
        iteration: 1,
        started_at: at(1),
        client_session: "s".to_owned(),
        ..OpenRound::default()
    };
    assert_eq!(session.round, Some(open));
    let after = after(&session, beads(1));
    session.end("- split it\n\nCHANGES: 1\nSUMMARY: less", after, at(2)).unwrap();
    let entry = RoundEntry {
        iteration: 1,
        changes: Some(1),
        summary: "less".to_owned(),
        proposed: vec!["split it".to_owned()],
        measured: beads(1),
        ended_at: Some(at(2)),
        ..RoundEntry::default()
    };
    assert_eq!(session.history, [entry]);
    session.begin("b", "", at(3)).unwrap();
    session.cancel(at(4)).unwrap();
    assert_eq!(session.artefact, "b");
}

#[test]
fn an_edit_between_rounds_is_told_and_an_edit_in_mid_round_is_kept() {
    let mut session = session(10);
    let begin = |session: &mut Refinement, artefact: &str| {
        session.begin(artefact, "", NOW).unwrap();
        session.round.as_ref().unwrap().edited_before
    };
    let end = |session: &mut Refinement, plan| {
        let after = ArtefactAfter { measured: beads(0), plan, digest: "b".to_owned() };
        session.end(&message(0), after, NOW).unwrap();
    };
    assert!(!begin(&mut session, "a"));
    end(&mut session, PlanAfter::Applied);
    assert!(begin(&mut session, "c"));
    end(&mut session, PlanAfter::KeptEdit);
    assert_eq!(
        (session.history[1].edited_before, &session.history[1].plan),
        (true, &PlanAfter::KeptEdit)
    );
    // The next round starts from the edit that was kept.
    assert!(!begin(&mut session, "b"));
    end(&mut session, PlanAfter::Applied);
    assert_eq!((session.status, session.iterations_completed), (Status::Running, 3));
}

#[test]
fn what_belongs_elsewhere_is_refused_and_changes_nothing() {
    #[track_caller]
    fn refused<T: std::fmt::Debug>(
        session: &mut Refinement,
        words: &str,
        act: impl FnOnce(&mut Refinement) -> Result<T, String>,
    ) {
        let before = session.clone();
        let why = act(session).unwrap_err();
        assert!(why.contains(words) && why.contains(';'), "{why}");
        assert_eq!(*session, before);
    }
    let end = |session: &mut Refinement| session.end("CHANGES: 0", ArtefactAfter::default(), NOW);
    let mut one = session(5);
    refused(&mut one, "no round is open", end);
    refused(&mut one, "no round is open", cut);
    begin(&mut one).unwrap();
    refused(&mut one, "round 1 is open", begin);
    one.cancel(NOW).unwrap();
    assert_eq!(
        (one.history[0].end.clone(), &one.status),
        (RoundEnd::Interrupted, &Status::Cancelled)
    );
    refused(&mut one, "over (cancelled)", begin);
    refused(&mut one, "over (cancelled)", |one| one.cancel(NOW));
    let mut odd = Refinement { status: Status::Other("resting".into()), ..session(5) };
    refused(&mut odd, "has `resting`", begin);
    let mut odd = Refinement { mode: Mode::Other("code".into()), ..session(5) };
    refused(&mut odd, "has `code`", |one| one.cancel(NOW));
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

    fn bring(self, session: &mut Refinement) -> Status {
        let (changes, measured, plan) = match self {
            Brings::Little => (1, beads(1), PlanAfter::Applied),
            Brings::LittleButMuchMeasured => (1, beads(2), PlanAfter::Applied),
            Brings::LittleUnmeasured => (1, None, PlanAfter::Applied),
            Brings::Two => (2, beads(1), PlanAfter::Applied),
            Brings::Much => (7, beads(0), PlanAfter::Applied),
            Brings::LittleOverAnEdit => (1, beads(0), PlanAfter::KeptEdit),
            Brings::Cut => {
                cut(session).unwrap();
                return session.status.clone();
            }
            Brings::Silence => {
                assert!(session.ask_again("…").is_some());
                return end(session, "…", beads(0));
            }
        };
        let after = ArtefactAfter { measured, plan, digest: "x".to_owned() };
        session.end(&message(changes), after, NOW).unwrap();
        session.status.clone()
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
            assert_eq!(session.begin(artefact, "", NOW), Ok(done + 1), "{path:?}");
            assert_eq!(session.round.as_ref().unwrap().edited_before, is_edited, "{path:?}");
            let status = brings.bring(&mut session);
            path.push((is_edited, brings));
            holds(&session, path);
            let (cap, now) = (session.settings.max_iterations, session.iterations_completed);
            let goes_on = match status {
                Status::Interrupted => {
                    assert_eq!((brings, now), (Brings::Cut, done));
                    seen[0] += 1;
                    true
                }
                Status::Running => {
                    assert!(now == done + 1 && now < cap && !settled(path), "{path:?}");
                    seen[1] += 1;
                    true
                }
                Status::Plateau => {
                    let at = session.plateau_at.unwrap();
                    assert!(settled(path) && at == done + 1 && at >= 3, "{path:?}");
                    seen[2] += 1;
                    false
                }
                Status::MaxIterations => {
                    assert!(now == cap && !settled(path), "{path:?}");
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
    assert!(session.cancel(NOW).is_err(), "{path:?}");
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
    for _ in 0..30 {
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
