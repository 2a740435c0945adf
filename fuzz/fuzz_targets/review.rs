//! What a reviewer answers: a verdict, or findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::evidence::review;

/// The lines of the only file, `a`.
fn line_of(file: &str, line: u64) -> Result<String, String> {
    let text = ["fn main() {}", "let x = 1;"];
    let at = usize::try_from(line).ok().and_then(|line| line.checked_sub(1));
    let found = at.filter(|_| file == "a").and_then(|at| text.get(at));
    found.map(|line| (*line).to_owned()).ok_or_else(|| "is not there".to_owned())
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match review::verdict(&text) {
        Ok(verdict) => {
            // The object is the last thing in the answer, so what follows it makes it none.
            assert!(review::verdict(&format!("{text} .")).is_err());
            assert!(verdict.evidence.len() <= 100);
            for one in &verdict.evidence {
                if review::resolves(one, &line_of).is_ok() {
                    let line = line_of(&one.file, one.line).expect("it resolves");
                    assert!(line.contains(one.quote.trim()));
                }
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
    if let Ok(review::Findings { found: mut findings, .. }) = review::findings(&text, "tests") {
        assert!(findings.len() <= 100);
        let changed = ["a".to_owned()];
        let has = |file: &str, text: &str| {
            (1..3).any(|at| line_of(file, at).is_ok_and(|line| line.contains(text)))
        };
        review::sort(&mut findings, &changed, &line_of, &has);
        for one in review::confirmed(&findings) {
            assert!(one.file == "a" && (1..3).contains(&one.line));
            assert!(has("a", one.quote.trim()) && !one.what.is_empty());
        }
    }
});
