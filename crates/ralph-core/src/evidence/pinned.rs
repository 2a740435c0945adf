//! What the user agreed to when the loop started, stored as digests.
//!
//! The criteria, their commands and those of the tasks are pinned: a changed one does not run and proves nothing until
//! a person accepts it.

use crate::evidence::receipt;
use crate::state::{Frozen, LoopState};
use crate::text::hex::hex;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

/// Pins the criteria as they are now.
pub fn freeze(state: &mut LoopState, now: Timestamp) {
    state.frozen = Some(Frozen { at: Some(now), criteria: digest(state), ..Frozen::default() });
}

/// Accepts every difference from what the user agreed to, and what the last request for completion was refused for.
/// Returns a description of each.
pub fn accept(state: &mut LoopState, now: Timestamp) -> Vec<String> {
    let mut taken = Vec::new();
    if !is_as_frozen(state) {
        taken.push("the criteria as they read now".to_owned());
    }
    taken.extend(state.acceptance_criteria.iter_mut().flat_map(receipt::accept));
    freeze(state, now);
    taken
}

/// True unless the criteria differ from the pinned ones. Without pinned criteria there is no
/// difference.
pub fn is_as_frozen(state: &LoopState) -> bool {
    state.frozen.as_ref().is_none_or(|frozen| frozen.criteria == digest(state))
}

/// True if a command names this file as a module: `tests.test_weeks` of Python, `--test weeks` of cargo. Another word may be
/// the name of a program or of a recipe.
pub fn names_module(command: &str, path: &str) -> bool {
    let Some((module, extension)) = path.rsplit_once('.') else { return false };
    let name = module.strip_prefix("tests/").filter(|_| extension == "rs");
    let module = module.replace('/', ".");
    let words: Vec<&str> = command.split([' ', '=', '\'', '"']).collect();
    words.contains(&module.as_str()) && module.contains('.')
        || name.is_some_and(|name| words.windows(2).any(|pair| pair == ["--test", name]))
}

/// The words of a command that may name files of the project, as paths relative to it. A word that names nothing is
/// harmless.
pub fn named_paths(command: &str) -> Vec<String> {
    // `None` outside the project: the files there do not belong to it.
    let mut folder = Some(String::new());
    let mut paths = Vec::new();
    for part in command.split([';', '&', '|', '(', ')', '\n']) {
        let between = |c: char| c.is_whitespace() || "<>\"'`=,".contains(c);
        let words: Vec<&str> = part.split(between).filter(|word| !word.is_empty()).collect();
        if let ["cd", into, ..] = words.as_slice() {
            folder = plain_path(into).map(|path| format!("{}/", path.trim_end_matches('/')));
            continue;
        }
        let Some(folder) = &folder else { continue };
        let named = words.iter().filter_map(|word| plain_path(word));
        paths.extend(named.map(|path| format!("{folder}{path}")));
    }
    paths
}

/// A word that can be a path below the project; `tests/test_a.py::test_one` gives the file.
fn plain_path(word: &str) -> Option<&str> {
    let path = word.split("::").next()?;
    let path = path.strip_prefix("./").unwrap_or(path);
    let outside =
        path.starts_with(['-', '/', '$', '~', '!']) || path.split('/').any(|part| part == "..");
    (!path.is_empty() && !outside).then_some(path)
}

fn digest(state: &LoopState) -> String {
    let mut hash = Sha256::new();
    // Each part is preceded by its length, so that text cannot move unnoticed from one part to the
    // next.
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    for criterion in &state.acceptance_criteria {
        add(&criterion.id);
        add(&criterion.description);
        match &criterion.review {
            None => add(&criterion.verification_command),
            // No command contains a NUL, so that none has the digest of a question.
            Some(question) => add(&format!("{}\0{question}", criterion.verification_command)),
        }
        add(&criterion.paths.len().to_string());
        criterion.paths.iter().for_each(|path| add(path));
    }
    if !state.tests_may_change.is_empty() {
        add("tests_may_change");
        add(&state.tests_may_change.len().to_string());
        state.tests_may_change.iter().for_each(|glob| add(glob));
    }
    // Tasks without commands add nothing: the model may add some while the loop runs.
    for task in state.task_graph.iter().filter(|task| !task.verify.is_empty()) {
        add(&task.id);
        add(&task.verify.len().to_string());
        task.verify.iter().for_each(|command| add(command));
    }
    hex(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Criterion;

    fn state() -> LoopState {
        let criterion = Criterion {
            id: "AC-1".to_owned(),
            description: "tests pass".to_owned(),
            verification_command: "pytest tests/test_a.py".to_owned(),
            paths: vec!["src".to_owned()],
            ..Criterion::default()
        };
        let mut state = LoopState { acceptance_criteria: vec![criterion], ..LoopState::default() };
        freeze(&mut state, Timestamp::UNIX_EPOCH);
        state
    }

    #[track_caller]
    fn check(what: &str, as_frozen: bool, change: impl FnOnce(&mut Criterion)) {
        let mut state = state();
        change(&mut state.acceptance_criteria[0]);
        assert_eq!(is_as_frozen(&state), as_frozen, "{what}");
    }

    #[test]
    fn a_command_may_name_a_test_without_its_path() {
        for (command, path, names) in [
            ("python3 -m unittest tests.test_weeks", "tests/test_weeks.py", true),
            ("cargo test --test weeks", "tests/weeks.rs", true),
            ("cargo test --test=weeks", "tests/weeks.rs", true),
            ("cargo test weeks", "tests/weeks.rs", false),
            ("pytest tests", "tests/test_weeks.py", false),
            ("npx jest", "jest.config.js", false),
            ("npm test", "test/test.js", false),
        ] {
            assert_eq!(names_module(command, path), names, "{command}: {path}");
        }
    }

    #[test]
    fn every_part_that_says_what_done_means_is_frozen_and_nothing_else() {
        check("command", false, |it| it.verification_command = "true".to_owned());
        check("description", false, |it| it.description.clear());
        check("id", false, |it| it.id.push('1'));
        check("question", false, |it| it.review = Some("is it good?".to_owned()));
        check("paths", false, |it| it.paths.clear());
        check("one path more", false, |it| it.paths.push("docs".to_owned()));
        check("verified", true, |it| it.verified = true);
        check("receipt", true, |it| it.receipt = Some(crate::state::Receipt::default()));
        check("tests expected", true, |it| it.tests_expected = Some(3));
    }

    #[test]
    fn a_criterion_more_or_less_is_noticed() {
        let mut fewer = state();
        fewer.acceptance_criteria.clear();
        assert!(!is_as_frozen(&fewer));
        let mut more = state();
        more.acceptance_criteria.push(Criterion::default());
        assert!(!is_as_frozen(&more));
        let mut tests = state();
        tests.tests_may_change = vec!["**".to_owned()];
        assert!(!is_as_frozen(&tests));
        let fresh = LoopState::default();
        assert!(is_as_frozen(&fresh), "nothing was frozen yet");
    }

    #[test]
    fn which_tests_may_change_and_what_tasks_run_is_frozen() {
        let mut state = state();
        state.tests_may_change = vec!["a".to_owned()];
        state.task_graph = vec![crate::state::Task {
            id: "T-1".to_owned(),
            verify: vec!["make".to_owned()],
            ..crate::state::Task::default()
        }]
        .into();
        freeze(&mut state, Timestamp::UNIX_EPOCH);
        let changed = |change: fn(&mut LoopState)| {
            let mut other = state.clone();
            change(&mut other);
            !is_as_frozen(&other)
        };
        assert!(!changed(|_| ()));
        assert!(changed(|it| it.tests_may_change = vec!["b".to_owned()]));
        assert!(changed(|it| it.tests_may_change.push("b".to_owned())));
        assert!(changed(|it| it.tests_may_change.clear()));
        assert!(changed(|it| it.task_graph[0].verify = vec!["true".to_owned()]));
        assert!(changed(|it| it.task_graph[0].verify.clear()));
        assert!(changed(|it| it.task_graph[0].id = "T-2".to_owned()));
        assert!(!changed(|it| it.task_graph[0].name = "n".to_owned()));
        let taken = accept(&mut state, Timestamp::UNIX_EPOCH);
        assert_eq!(taken, [""; 0]);
        state.tests_may_change.clear();
        assert_eq!(accept(&mut state, Timestamp::UNIX_EPOCH), ["the criteria as they read now"]);
        assert!(is_as_frozen(&state));
    }

    #[track_caller]
    fn check_named(command: &str, expected: &[&str]) {
        assert_eq!(named_paths(command), expected, "{command}");
    }

    #[test]
    fn the_paths_of_a_command_are_found() {
        check_named("pytest -q tests/test_a.py::test_one", &["pytest", "tests/test_a.py"]);
        check_named("./check.sh && node --test=x.js", &["check.sh", "node", "x.js"]);
        check_named("cd sub && bash 'run.sh'", &["sub/bash", "sub/run.sh"]);
        check_named("diff <(./a) /etc/passwd ../x ~/y", &["diff", "a"]);
        check_named("! ./ $X a/../b", &[]);
        check_named("cd sub/ && ./a; cd /x; ./b", &["sub/a"]);
        check_named("(cd /etc && bash a.sh); (cd ../up && bash b.sh); cd sub; ./c", &["sub/c"]);
    }
}
