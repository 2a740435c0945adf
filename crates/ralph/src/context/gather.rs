//! Gathers facts together, each in a thread of its own, and waits no longer than they may take.
//!
//! A thread that is late is left behind: the process ends soon, and nothing that it does counts any
//! more. One that panics says so first. In a release, where a panic ends the process and would take the
//! others along, it then stands still for ever.

use ralph_core::project::project_facts::{Fact, FactKind, Project};
use std::cell::RefCell;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

/// What could be had.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// In the order of their kinds, whichever came first.
    pub(crate) facts: Vec<(FactKind, Fact)>,
    /// Kinds of which nobody knows whether there is something to tell.
    pub(crate) missing: Vec<(FactKind, GatherFailure)>,
}

/// Why nothing is known of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GatherFailure {
    /// It took too long.
    Late,
    /// It is a mistake of ours.
    Failed,
}

type GatherResult = Result<Option<Fact>, GatherFailure>;

/// Which kind it was, and what came of it.
type To = Sender<(usize, GatherResult)>;

thread_local! {
    /// Where a panic of this thread is reported.
    static REPORT: RefCell<Option<(usize, To)>> = const { RefCell::new(None) };
}

pub(super) fn gather(project: &Arc<dyn Project>, kinds: &[FactKind], budget: Duration) -> Gathered {
    report_panics();
    let began = Instant::now();
    let (to, from) = mpsc::channel();
    let mut answers: Vec<Option<GatherResult>> =
        kinds.iter().enumerate().map(|(at, kind)| begin(at, *kind, project, &to)).collect();
    loop {
        let waiting = kinds.iter().zip(&answers).filter(|(_, answer)| answer.is_none());
        let Some(limit) = waiting.map(|(kind, _)| kind.limit.min(budget)).max() else { break };
        match from.recv_timeout((began + limit).saturating_duration_since(Instant::now())) {
            Ok((at, answer)) => answers[at] = Some(answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    let mut gathered = Gathered::default();
    for (kind, answer) in kinds.iter().zip(answers) {
        match answer.unwrap_or(Err(GatherFailure::Late)) {
            Ok(Some(fact)) => gathered.facts.push((*kind, fact)),
            Ok(None) => {}
            Err(why) => gathered.missing.push((*kind, why)),
        }
    }
    gathered
}

/// An answer only where no thread could be had.
fn begin(at: usize, kind: FactKind, project: &Arc<dyn Project>, to: &To) -> Option<GatherResult> {
    let (project, to) = (Arc::clone(project), to.clone());
    let work = move || {
        REPORT.with(|report| *report.borrow_mut() = Some((at, to.clone())));
        let fact = (kind.gather)(&*project);
        // Nobody listens any more if it is late.
        let _ = to.send((at, Ok(fact)));
    };
    let started = thread::Builder::new().name(kind.name.to_owned()).spawn(work);
    started.err().map(|_| Err(GatherFailure::Failed))
}

fn report_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let reported = REPORT.try_with(|report| report.take()).ok().flatten();
            let Some((at, to)) = reported else { return before(panic) };
            let _ = to.send((at, Err(GatherFailure::Failed)));
            while cfg!(panic = "abort") {
                thread::park();
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::project::project_facts::{FileFormat, Folder};
    use serde_json::Value;

    struct Nothing;

    impl Project for Nothing {
        fn text(&self, _: &str) -> Option<String> {
            None
        }
        fn document(&self, _: &str, _: FileFormat) -> Option<Value> {
            None
        }
        fn folder(&self, _: &str) -> Option<Folder> {
            None
        }
        fn git_text(&self, _: &str) -> Option<String> {
            None
        }
        fn main_work_tree(&self) -> Option<String> {
            None
        }
        fn git(&self, _: &[&str]) -> Option<Vec<u8>> {
            None
        }
    }

    fn told(project: &dyn Project) -> Option<Fact> {
        project.text("").or(Some("told".to_owned())).map(Fact::line)
    }

    fn hangs(_: &dyn Project) -> Option<Fact> {
        loop {
            thread::park();
        }
    }

    fn slow(_: &dyn Project) -> Option<Fact> {
        thread::sleep(Duration::from_millis(50));
        Some(Fact::line("slow"))
    }

    fn panics(_: &dyn Project) -> Option<Fact> {
        panic!("a mistake of ours")
    }

    fn nothing(_: &dyn Project) -> Option<Fact> {
        None
    }

    const LIMIT: Duration = Duration::from_millis(500);

    fn kind(name: &'static str, gather: fn(&dyn Project) -> Option<Fact>) -> FactKind {
        FactKind { name, limit: LIMIT, units: 100, on_request: false, gather }
    }

    fn gathered(kinds: &[FactKind], budget: Duration) -> (String, Duration) {
        let project: Arc<dyn Project> = Arc::new(Nothing);
        let began = Instant::now();
        let gathered = gather(&project, kinds, budget);
        let facts = gathered.facts.iter().map(|(kind, _)| kind.name.to_owned());
        let missing = gathered.missing.iter().map(|(kind, why)| format!("{} {why:?}", kind.name));
        (facts.chain(missing).collect::<Vec<_>>().join(", "), began.elapsed())
    }

    #[test]
    fn the_order_is_that_of_the_kinds_whichever_comes_first() {
        let kinds = [kind("a", slow), kind("b", told), kind("c", nothing), kind("d", told)];
        let (names, took) = gathered(&kinds, Duration::from_secs(7));
        assert_eq!(names, "a, b, d");
        assert!(took < LIMIT, "{took:?}");
    }

    #[test]
    fn one_that_hangs_or_panics_is_missing_and_the_others_are_on_time() {
        let kinds = [kind("a", hangs), kind("b", panics), kind("c", told), kind("d", slow)];
        let (names, took) = gathered(&kinds, Duration::from_secs(7));
        assert_eq!(names, "c, d, a Late, b Failed");
        assert!(took >= LIMIT && took < 4 * LIMIT, "{took:?}");
        let (names, took) = gathered(&[kind("b", panics), kind("c", told)], LIMIT);
        assert_eq!(names, "c, b Failed");
        assert!(took < LIMIT, "a panic is not waited for: {took:?}");
    }

    #[test]
    fn the_budget_ends_all_of_them() {
        let patient = FactKind { limit: Duration::from_secs(100), ..kind("a", hangs) };
        let (names, took) = gathered(&[patient, kind("b", told)], LIMIT);
        assert_eq!(names, "b, a Late");
        assert!(took >= LIMIT && took < 4 * LIMIT, "{took:?}");
    }
}
