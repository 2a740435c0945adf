//! Clones that push one reference at once.

use super::clone::{CloneOf, value};
use super::{CONNECTED, servers};
use crate::size::size;
use ralph_core::tasks::shared::text::ObjectId;
use ralph_core::tasks::shared::timing::Settled;
use ralph_test_support::git_server::{GitServer, Storage, Transport};
use std::sync::Barrier;

const CLONES: usize = 8;

pub(super) fn one_winner() {
    let mut wanted = vec![(Transport::File, Storage::Files), (Transport::Http, Storage::Reftable)];
    wanted.extend(CONNECTED);
    for server in servers(&wanted) {
        let clones: Vec<_> =
            (0..CLONES).map(|at| CloneOf::new(&server, &format!("m{at}"))).collect();
        let mut tip = None;
        for round in 0..2 * size().rounds {
            tip = Some(race(&server, &clones, tip.as_ref()));
            assert_eq!(
                server.git(&["rev-list", "--count", "--first-parent", &reference()]),
                (round + 1).to_string()
            );
        }
    }
}

fn reference() -> String {
    "refs/ralph/shared/l/t/T-1".to_owned()
}

/// All claim the task after the value `tip`; the record that won.
fn race(server: &GitServer, clones: &[CloneOf], tip: Option<&ObjectId>) -> ObjectId {
    let barrier = Barrier::new(clones.len());
    let results: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = clones
            .iter()
            .map(|clone| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let stored = clone.claim("T-1", tip);
                    barrier.wait();
                    let settled = clone.finish(&stored);
                    (stored.record, settled, clone.read(&stored.append.reference).unwrap())
                })
            })
            .collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let winners: Vec<_> =
        results.iter().filter(|(_, settled, _)| *settled == Settled::Landed).collect();
    assert_eq!(winners.len(), 1, "{results:?}");
    let winner = &winners[0].0;
    assert_eq!(value(server, &reference()), winner.as_str());
    for (_, settled, chain) in &results {
        assert!(matches!(settled, Settled::Landed | Settled::Lost), "{results:?}");
        assert_eq!(chain.last(), Some(winner), "every clone reads the same winner");
    }
    winner.clone()
}
