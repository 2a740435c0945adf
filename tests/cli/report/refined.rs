//! A refinement as it could have been, decided by the rules themselves: a plan that settles after eight rounds, of
//! which one was cut, one was set aside, and one did not say what it did. Each moment is fixed.

use super::project::ReportProject;
use super::story::{ID, Story};
use jiff::{SignedDuration, Timestamp};
use ralph_core::modes::refine::measure::{ArtefactChange, BeadChange, PlanChange};
use ralph_core::modes::refine::state::{RefineDocument, Refinement, What};
use ralph_core::modes::refine::{ArtefactAfter, Mode, PlanAfter, RefineSettings};
use ralph_core::state::{EndingKind, RefineState};
use ralph_io::store::home::Home;
use ralph_io::store::refine::RefineStore as Refinements;
use std::fs;

pub(crate) const NAME: &str = "limits";

pub(crate) struct Refined {
    pub(crate) session: Refinement,
    /// Round, where it comes from, and when.
    versions: Vec<(u32, What, Timestamp)>,
    now: Timestamp,
    text: u32,
}

impl Refined {
    /// All of it.
    pub(crate) fn told() -> Refined {
        let mut told = Refined::begun("docs/limits.md");
        told.round("CHANGES: 9\nSUMMARY: named the rollback, split the migration", 48, 6);
        told.round("CHANGES: 4\nSUMMARY: a number for each bound", 15, 3);
        told.cut("no answer of the API");
        told.ends("CHANGES: 3\nSUMMARY: dropped the second cache", 12, 2, PlanAfter::KeptEdit);
        told.text += 1;
        told.round("CHANGES: 2\nSUMMARY: brought the order of steps to the edit", 6, 2);
        told.round("It reads well now.", 3, 1);
        told.round("CHANGES: 2\nSUMMARY: said who is told when a limit is hit", 4, 1);
        told.round("CHANGES: 1\nSUMMARY: one wrong unit", 2, 1);
        told.round("CHANGES: 0\nSUMMARY: nothing is missing", 0, 0);
        assert_eq!(told.session.status.as_str(), "plateau");
        told
    }

    /// Tasks, after the cut of its second round, with eight rounds left.
    pub(crate) fn of_tasks() -> Refined {
        let mut told = Refined::begun("");
        told.round("CHANGES: 5\nSUMMARY: two tasks for the clock", 5, 0);
        told.cut("its client was ended by signal 9");
        told
    }

    /// The same as [`Refined::told`], with texts as nobody should write them.
    pub(crate) fn hostile() -> Refined {
        let mut told = Refined::told();
        let evil = format!(
            "</style><script>fetch('http://x.invalid')</script>\u{1b}[2J|`{}",
            "W".repeat(900)
        );
        told.session.history.iter_mut().for_each(|entry| entry.summary.push_str(&evil));
        told.session.plan_file.push_str(&evil);
        told
    }

    fn begun(plan_file: &str) -> Refined {
        let now = "2026-03-09T20:00:00Z".parse().unwrap();
        let session = Refinement::new(plan_file, RefineSettings::default(), now);
        let mut told = Refined { session, versions: Vec::new(), now, text: 1 };
        told.keep(1, What::Found);
        told
    }

    fn after(&mut self, minutes: i64) {
        self.now += SignedDuration::from_secs(minutes * 60 + 11);
    }

    fn keep(&mut self, round: u32, what: What) {
        if self.session.mode == Mode::Plan {
            self.versions.push((round, what, self.now));
        }
    }

    fn begin(&mut self) -> u32 {
        self.session.begin(&self.text.to_string(), "", self.now).unwrap()
    }

    fn round(&mut self, message: &str, lines: u64, sections: u64) {
        self.ends(message, lines, sections, PlanAfter::Applied);
    }

    fn ends(&mut self, message: &str, lines: u64, sections: u64, plan: PlanAfter) {
        let round = self.begin();
        self.after(4);
        let what = if plan == PlanAfter::Applied { What::Round } else { What::Aside };
        if lines > 0 {
            self.text += 1;
            self.keep(round, what);
        }
        let measured = Some(match self.session.mode {
            Mode::Plan => {
                ArtefactChange::Plan(PlanChange { lines, sections, ..PlanChange::default() })
            }
            _ => ArtefactChange::Beads(BeadChange { changed: lines, ..BeadChange::default() }),
        });
        let after = ArtefactAfter { measured, plan, digest: self.text.to_string() };
        self.session.end(message, after, self.now).unwrap();
    }

    fn cut(&mut self, why: &str) {
        self.begin();
        self.after(2);
        let after = ArtefactAfter { digest: self.text.to_string(), ..ArtefactAfter::default() };
        self.session.cut(why, after, self.now).unwrap();
    }

    /// Puts it where a project's refinements are kept.
    pub(crate) fn keep_in(&self, place: &ReportProject) {
        let mut document = RefineDocument::default();
        document.put(NAME, self.session.clone()).unwrap();
        fs::create_dir_all(place.at("project/.claude")).unwrap();
        fs::write(place.at("project/.claude/refine-sessions.json"), document.render()).unwrap();
        let kept = Refinements::open(&Home::at(place.at("ralph")), &place.at("project"));
        for (at, (round, what, when)) in self.versions.iter().enumerate() {
            let text = format!("text {at}\n");
            kept.versions(NAME).keep(&text, *round, *what, *when).unwrap();
        }
    }
}

impl ReportProject {
    /// With a refinement of the project's.
    pub(crate) fn with_refinement(refined: &Refined) -> ReportProject {
        let place = ReportProject::new();
        refined.keep_in(&place);
        place
    }

    /// With the loop of a conversation that made the first three rounds, and all that came later.
    pub(crate) fn with_conversation(refined: &Refined) -> ReportProject {
        let place = ReportProject::with_refinement(refined);
        let mut story = Story::given_up();
        let session = &refined.session;
        let state = &mut story.state;
        state.project_root = place.at("project").to_str().unwrap().to_owned();
        state.prompt = "refine docs/limits.md until it no longer changes".to_owned();
        state.acceptance_criteria.clear();
        state.task_graph.clear();
        state.errors.clear();
        state.iteration = 2;
        state.max_iterations = 5;
        let (name, word) = (NAME.to_owned(), NAME.to_owned());
        state.mode = RefineState { name, word, ..RefineState::default() }.into();
        state.created_at = session.started_at;
        state.started_at = Some(session.started_at);
        let ended = session.history[2].ended_at.unwrap();
        state.ending = None;
        state.end(EndingKind::MaxIterations, "a conversation has room for no more agents", ended);
        story.entries.truncate(1);
        story.entries[0].at = session.started_at;
        story.keep(&place.at("ralph"));
        place
    }

    pub(crate) fn page_of_refinement(&self) -> std::path::PathBuf {
        let path = self.at("page.html");
        self.done(&["report", "--refine", NAME, "--html", path.to_str().unwrap()]);
        path
    }
}

#[test]
fn a_refinement_is_named_where_there_is_no_loop() {
    let place = ReportProject::with_refinement(&Refined::told());
    let (exit, said) = place.refused(&["report"]);
    assert_eq!(exit, 1);
    assert!(said.ends_with("; for a refinement: `ralph report --id limits`\n"), "{said}");
    let (exit, said) = place.refused(&["report", "--id", "other"]);
    assert_eq!(
        (exit, said.as_str()),
        (1, "ralph: there is no refinement `other`; there are `limits`\n")
    );
    assert_eq!(place.refused(&["report", "--refine", "limits", "--id", "x"]).0, 2);
    assert_eq!(place.refused(&["report", ID, "--refine", "limits"]).0, 2);
    fs::write(place.at("project/.claude/refine-sessions.json"), "{").unwrap();
    assert_eq!(place.refused(&["report", "--refine", "limits"]).0, 3);
}

#[test]
fn what_is_over_has_the_same_report_whatever_is_restored_later() {
    let refined = Refined::told();
    let place = ReportProject::with_refinement(&refined);
    let before = place.done(&["report", "--refine", NAME, "--html", "-"]);
    let kept = Refinements::open(&Home::at(place.at("ralph")), &place.at("project"));
    let at = refined.session.ended_at.unwrap() + SignedDuration::from_hours(1);
    let text = "what stood there before\n";
    kept.versions(NAME).keep(text, 0, What::Replaced, at).unwrap();
    assert_eq!(place.done(&["report", "--refine", NAME, "--html", "-"]), before);
}

#[test]
fn one_that_is_not_over_says_so_and_how_it_goes_on() {
    let place = ReportProject::with_refinement(&Refined::of_tasks());
    let said = place.done(&["report", "--refine", NAME]);
    assert!(said.starts_with("### Ralph: ⚠️ interrupted\n"), "{said}");
    assert!(said.contains("**Why:** round 2 was cut: its client was ended by signal 9"), "{said}");
    assert!(
        said.contains("**Next:** <code>ralph refine loop &#45;")
            || said
                .contains("**Next:** <code>ralph refine loop --id limits</code> goes on with it"),
        "{said}"
    );
    assert!(
        said.contains("| ▫️ **1** changed | 5 | 5 changed | two tasks for the clock |"),
        "{said}"
    );
    let page = place.done(&["report", "--refine", NAME, "--html", "-"]);
    assert!(page.contains(", while it was not over.") && page.contains("tasks measured"), "{page}");
}

/// A refinement goes on in a terminal after its conversation: the loop's report tells of the loop's rounds.
#[test]
fn the_loop_of_a_conversation_shows_the_rounds_that_it_has_seen() {
    let refined = Refined::told();
    let place = ReportProject::with_conversation(&refined);
    let said = place.done(&["report", ID]);
    assert!(said.contains("| ▫️ **1** changed | 9 | 48 lines in 6 sections |"), "{said}");
    assert!(said.contains("| ⚠️ **3** cut | cut | not known |"), "{said}");
    assert!(!said.contains("**4**") && !said.contains("dropped the second cache"), "{said}");
    let page = place.done(&["report", ID, "--html", "-"]);
    assert!(page.contains("<h2>Rounds</h2>") && page.contains("version 2"), "{page}");
    fs::remove_file(place.at("project/.claude/refine-sessions.json")).unwrap();
    let said = place.done(&["report", ID]);
    assert!(!said.contains("| Round |") && said.contains("limit reached"), "{said}");
}
