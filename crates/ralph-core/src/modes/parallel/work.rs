//! What a typed `/ralph-parallel` refers to: the planned tasks, a document, or a list of tasks.

use crate::state::{LoopState, Task};

/// Where the tasks of a parallel loop come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSource {
    /// The tasks are already planned, or the session's own loop has them.
    Planned,
    /// The session reads this file of the project and brings its work into the graph.
    Document(String),
    /// One task for each item, without dependencies.
    List(Vec<String>),
}

/// Reads the text typed besides flags. `is_file` tells whether a file of the project has this name.
///
/// # Errors
/// The text looks like a file that does not exist.
pub fn work(text: Option<&str>, is_file: impl Fn(&str) -> bool) -> Result<TaskSource, String> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(TaskSource::Planned);
    };
    if is_file(text) {
        return Ok(TaskSource::Document(text.to_owned()));
    }
    let looks_like_one = !text.contains(char::is_whitespace) && text.contains(['/', '.']);
    if looks_like_one && !text.contains(',') {
        return Err(format!(
            "there is no file `{text}` in the project; name one that is there, or write the tasks with \
             commas between them"
        ));
    }
    Ok(TaskSource::List(items(text)))
}

/// Splits at commas, except inside a number.
fn items(text: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let in_number = before.is_ascii_digit() && letters.peek().is_some_and(char::is_ascii_digit);
        match (letter, items.last_mut()) {
            (',', _) if !in_number => items.push(String::new()),
            (_, Some(item)) => item.push(letter),
            (_, None) => {}
        }
        before = letter;
    }
    let items = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

impl TaskSource {
    /// The loop's goal in one line; `None` for planned tasks, which keep their goal.
    pub fn goal(&self) -> Option<String> {
        match self {
            TaskSource::Planned => None,
            TaskSource::Document(file) => Some(format!("Carry out `{file}`")),
            TaskSource::List(tasks) => Some(format!("Carry out: {}", tasks.join("; "))),
        }
    }

    /// Makes the loop parallel, and adds the tasks of a list.
    pub fn apply(&self, state: &mut LoopState) {
        state.parallel = true;
        if let TaskSource::List(tasks) = self {
            let task = |(place, name): (usize, &String)| Task {
                id: format!("T-{}", place + 1),
                name: name.clone(),
                ..Task::default()
            };
            state.task_graph = tasks.iter().enumerate().map(task).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lists(text: &str, expected: &[&str]) {
        let Ok(TaskSource::List(items)) = work(Some(text), |_| false) else { panic!("{text}") };
        assert_eq!(items, expected);
    }

    #[test]
    fn a_list_is_parted_at_its_commas() {
        lists("Add login page, Add signup page", &["Add login page", "Add signup page"]);
        lists("a,b , ,c,", &["a", "b", "c"]);
        lists("load 1,000 rows, 2, 3", &["load 1,000 rows", "2", "3"]);
        lists("Fix src/a.rs, test it", &["Fix src/a.rs", "test it"]);
        lists("one", &["one"]);
        lists("Fix the bug in src/auth.ts", &["Fix the bug in src/auth.ts"]);
    }

    #[test]
    fn a_file_of_the_project_is_a_document_and_one_that_is_missing_is_said() {
        let is_file = |name: &str| name == "docs/my prd.md";
        assert_eq!(
            work(Some(" docs/my prd.md "), is_file),
            Ok(TaskSource::Document("docs/my prd.md".to_owned()))
        );
        let why = work(Some("docs/other.md"), is_file).unwrap_err();
        assert!(why.contains("there is no file `docs/other.md`"), "{why}");
        assert_eq!(work(None, is_file), Ok(TaskSource::Planned));
        assert_eq!(work(Some("  "), is_file), Ok(TaskSource::Planned));
    }

    #[test]
    fn a_list_becomes_tasks_and_a_document_does_not() {
        let mut state = LoopState::default();
        TaskSource::List(vec!["a".to_owned(), "b".to_owned()]).apply(&mut state);
        let ids: Vec<_> =
            state.task_graph.iter().map(|task| (task.id.as_str(), task.name.as_str())).collect();
        assert_eq!((ids, state.parallel), (vec![("T-1", "a"), ("T-2", "b")], true));
        TaskSource::Planned.apply(&mut state);
        assert_eq!(state.task_graph.len(), 2);
    }
}
