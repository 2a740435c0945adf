//! Answers a request for completion once the criteria ran and Ralph observed what they are worth.
//!
//! Nothing is proven that held before the work. What needs the model's or the user's word is refused once, by name; the
//! second request with the same names gets the second answer. So no loop is refused for ever.

use super::observed::{self, Refusable};
use super::pinned;
use super::receipt::{Proof, ReceiptStatus, counts, is_of_proof};
use crate::state::{Change, Criterion, Judgement, LoopState};
use crate::text::plural::{counted, noun};
use crate::text::truncate::bounded;

/// The answer to a request for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The loop ends `complete`, with this detail.
    Complete(String),
    /// The loop ends `complete_unverified`. In an unattended run a reviewer may judge `about` first.
    Unverified { detail: String, about: String },
    /// Refused once.
    Refused(Refused),
    /// Refused before, for the same; only the user can accept it.
    AskUser(Refused),
    /// Some observations are still due; the request counts no turn.
    Unfinished(String),
    /// A criterion does not hold.
    NotMet,
}

/// A refusal that is given once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refused {
    /// The names of what is refused, as they are remembered.
    pub about: Vec<String>,
    /// The reason, with what to do.
    pub why: String,
}

/// The answer. `is_last`: no later turn can get the second answer, so it is given now.
pub fn answer(state: &LoopState, proof: &Proof, is_last: bool) -> Answer {
    let all: Vec<(&Criterion, ReceiptStatus)> =
        state.acceptance_criteria.iter().map(|one| (one, proof.criterion_status(one))).collect();
    let is_open = |(one, standing): &(&Criterion, ReceiptStatus)| {
        !is_of_proof(one) || !(standing.is_met() || standing.can_be_accepted())
    };
    if all.is_empty() || all.iter().any(is_open) || !pinned::is_as_frozen(state) {
        return Answer::NotMet;
    }
    if !proof.unfinished.is_empty() {
        return Answer::Unfinished(proof.unfinished.clone());
    }
    let request = Request { state, all, is_last, change: proof.change.as_ref() };
    match request.named() {
        Err(hard) => hard,
        Ok(None) => request.settled(),
        // Whatever is refused once is refused together.
        Ok(Some(mut soft)) => {
            if let Answer::Refused(other) = request.settled() {
                soft.about.extend(other.about);
                soft.why = format!("{}; {}", other.why, soft.why);
            }
            Answer::Refused(soft)
        }
    }
}

struct Request<'a> {
    state: &'a LoopState,
    all: Vec<(&'a Criterion, ReceiptStatus)>,
    is_last: bool,
    change: Option<&'a Change>,
}

impl Request<'_> {
    /// Tests that changed and tests that cannot fail, else values that some tests do not notice, if they are new.
    fn named(&self) -> Result<Option<Refused>, Answer> {
        let (mut hard, mut soft) = (Refused::default(), Refused::default());
        for (criterion, standing) in &self.all {
            let Some(what) = observed::refusable(criterion, *standing) else { continue };
            let about = observed::refusal(criterion, what);
            if criterion.accepted.contains(&about) {
                continue;
            }
            let (to, why) = match what {
                Refusable::Unnoticed => (&mut soft, unnoticed(criterion)),
                _ => (&mut hard, observed::why(criterion, *standing)),
            };
            to.add(about, &format!("{} {why}", criterion.id));
        }
        if !hard.about.is_empty() {
            return Err(match self.was_refused(&hard.about) {
                true => Answer::AskUser(hard),
                false => Answer::Refused(hard),
            });
        }
        let is_new = !soft.about.is_empty() && !self.was_refused(&soft.about);
        Ok(is_new.then_some(soft))
    }

    /// Nothing is in the way but what the observations show.
    fn settled(&self) -> Answer {
        let has = |wanted| self.all.iter().any(|(_, standing)| *standing == wanted);
        if has(ReceiptStatus::Proven) || has(ReceiptStatus::Reviewed) {
            return Answer::Complete(self.counts());
        }
        if let Some(change) = self.change.filter(|change| change.code == 0) {
            return match what_changed(change) {
                Some(only) => Answer::Unverified { detail: only, about: String::new() },
                None => self.once(
                    "unchanged",
                    UNCHANGED,
                    "nothing was changed: no file of the tree changed since the start",
                ),
            };
        }
        if has(ReceiptStatus::Kept) {
            let about = self.kept();
            let files = self.change.map_or(0, |change| change.code);
            let files = counted(files, "file", "files");
            return match self.is_judged(&about) {
                true => {
                    Answer::Complete(format!("no test sees the change ({files} changed), reviewed"))
                }
                false => self.once(
                    &about,
                    KEPT,
                    &format!("nothing broke, and no test sees the change ({files} changed)"),
                ),
            };
        }
        let lost = self.all.iter().find(|(one, _)| one.observed.was_comparable);
        let not_compared =
            self.all.iter().find(|(_, standing)| *standing == ReceiptStatus::NotCompared);
        let why =
            lost.or(not_compared).map(|(one, _)| observed::not_compared(one)).unwrap_or_default();
        let has_read_nothing = |one: &Criterion| {
            let runs = [&one.observed.without, &one.observed.original].into_iter().flatten();
            runs.into_iter().any(|run| run.read_nothing)
        };
        match lost {
            None if self.all.iter().any(|(one, _)| has_read_nothing(one)) => {
                let passes = format!("passes; not compared: {why}");
                match self.once("read_nothing", &format!("the criteria pass, but {why}"), &passes) {
                    Answer::Unverified { detail, .. } => Answer::Complete(detail),
                    refused => refused,
                }
            }
            Some(_) => {
                let refused = format!(
                    "the criteria pass, but could not be compared with the start any more: {why}"
                );
                self.once(
                    "not_compared",
                    &refused,
                    &format!("passes; could not be compared any more: {why}"),
                )
            }
            None if why.is_empty() => Answer::Complete(format!("{}; not compared", self.counts())),
            None => Answer::Complete(format!("passes; not compared: {why}")),
        }
    }

    /// Refused once, then ended without proof.
    fn once(&self, about: &str, why: &str, detail: &str) -> Answer {
        let refused = Refused { about: vec![about.to_owned()], why: why.to_owned() };
        match self.was_refused(&refused.about) {
            true => Answer::Unverified { detail: detail.to_owned(), about: about.to_owned() },
            false => Answer::Refused(refused),
        }
    }

    fn kept(&self) -> String {
        let ids: Vec<&str> = self.all.iter().map(|(one, _)| one.id.as_str()).collect();
        format!("{ALL_KEPT} {}", ids.join(", "))
    }

    fn was_refused(&self, about: &[String]) -> bool {
        self.is_last || about.iter().all(|one| self.state.refusals.contains(one))
    }

    fn is_judged(&self, about: &str) -> bool {
        self.state.judgements.iter().any(|one| one.about == about && one.holds)
    }

    fn counts(&self) -> String {
        counts(&self.all.iter().map(|(_, standing)| *standing).collect::<Vec<_>>())
    }
}

/// The longest diff in a question, in UTF-16 units.
const DIFF: usize = 20_000;

/// The question for the reviewer of an unattended run, who judges before the user is called. `tests` is the diff of the
/// tests since the start.
pub fn question(refused: &Refused, tests: &str) -> String {
    if refused.about.iter().any(|about| about.starts_with(ALL_KEPT)) {
        return "All criteria pass with the change, and they pass without it, too, so no test sees it. Does the change do \
                all that the goal asks, so that nothing is left to do?"
            .to_owned();
    }
    format!(
        "This was found: {}. Does the goal itself require these tests to change as they did, because it asks for another \
         behaviour or interface than they describe? A test that was weakened, skipped or deleted so that the work passes \
         fails this question. The diff of the tests since the start:\n{}",
        refused.why,
        bounded(tests, DIFF)
    )
}

/// Records the verdict of the reviewer of an unattended run. What the task needs is accepted.
pub fn judge(state: &mut LoopState, refused: &Refused, holds: bool, why: &str) {
    for about in &refused.about {
        let why = bounded(why, 400);
        state.judgements.push(Judgement { about: about.clone(), holds, why });
        for criterion in state.acceptance_criteria.iter_mut().filter(|_| holds) {
            let is_meant = |what| observed::refusal(criterion, what) == *about;
            if [Refusable::TestsChanged, Refusable::CannotFail].into_iter().any(is_meant) {
                criterion.accepted.push(about.clone());
            }
        }
    }
}

impl Refused {
    fn add(&mut self, about: String, why: &str) {
        if !self.why.is_empty() {
            self.why.push_str("; ");
        }
        self.why.push_str(why);
        self.about.push(about);
    }
}

/// Begins the name of the refusal of criteria that pass without the change, too.
pub(crate) const ALL_KEPT: &str = "kept";

const KEPT: &str = "the tests pass, but they pass without your change, too; add a test that fails without it, or say why \
                    none can (a refactoring)";

const UNCHANGED: &str = "nothing was changed since the start, and the criteria pass as it is; do the work, or say why there \
                         is none";

fn unnoticed(criterion: &Criterion) -> String {
    let broken = criterion.observed.broken.as_ref();
    let literals = broken.map_or_else(String::new, |one| one.unnoticed.join(", "));
    format!(
        "passes although {literals} was changed to a wrong value; make the test fail for it, or say why it means nothing"
    )
}

/// `only tests were added (3)`; `None` if nothing was changed at all.
fn what_changed(change: &Change) -> Option<String> {
    let kinds = [
        (change.tests, "tests"),
        (change.configuration, "configuration"),
        (change.documents, "documents"),
        (change.dependencies, "dependencies"),
        (change.submodules.len(), "submodules"),
    ];
    let kinds = kinds.into_iter().filter(|(n, _)| *n > 0);
    let (count, names) = kinds.fold((0, Vec::new()), |(sum, mut names), (n, name)| {
        names.push(name);
        (sum + n, names)
    });
    let names = match names.as_slice() {
        [] => return None,
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let how = if change.added >= count { "added" } else { "changed" };
    let was = noun(usize::from(names != "configuration") + 1, "was", "were");
    Some(format!("only {names} {was} {how} ({count})"))
}

#[cfg(test)]
mod answer_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{CriterionRunner, Observation, Observed, Outcome, Receipt};

    fn run(outcome: Outcome) -> Option<Observation> {
        Some(Observation { outcome, ..Observation::default() })
    }

    /// A criterion that passes on tree `t`, with what was observed about it.
    fn criterion(id: &str, observed: Observed) -> Criterion {
        let receipt = Receipt {
            passed: true,
            exit_code: Some(0),
            tree_before: "t".to_owned(),
            tree_after: "t".to_owned(),
            by: CriterionRunner::Hook,
            ..Receipt::default()
        };
        let observed = Observed { tree: "t".to_owned(), ..observed };
        Criterion { id: id.to_owned(), receipt: Some(receipt), observed, ..Criterion::default() }
    }

    fn proven() -> Observed {
        Observed { without: run(Outcome::Failed), ..Observed::default() }
    }

    fn kept() -> Observed {
        Observed { without: run(Outcome::Passed), ..Observed::default() }
    }

    fn tests_changed(name: &str) -> Observed {
        let failing = vec![name.to_owned()];
        let original = Observation { outcome: Outcome::Failed, failing, ..Observation::default() };
        Observed { original: Some(original), ..proven() }
    }

    fn broken(noticed: &[&str], unnoticed: &[&str]) -> Observed {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (noticed, unnoticed) = (all(noticed), all(unnoticed));
        let broken =
            Observation { outcome: Outcome::Failed, noticed, unnoticed, ..Observation::default() };
        Observed { broken: Some(broken), ..proven() }
    }

    fn loop_with(criteria: Vec<Criterion>) -> (LoopState, Proof) {
        let trees = criteria.iter().map(|one| (one.id.clone(), "t".to_owned())).collect();
        let change = Some(Change { code: 3, ..Change::default() });
        let proof = Proof { trees, change, ..Proof::default() };
        (LoopState { acceptance_criteria: criteria, ..LoopState::default() }, proof)
    }

    /// The answers to a first and a second request with the same files.
    fn twice(state: &mut LoopState, proof: &Proof) -> (Answer, Answer) {
        let first = answer(state, proof, false);
        if let Answer::Refused(refused) = &first {
            state.refusals.extend(refused.about.clone());
        }
        let second = answer(state, proof, false);
        (first, second)
    }

    #[track_caller]
    fn check(observed: Vec<Observed>, first: &str, second: &str) {
        let criteria = observed.into_iter().enumerate();
        let criteria = criteria.map(|(at, seen)| criterion(&format!("AC-{}", at + 1), seen));
        let (mut state, proof) = loop_with(criteria.collect());
        let (one, two) = twice(&mut state, &proof);
        assert!(answer_text(&one).contains(first), "first: {one:?}");
        assert!(answer_text(&two).contains(second), "second: {two:?}");
    }

    fn answer_text(answer: &Answer) -> String {
        match answer {
            Answer::Complete(detail) => format!("complete: {detail}"),
            Answer::Unverified { detail, .. } => format!("unverified: {detail}"),
            Answer::Refused(refused) => format!("refused: {}", refused.why),
            Answer::AskUser(refused) => format!("ask: {}", refused.why),
            Answer::Unfinished(why) => format!("unfinished: {why}"),
            Answer::NotMet => "not met".to_owned(),
        }
    }

    #[test]
    fn one_proven_criterion_completes_the_loop_and_kept_ones_beside_it_do_not_hinder() {
        check(vec![proven()], "complete: 1 proven", "complete");
        check(vec![kept(), proven()], "complete: 1 proven, 1 kept", "complete");
    }

    #[test]
    fn criteria_that_pass_without_the_change_are_refused_once() {
        check(
            vec![kept(), kept()],
            "refused: the tests pass, but they pass without your change, too",
            "unverified: nothing broke, and no test sees the change (3 files changed)",
        );
    }

    #[test]
    fn a_reviewer_may_find_a_change_right_that_no_test_sees() {
        let (mut state, proof) = loop_with(vec![criterion("AC-1", kept())]);
        let (_, second) = twice(&mut state, &proof);
        let Answer::Unverified { about, .. } = second else { panic!("{second:?}") };
        for (holds, expected) in
            [(false, "unverified"), (true, "complete: no test sees the change")]
        {
            state.judgements = vec![Judgement { about: about.clone(), holds, why: String::new() }];
            assert!(answer_text(&answer(&state, &proof, false)).starts_with(expected), "{holds}");
        }
    }

    #[test]
    fn changed_tests_are_refused_by_name_and_only_the_user_accepts_them() {
        check(
            vec![tests_changed("parses weeks")],
            "refused: AC-1 passes only with changed tests: `parses weeks` fails in its original form",
            "ask: AC-1 passes only with changed tests",
        );
        let (mut state, proof) = loop_with(vec![criterion("AC-1", tests_changed("a"))]);
        let about = observed::refusal(&state.acceptance_criteria[0], Refusable::TestsChanged);
        state.acceptance_criteria[0].accepted.push(about);
        assert_eq!(answer_text(&answer(&state, &proof, false)), "complete: 1 proven");
        // Another test is another question.
        state.acceptance_criteria[0].observed =
            Observed { tree: "t".to_owned(), ..tests_changed("b") };
        assert!(answer_text(&answer(&state, &proof, false)).starts_with("refused"));
    }

    #[test]
    fn a_reviewer_may_find_that_the_task_needs_the_changed_tests() {
        for (holds, expected, named) in [
            (true, "complete: 1 proven", "AC-1: 1 test changed, reviewed: `a`."),
            (false, "ask: AC-1 passes only with changed tests", "AC-1: 1 test changed: `a`."),
        ] {
            let (mut state, proof) = loop_with(vec![criterion("AC-1", tests_changed("a"))]);
            let (_, second) = twice(&mut state, &proof);
            let Answer::AskUser(refused) = second else { panic!("{second:?}") };
            judge(&mut state, &refused, holds, "");
            assert!(answer_text(&answer(&state, &proof, false)).starts_with(expected), "{holds}");
            assert_eq!(observed::named(&state), [named]);
        }
    }

    #[test]
    fn tests_that_notice_nothing_cannot_fail_and_one_unnoticed_value_is_asked_about_once() {
        check(
            vec![broken(&[], &["`5` at a:1"])],
            "refused: AC-1 cannot fail",
            "ask: AC-1 cannot fail",
        );
        check(
            vec![broken(&["`4` at a:2"], &["`5` at a:1"])],
            "refused: AC-1 passes although `5` at a:1 was changed",
            "complete: 1 proven",
        );
        check(vec![broken(&["`4` at a:2"], &[])], "complete: 1 proven", "complete");
        let kept = Observed { without: kept().without, ..broken(&["`4` at a:2"], &["`5` at a:1"]) };
        check(
            vec![kept],
            "too; add a test that fails without it, or say why none can (a refactoring); AC-1 passes although `5`",
            "unverified: nothing broke",
        );
    }

    #[test]
    fn an_accepted_criterion_that_cannot_fail_is_not_compared() {
        let (mut state, proof) = loop_with(vec![criterion("AC-1", broken(&[], &["`5` at a:1"]))]);
        let about = observed::refusal(&state.acceptance_criteria[0], Refusable::CannotFail);
        state.acceptance_criteria[0].accepted.push(about);
        assert_eq!(
            answer_text(&answer(&state, &proof, false)),
            "complete: passes; not compared: its tests run elsewhere"
        );
    }

    #[test]
    fn at_the_last_turn_the_second_answer_is_given_at_once() {
        for (seen, expected) in [(kept(), "unverified"), (tests_changed("a"), "ask")] {
            let (state, proof) = loop_with(vec![criterion("AC-1", seen)]);
            assert!(answer_text(&answer(&state, &proof, true)).starts_with(expected));
        }
    }

    #[track_caller]
    fn check_change(change: Change, first: &str, second: &str) {
        let (mut state, proof) = loop_with(vec![criterion("AC-1", kept())]);
        let proof = Proof { change: Some(change), ..proof };
        let (one, two) = twice(&mut state, &proof);
        assert_eq!((answer_text(&one).as_str(), answer_text(&two).as_str()), (first, second));
    }

    #[test]
    fn without_a_change_of_the_code_nothing_is_proven() {
        let none = Change::default();
        check_change(
            none.clone(),
            "refused: nothing was changed since the start, and the criteria pass as it is; do the work, or say why there is none",
            "unverified: nothing was changed: no file of the tree changed since the start",
        );
        let added = "unverified: only tests were added (3)";
        check_change(Change { tests: 3, added: 3, ..none.clone() }, added, added);
        let both = "unverified: only tests and documents were changed (3)";
        check_change(Change { tests: 2, documents: 1, added: 2, ..none.clone() }, both, both);
        let one = "unverified: only configuration was changed (1)";
        check_change(Change { configuration: 1, ..none }, one, one);
    }

    #[test]
    fn what_could_never_be_compared_completes_with_that_word_and_what_was_lost_does_not() {
        let not_compared = |was_comparable| Observed {
            not_compared: "no git".to_owned(),
            was_comparable,
            ..Observed::default()
        };
        let never = "complete: passes; not compared: no git";
        let (mut state, proof) = loop_with(vec![criterion("AC-1", not_compared(false))]);
        let proof = Proof { change: None, ..proof };
        assert_eq!(answer_text(&twice(&mut state, &proof).0), never);
        let (mut state, _) = loop_with(vec![criterion("AC-1", not_compared(true))]);
        let (first, second) = twice(&mut state, &proof);
        assert!(
            answer_text(&first)
                .starts_with("refused: the criteria pass, but could not be compared"),
            "{first:?}"
        );
        assert!(
            answer_text(&second).starts_with("unverified: passes; could not be compared any more"),
            "{second:?}"
        );
    }

    #[test]
    fn a_criterion_that_does_not_hold_comes_before_everything_else() {
        let mut failed = criterion("AC-2", kept());
        failed.receipt.as_mut().unwrap().passed = false;
        let (state, proof) = loop_with(vec![criterion("AC-1", tests_changed("a")), failed]);
        assert_eq!(answer(&state, &proof, true), Answer::NotMet);
        let (state, proof) = loop_with(vec![criterion("AC-1", proven())]);
        let stale = Proof { trees: [("AC-1".to_owned(), "u".to_owned())].into(), ..proof.clone() };
        assert_eq!(answer(&state, &stale, true), Answer::NotMet);
        let unfinished = Proof { unfinished: "more".to_owned(), ..proof };
        assert_eq!(answer(&state, &unfinished, false), Answer::Unfinished("more".to_owned()));
    }
}
