//! What a reviewer answers: a verdict, or findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::evidence::review;

/// The only file, `a`.
const TEXT: &str = "fn main() { run(1); }\nlet reviewed = true;\n";

fn text_of(file: &str) -> Result<String, String> {
    if file == "a" { Ok(TEXT.to_owned()) } else { Err("is not there".to_owned()) }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match review::verdict(&text) {
        Ok(verdict) => {
            // The object is the last thing in the answer, so what follows it makes it none.
            assert!(review::verdict(&format!("{text} .")).is_err());
            assert!(verdict.evidence.len() <= 100);
            for one in &verdict.evidence {
                if review::resolves(one, &text_of).is_ok() {
                    let line = TEXT.lines().nth(one.line as usize - 1).expect("it resolves");
                    assert!(one.file == "a" && line.contains(one.quote.trim()));
                }
            }
        }
        Err(why) => assert!(!why.is_empty()),
    }
    if let Ok(review::Findings { found: mut findings, .. }) = review::findings(&text, "tests") {
        assert!(findings.len() <= 100);
        let changed = ["a".to_owned()];
        review::sort(&mut findings, &changed, &text_of);
        for one in review::confirmed(&findings) {
            assert!(one.file == "a" && (1..3).contains(&one.line));
            assert!(TEXT.contains(one.quote.trim()) && !one.what.is_empty());
        }
    }
});
