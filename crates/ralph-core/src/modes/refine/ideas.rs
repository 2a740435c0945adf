//! Ideas as tasks: the block of lines that the idea wizard ends with, and how it joins a task
//! graph.
//!
//! Syncing a graph with a list of tasks removes tasks that are not in the list. Ideas are therefore
//! always passed on after the existing tasks, with ids that are not in use.

use crate::state::Task;
use crate::tasks::plan::{Problem, lines};
use std::collections::{HashMap, HashSet};

/// Reads the ideas of a message from its last block fenced as `jsonl`.
///
/// # Errors
/// Why they cannot be read, each reason with its line within the block.
pub fn read(message: &str) -> Result<Vec<Task>, Vec<Problem>> {
    let Some(block) = lines::block(message) else {
        let what = "the block of ideas is missing; write one JSON object on each line between \
             ```jsonl and ```";
        return Err(vec![Problem { place: String::new(), what: what.to_owned() }]);
    };
    let ideas: Vec<Task> = lines::read(&block)?.into_iter().map(|line| line.task).collect();
    let nameless = ideas.iter().zip(1..).find(|(idea, _)| idea.name.trim().is_empty());
    match nameless {
        Some((_, at)) => Err(vec![Problem {
            place: format!("idea {at}"),
            what: "it has no name; write the task in words".to_owned(),
        }]),
        None => Ok(ideas),
    }
}

/// The existing tasks, followed by the ideas under the next free numbers. A dependency of an idea
/// refers to an idea of the same list if one has this id.
pub fn behind(tasks: &[Task], ideas: &[Task]) -> Vec<Task> {
    let taken: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let mut free =
        (1_u32..).map(|number| format!("T-{number}")).filter(|id| !taken.contains(id.as_str()));
    let ids: Vec<String> = free.by_ref().take(ideas.len()).collect();
    let mut named: HashMap<&str, &String> = HashMap::new();
    for (idea, id) in ideas.iter().zip(&ids).filter(|(idea, _)| !idea.id.is_empty()) {
        named.entry(&idea.id).or_insert(id);
    }
    let renamed = ideas.iter().zip(&ids).map(|(idea, id)| {
        let dep = |dep: &String| named.get(dep.as_str()).map_or(dep, |id| *id).clone();
        Task {
            id: id.clone(),
            name: idea.name.clone(),
            deps: idea.deps.iter().map(dep).collect(),
            completion_condition: idea.completion_condition.clone(),
            files: idea.files.clone(),
            extra: idea.extra.clone(),
            // A new idea has no owner and no result.
            ..Task::default()
        }
    });
    tasks.iter().cloned().chain(renamed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::TaskStatus;
    use crate::tasks::graph;
    use jiff::Timestamp;

    const MESSAGE: &str = "Five ideas.\n\n```jsonl\n{\"id\":\"IDEA-1\",\"name\":\"old\"}\n```\n\n```jsonl\n\
        {\"id\":\"IDEA-1\",\"name\":\"Log in\",\"completion_condition\":\"it is in\",\"files\":[\"a\"],\"status\":\"done\",\"owner\":\"w\",\"description\":\"d\"}\n\n\
        {\"id\":\"IDEA-2\",\"name\":\"Log out\",\"deps\":[\"IDEA-1\",\"T-2\"]}\n```\n\n```\nCHANGES: 2\nSUMMARY: a\n```";

    fn task(id: &str) -> Task {
        Task { id: id.into(), name: format!("do {id}"), ..Task::default() }
    }

    #[test]
    fn the_last_block_of_ideas_counts() {
        let ideas = read(MESSAGE).unwrap();
        assert_eq!(
            ideas.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["Log in", "Log out"]
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (message, expected) in [
            ("no ideas", "the block of ideas is missing"),
            ("```json\n{}\n```", "the block of ideas is missing"),
            ("```jsonl\n{\"name\":\"a\"}\nnope\n```", "line 2: not JSON"),
            ("```jsonl\n{\"id\":\"IDEA-1\"}\n```", "idea 1: it has no name"),
        ] {
            let problems = read(message).expect_err(message);
            assert!(problems[0].to_string().starts_with(expected), "{problems:?}");
        }
    }

    #[test]
    fn ideas_join_a_graph_and_take_nothing_from_it() {
        let tasks = vec![task("T-2"), Task { status: TaskStatus::Done, ..task("IDEA-1") }];
        let all = behind(&tasks, &read(MESSAGE).unwrap());
        assert_eq!(all[..2], tasks);
        let ids: Vec<&str> = all.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["T-2", "IDEA-1", "T-1", "T-3"]);
        assert_eq!(all[3].deps, ["T-1", "T-2"]);
        assert_eq!((&all[2].status, &all[2].owner), (&TaskStatus::Pending, &None));
        assert_eq!(all[2].extra["description"], "d");
        assert_eq!(
            (all[2].completion_condition.as_str(), &*all[2].files),
            ("it is in", &["a".to_owned()][..])
        );
        // Synced with these lines, the graph gains two tasks and loses none.
        let lines = lines::read(&lines::render(&all)).unwrap();
        let synced = graph::sync(&tasks, &lines, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((synced.diff.added.len(), synced.diff.removed.len()), (2, 0));
        assert!(synced.diff.changed.is_empty());
    }

    #[test]
    fn ideas_alone_are_numbered_from_the_first() {
        let all = behind(&[], &[Task { id: String::new(), ..task("") }, task("x")]);
        assert_eq!(all.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["T-1", "T-2"]);
    }
}
