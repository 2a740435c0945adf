//! What a round of refinement says, the ideas of an agent, the project's document of sessions, prompts, and
//! two versions of a plan.
#![no_main]

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use ralph_core::modes::refine::measure::plan;
use ralph_core::modes::refine::prompt::render;
use ralph_core::modes::refine::state::{RefineDocument, Refinement, refused_name};
use ralph_core::modes::refine::{
    ArtefactAfter, RefineSettings, chart, contract, ideas, say, unified,
};

/// A message is read in the same way each time; what cannot be read is asked for once, and then unknown.
fn message(text: &str) {
    let said = contract::read(text);
    assert_eq!(said, contract::read(text));
    let mut session = Refinement::new("p", RefineSettings::default(), Timestamp::UNIX_EPOCH);
    session.begin("a", "", Timestamp::UNIX_EPOCH).expect("it begins");
    assert_eq!(session.ask_again(text).is_some(), !said.flaws().is_empty());
    assert!(session.ask_again(text).is_none(), "it is asked once");
    let after = ArtefactAfter { digest: "b".to_owned(), ..ArtefactAfter::default() };
    session.end(text, after, Timestamp::UNIX_EPOCH).expect("a round is open");
    let entry = session.history.last().expect("it ended");
    assert_eq!(entry.changes, said.changes.ok(), "what is unknown is no number");
    assert!(!say::round(&session, entry).is_empty() && !chart::lines(&session).is_empty());
    if let Ok(found) = ideas::read(text) {
        let all = ideas::behind(&found, &found);
        assert_eq!((all.len(), &all[..found.len()]), (2 * found.len(), &found[..]));
    }
}

/// What can be read is written back as it was, and a second time no other.
fn document(text: &str) {
    let Ok(document) = RefineDocument::parse(text) else { return };
    let again = RefineDocument::parse(&document.render()).expect("what was written reads back");
    assert_eq!(again.render(), document.render());
    for (name, session) in document.sessions() {
        let Ok(mut session) = session else { continue };
        assert!(!chart::lines(&session).is_empty());
        let mut other = document.clone();
        other.put(name, session.clone()).expect("it could be read");
        let before = session.clone();
        if session.cancel(Timestamp::UNIX_EPOCH).is_err() {
            assert_eq!(session, before, "what is refused changes nothing");
        }
    }
}

/// The lines that stay and the new ones are the later text, those that stay and the old ones the earlier.
fn difference(before: &str, after: &str) {
    let shown = unified(("a", before), ("b", after));
    let change = plan(before, after);
    assert_eq!(shown.is_empty(), change.lines == 0, "both see a change, or neither does");
    let marked =
        |mark: char| shown.lines().skip(2).filter(|line| line.starts_with(mark)).count() as u64;
    assert!(marked('+') + marked('-') >= change.lines, "no fewer than the least number");
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    message(&text);
    document(&text);
    let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (before, after) = text.split_at(half);
    difference(before, after);
    let given = [("A", after), ("B", "${A}")];
    if let Ok(rendered) = render(before, &given) {
        assert!(before.contains("${") || rendered == before);
    }
    if refused_name(&text).is_none() {
        assert!(!text.starts_with('-') && !text.contains(['\n', '\u{1b}']));
    }
});
