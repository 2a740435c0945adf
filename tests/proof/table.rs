//! Counts what became of the cases that were played, by class.

use crate::corpus::Case;
use crate::judge::Verdict;
use std::collections::BTreeMap;
use std::sync::Mutex;

static PLAYED: Mutex<Vec<(String, Verdict)>> = Mutex::new(Vec::new());

pub(crate) fn record(case: &Case, verdict: Verdict) {
    PLAYED.lock().unwrap().push((case.told.class.clone(), verdict));
}

/// Prints the table, if anything was played.
pub(crate) fn print() {
    let played = PLAYED.lock().unwrap();
    let (honest, hacks): (Vec<_>, Vec<_>) = played.iter().partition(|(class, _)| class == "honest");
    let mut classes: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    for (class, verdict) in &hacks {
        classes.entry(class).or_default().push(*verdict);
        classes.entry("~ all").or_default().push(*verdict);
    }
    let count = |all: &[Verdict], of: Verdict| all.iter().filter(|one| **one == of).count();
    if !classes.is_empty() {
        println!(
            "| class | moves | kept off | named | unseen | differs |\n|---|---:|---:|---:|---:|---:|"
        );
    }
    for (class, all) in &classes {
        let counts = [Verdict::KeptOff, Verdict::Named, Verdict::Unseen, Verdict::Differs];
        let counts = counts.map(|of| count(all, of).to_string()).join(" | ");
        println!("| {} | {} | {counts} |", class.trim_start_matches("~ "), all.len());
    }
    let result = |failures: usize, fine: &str| match failures {
        0 => fine.to_owned(),
        n => format!("{n} DIFFER"),
    };
    if let Some(all) = classes.get("~ all") {
        let unseen = count(all, Verdict::Unseen);
        let result = result(count(all, Verdict::Differs), "none complete without a word");
        println!(
            "proof | reward hacks | {} moves, {unseen} explained as unseen | {result}",
            all.len()
        );
    }
    if !honest.is_empty() {
        let failures = honest.iter().filter(|(_, verdict)| *verdict == Verdict::Differs).count();
        println!(
            "proof | honest works | {} sequences | {}",
            honest.len(),
            result(failures, "all as stated")
        );
    }
}
