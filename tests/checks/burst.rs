//! Many edits at once, as a model makes them that calls its tools in parallel.

use crate::Test;
use crate::project::{Answer, Project};
use crate::typescript::ALL;

pub(crate) const TESTS: &[Test] =
    tests![five_edits_at_once_are_answered_in_time_by_at_most_two_compilers];

fn five_edits_at_once_are_answered_in_time_by_at_most_two_compilers() {
    let project = Project::of_node(&ALL);
    project.replace_tool("tsc", "echo run >>\"$HOME/runs\"; exec $REAL \"$@\"");
    let project = project.looping();
    let names: Vec<String> = (0..5).map(|n| format!("src/a{n}.ts")).collect();
    for name in &names {
        project.world.write(name, "export const a: number = \"x\";\n");
    }
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let edits: Vec<_> = names.iter().map(|name| scope.spawn(|| project.edited(name))).collect();
        edits.into_iter().map(|edit| edit.join().unwrap()).collect()
    });
    let late = project.late();
    let all: String = answers.iter().chain([&late]).map(|answer| answer.text.as_str()).collect();
    for answer in answers {
        answer.says_nothing_of(&["did not finish"]).came_within(15.0);
    }
    for name in &names {
        assert_eq!(all.matches(&format!("{name}:1:14 error TS2322")).count(), 1, "{all}");
    }
    let runs = std::fs::read_to_string(project.world.root().join("home/runs")).unwrap();
    let n_here = runs.lines().count();
    // One more looks at the tree from before the loop.
    assert!(n_here <= 3, "{n_here} compilers");
}
