//! Whether one task comes after another, for many pairs at once.
//!
//! Asked pair by pair, ten thousand pairs in a graph of ten thousand tasks would be a hundred
//! million steps. Here the graph is walked once for every few hundred tasks that are asked about,
//! and each step carries one bit for each of them.

use super::super::{Graph, waves};
use crate::state::Task;
use jiff::Timestamp;
use std::collections::HashMap;

/// Words of 64 bits that each task carries on one walk: enough for most graphs, and at ten thousand
/// tasks no more than five megabytes.
const WORDS: usize = 64;

/// For each pair of places, whether a path leads from the second task back to the first. Tasks that
/// are in no wave are behind nothing.
pub(super) fn between(tasks: &[Task], pairs: &[(usize, usize)]) -> Vec<bool> {
    let graph = Graph::new(tasks, Timestamp::UNIX_EPOCH);
    let order: Vec<usize> = waves::places(tasks).into_iter().flatten().collect();
    let mut firsts: Vec<usize> = pairs.iter().map(|(first, _)| *first).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let mut leads = vec![false; pairs.len()];
    for asked in firsts.chunks(WORDS * 64) {
        let bit: HashMap<usize, usize> =
            asked.iter().enumerate().map(|(at, place)| (*place, at)).collect();
        let words = asked.len().div_ceil(64);
        let behind = walk(tasks, &graph, &order, &bit, words);
        for (lead, (first, second)) in leads.iter_mut().zip(pairs) {
            if let Some(at) = bit.get(first) {
                *lead = behind[second * words + at / 64] >> (at % 64) & 1 == 1;
            }
        }
    }
    leads
}

/// For each task the bits of all that it comes after.
fn walk(
    tasks: &[Task],
    graph: &Graph,
    order: &[usize],
    bit: &HashMap<usize, usize>,
    words: usize,
) -> Vec<u64> {
    let mut behind = vec![0_u64; tasks.len() * words];
    for place in order {
        for on in tasks[*place].deps.iter().filter_map(|id| graph.place(id)) {
            for word in 0..words {
                behind[place * words + word] |= behind[on * words + word];
            }
            if let Some(at) = bit.get(&on) {
                behind[place * words + at / 64] |= 1 << (at % 64);
            }
        }
    }
    behind
}
