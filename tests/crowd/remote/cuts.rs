//! Connections that break after every so many bytes, in both directions, while another clone wants
//! the same reference.

use super::clone::{CloneOf, value};
use super::{CONNECTED, servers};
use crate::size::size;
use ralph_core::tasks::shared::settle::Settled;
use ralph_test_support::git_server::{Fault, GitServer, Traffic, Transport};
use std::collections::BTreeSet;
use std::time::Duration;

/// What the cut pushes came to.
#[derive(Debug, Default)]
struct Outcomes {
    landed_and_reported: usize,
    landed_in_doubt: usize,
    lost: usize,
}

pub(super) fn anywhere() {
    for server in servers(&CONNECTED) {
        let (mut first, second) = (CloneOf::new(&server, "first"), CloneOf::new(&server, "second"));
        let before = server.traffic();
        let whole = first.claim("T-1", None);
        first.push(&[&whole]);
        let reference = &whole.append.reference;
        let whole = since(before, server.traffic());
        // Measured with 2.47: after some cuts, `git push` over http waits for itself for ever.
        first.repository.set_deadline(Duration::from_secs(3));
        let mut outcomes = Outcomes::default();
        for fault in cuts(&server, whole) {
            // As long as before: a push receives a line for each reference.
            server.git(&["update-ref", "-d", reference]);
            cut(&server, [&first, &second], fault, &mut outcomes);
        }
        println!("{:?}: {outcomes:?}", server.transport());
        let landed = outcomes.landed_and_reported + outcomes.landed_in_doubt;
        assert!(landed > 0 && outcomes.lost > 0, "{outcomes:?}");
    }
}

fn since(before: Traffic, after: Traffic) -> Traffic {
    Traffic {
        connections: after.connections - before.connections,
        sent: after.sent - before.sent,
        received: after.received - before.received,
    }
}

/// Cuts from the first byte to the last one of a whole push. The end counts most: there the server
/// has taken the push, or its answer is on the way.
fn cuts(server: &GitServer, whole: Traffic) -> Vec<Fault> {
    // A connection over ssh takes ten times as long.
    let n = if server.transport() == Transport::Ssh { 2 } else { 4 } * size().rounds as u64;
    let places = |bytes: u64| -> BTreeSet<u64> {
        let even = (0..n).map(|at| bytes * at / n);
        even.chain((0..n).map(|at| bytes - bytes / 4 * at / n - 1)).collect()
    };
    let client = places(whole.sent).into_iter().map(Fault::CutClient);
    client.chain(places(whole.received).into_iter().map(Fault::CutServer)).collect()
}

/// The connection of the first breaks, then the second pushes, then the first settles its push.
fn cut(server: &GitServer, [first, second]: [&CloneOf; 2], fault: Fault, outcomes: &mut Outcomes) {
    let (cut, rival) = (first.claim("T-1", None), second.claim("T-1", None));
    server.set(fault);
    let report = first.push(&[&cut]);
    server.set(Fault::Pass);
    let rivals = second.finish(&rival);
    let settled = match first.settle(&cut, &report) {
        Settled::Again | Settled::Read => first.finish(&cut),
        settled => settled,
    };
    let winner = match (settled, rivals) {
        (Settled::Landed, Settled::Lost) => &cut.record,
        (Settled::Lost, Settled::Landed) => &rival.record,
        both => panic!("{both:?} after {fault:?}: {report:?}"),
    };
    assert_eq!(value(server, &cut.append.reference), winner.as_str(), "{fault:?}");
    let is_reported = matches!(report.flag(&cut.append.reference), Some('*'));
    match settled {
        Settled::Landed if is_reported => outcomes.landed_and_reported += 1,
        Settled::Landed => outcomes.landed_in_doubt += 1,
        _ => outcomes.lost += 1,
    }
}
