//! Groups the tasks into waves, each of which depends only on earlier ones.

use super::Graph;
use crate::state::Task;
use jiff::Timestamp;

/// The tasks in waves: each wave depends only on earlier ones, so its tasks can be worked on
/// together. Tasks on a cycle, or that depend on a cycle or an unknown id, are in no wave.
pub fn waves(tasks: &[Task]) -> Vec<Vec<&Task>> {
    let of = |wave: Vec<usize>| wave.into_iter().map(|place| &tasks[place]).collect();
    places(tasks).into_iter().map(of).collect()
}

/// Like [`waves`], with the positions of the tasks in the list.
pub fn places(tasks: &[Task]) -> Vec<Vec<usize>> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let mut open: Vec<usize> = tasks.iter().map(|task| task.deps.len()).collect();
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); tasks.len()];
    for (place, task) in tasks.iter().enumerate() {
        for dependency in task.deps.iter().filter_map(|id| graph.place(id)) {
            dependents[dependency].push(place);
        }
    }
    let mut waves = Vec::new();
    let mut wave: Vec<usize> = (0..tasks.len()).filter(|place| open[*place] == 0).collect();
    while !wave.is_empty() {
        let mut next = Vec::new();
        for dependent in wave.iter().flat_map(|place| &dependents[*place]) {
            open[*dependent] -= 1;
            if open[*dependent] == 0 {
                next.push(*dependent);
            }
        }
        next.sort_unstable();
        waves.push(wave);
        wave = next;
    }
    waves
}
