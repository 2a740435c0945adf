//! Acceptance commands: whether they can fail, what they need, and which files they name.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_core::{evidence::pinned, modes::arguments, shell::programs, shell::vacuous};

fn check_vacuous(command: &str) {
    let why = vacuous::refuse(command);
    let blank = command.trim_matches(|c: char| c.is_whitespace() || c == ';').is_empty();
    assert!(!blank || why == Some(vacuous::Vacuous::Empty));
    assert_eq!(vacuous::refuse(&format!(" {command}\n")).is_some(), why.is_some());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '.' | '/' | '_');
    let words: Vec<&str> = command.split_whitespace().collect();
    let reserved = [
        "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
        "select", "function", "time", "coproc", "in",
    ];
    let simple = command.chars().all(plain) && !words.iter().any(|word| reserved.contains(word));
    if simple && !blank && command.len() < 1000 {
        let hidden = format!("{command} || true");
        assert!(vacuous::refuse(&hidden).is_some(), "`{hidden}` hides a failure");
    }
}

fn check_names(command: &str) {
    for name in programs::needed(command) {
        assert!(!name.is_empty());
        assert!(!name.contains('/') || name.starts_with('/'), "{name} is no name on PATH");
        assert!(!programs::not_found(&name).is_empty());
    }
    for path in pinned::named_paths(command) {
        assert!(!path.starts_with('/'), "{path} is not below the project");
        assert!(path.split('/').all(|part| part != ".."), "{path} leaves the project");
    }
}

fuzz_target!(|data: &[u8]| {
    let command = String::from_utf8_lossy(data);
    check_vacuous(&command);
    check_names(&command);
    match arguments::parse_criterion(&command) {
        Ok(criterion) => {
            assert!(command.contains(&criterion.verification_command), "taken as typed");
            match &criterion.review {
                Some(question) => assert!(command.contains(question) && !question.is_empty()),
                None => assert!(vacuous::refuse(&criterion.verification_command).is_none()),
            }
            assert!(!criterion.description.is_empty());
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
});
